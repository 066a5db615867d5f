//! The differences between the two versions of AODV. Both run the same state machine; each difference is one field here.
//!
//! * `ns2_of_2010` is the AODV of ns-2.35 (`--routing aodv`), which follows RFC 3561.
//! * `ns2_of_2001` is the AODV of ns-2.1b8a (`--routing aodv-2001`), which follows an earlier draft. Names in capitals
//!   are those of its `aodv.h`, and functions those of its `aodv.cc`.

use pacelab_engine::Ns;

const S: Ns = 1_000_000_000;

/// The neighbours that an error message about a lost route goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorsTo {
    /// All neighbours, by one broadcast that lists the unreachable destinations.
    AllNeighbours,
    /// Each neighbour that sent packets over the route in the last `ACTIVE_ROUTE_TIMEOUT`, by a unicast message about
    /// one destination (`rt_down`, `sendTriggeredReply`). A packet that arrives without a route is reported to the
    /// neighbour that it came from.
    UsersOfRoute,
}

/// How a node counts its own sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnSequence {
    /// RFC 3561: the number stays even. It grows by two before each request and after each broken link.
    Even,
    /// `seqno++` after each request. A reply raises the number only if the request asks for one that is as high: the
    /// macro `max` lacks parentheses, so `max(a, b) + 1` is `a > b ? a : b + 1`.
    Consecutive,
}

/// The rules of one version.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A route lives this long after its last use: ACTIVE_ROUTE_TIMEOUT.
    pub route_lifetime_ns: Ns,
    /// Lifetime in the reply of a destination: MY_ROUTE_TIMEOUT.
    pub destination_lifetime_ns: Ns,
    /// Lifetime of the route back to the origin of a request: REV_ROUTE_LIFE.
    pub reverse_lifetime_ns: Ns,
    /// First TTL of the expanding ring search: TTL_START.
    pub ttl_start: u8,
    /// The ring search starts at the length of the last known route, and a route that was never up counts as infinitely
    /// long. Otherwise the search starts at the hop count of the last reply.
    pub ring_from_last_length: bool,
    /// Hop count in the first request or reply of a discovery, so a neighbour is this far away. With 0 the delay per
    /// hop of a discovery among neighbours is infinite, so the next request waits the longest time.
    pub first_hop_count: u32,
    /// The node's first sequence number.
    pub first_sequence: u32,
    /// How a node counts its own sequence number.
    pub own_sequence: OwnSequence,
    /// A broken link is repaired by the node that noticed, if the destination is nearer than the source
    /// (AODV_LOCAL_REPAIR).
    pub repairs_locally: bool,
    /// A broken link takes down all routes over that neighbour. Otherwise it takes down only the route of the packet
    /// that was lost (`rt_ll_failed`).
    pub break_takes_all_routes: bool,
    /// The neighbours that an error message about a lost route goes to.
    pub errors_to: ErrorsTo,
    /// The source keeps its own packets when a route breaks, both the lost packet and the packets in the interface
    /// queue. They wait for a new route.
    pub source_keeps_packets: bool,
    /// Packets that wait for a route are dropped after the last request without a reply. Otherwise they wait on.
    pub drops_held_after_last_request: bool,
    /// A route that is down accepts only news that is fresher or shorter. Otherwise it accepts any
    /// (`rt_flags != RTF_UP`).
    pub down_route_is_choosy: bool,
    /// A reply that does not improve the route is not passed on, and does not end a discovery.
    pub only_better_replies_count: bool,
    /// A node that passes a request on writes the sequence number that it knows into the request.
    pub raises_requested_sequence: bool,
    /// A route that expires gets a new sequence number.
    pub expiry_raises_sequence: bool,
    /// A packet that returns to its source is dropped (`DROP_RTR_ROUTE_LOOP`).
    pub drops_loops: bool,
    /// Size of a request and of a reply or a single error, without the IP header.
    pub request_bytes: u32,
    /// The same.
    pub reply_bytes: u32,
}

impl Rules {
    /// ns-2.35.
    pub const fn ns2_of_2010() -> Self {
        Rules {
            route_lifetime_ns: 10 * S,
            destination_lifetime_ns: 10 * S,
            reverse_lifetime_ns: 6 * S,
            ttl_start: 5,
            ring_from_last_length: true,
            first_hop_count: 1,
            first_sequence: 2,
            own_sequence: OwnSequence::Even,
            repairs_locally: true,
            break_takes_all_routes: true,
            errors_to: ErrorsTo::AllNeighbours,
            source_keeps_packets: false,
            drops_held_after_last_request: true,
            down_route_is_choosy: true,
            only_better_replies_count: true,
            raises_requested_sequence: true,
            expiry_raises_sequence: true,
            drops_loops: false,
            request_bytes: 28,
            reply_bytes: 24,
        }
    }

    /// ns-2.1b8a.
    pub const fn ns2_of_2001() -> Self {
        Rules {
            route_lifetime_ns: 50 * S,
            destination_lifetime_ns: 60 * S,
            reverse_lifetime_ns: 10 * S,
            ttl_start: 1,
            ring_from_last_length: false,
            first_hop_count: 0,
            first_sequence: 1,
            own_sequence: OwnSequence::Consecutive,
            repairs_locally: false,
            break_takes_all_routes: false,
            errors_to: ErrorsTo::UsersOfRoute,
            source_keeps_packets: true,
            drops_held_after_last_request: false,
            down_route_is_choosy: false,
            only_better_replies_count: false,
            raises_requested_sequence: false,
            expiry_raises_sequence: false,
            drops_loops: true,
            request_bytes: 32,
            reply_bytes: 24,
        }
    }
}
