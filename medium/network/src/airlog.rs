//! The traffic of a run on the air: counts for each wireless hop and class of packet, and the log for captures.

use pacelab_air_config::{HighThroughput, Mode, PhyKind};
use pacelab_engine::{Failure, Ns, SentFrame, TraceRecord};

use crate::ids::{IdVec, NodeId, PacketId, StationId};
use crate::packet::{Body, Packet};

/// A packet as it was handed to a station's queue.
#[derive(Clone, Debug)]
pub struct Enqueued {
    /// When.
    pub at: Ns,
    /// Its number in the pool, which frames carry. Numbers are reused: a frame carries the packet that was enqueued
    /// last under its number.
    pub id: PacketId,
    /// A copy of the packet at that time.
    pub packet: Packet,
}

/// The log for captures: trace records, frames, and the packets inside the frames. Each list is ordered by time.
#[derive(Clone, Debug, Default)]
pub struct AirLog {
    /// The physical layer.
    pub phy: PhyKind,
    /// Of 802.11n, ac and ax: the mode of data frames, and the settings.
    pub high_throughput: Option<(Mode, HighThroughput)>,
    /// Name of each node, by node number.
    pub names: IdVec<NodeId, String>,
    /// Node number of each station.
    pub node_of: IdVec<StationId, NodeId>,
    /// What happened.
    pub records: Vec<TraceRecord>,
    /// What was sent.
    pub frames: Vec<SentFrame>,
    /// The packets that the frames carry.
    pub packets: Vec<Enqueued>,
    /// When the run ended.
    pub end: Ns,
}

/// The class of a packet in the link statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    TcpData,
    TcpAck,
    Udp,
    Voice,
    VoiceReport,
    Routing,
}

impl Class {
    pub fn of(packet: &Packet) -> Self {
        match &packet.body {
            Body::Tcp { forward: true, .. } => Class::TcpData,
            Body::Tcp { forward: false, .. } => Class::TcpAck,
            Body::Udp { .. } | Body::Echo { .. } => Class::Udp,
            Body::Voice { .. } => Class::Voice,
            Body::Report(_) => Class::VoiceReport,
            Body::Aodv(_) => Class::Routing,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Class::TcpData => "tcp-data",
            Class::TcpAck => "tcp-ack",
            Class::Udp => "udp",
            Class::Voice => "voice",
            Class::VoiceReport => "voice-report",
            Class::Routing => "routing",
        }
    }
}

/// Counts of one directed hop and class since the end of the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkCounts {
    pub delivered: u64,
    pub drops_rts: u64,
    pub drops_data: u64,
    /// Removed from the queue because routing considered the link broken.
    pub drops_recalled: u64,
    pub attempts: u64,
}

/// The receiver of a hop, and a class of packets.
type Hop = (NodeId, Class);

/// The counts of all hops. A node has few neighbours, so searching a short list is faster than a tree.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    /// By sender, in the order of first use.
    from: IdVec<NodeId, Vec<(Hop, LinkCounts)>>,
}

impl Links {
    pub fn new(nodes: usize) -> Self {
        Links { from: IdVec::filled(Vec::new(), nodes) }
    }

    /// The counts of this hop and class.
    pub fn at(&mut self, from: NodeId, to: NodeId, class: Class) -> &mut LinkCounts {
        let hops = &mut self.from[from];
        let place = hops.iter().position(|&(hop, _)| hop == (to, class)).unwrap_or_else(|| {
            hops.push(((to, class), LinkCounts::default()));
            hops.len() - 1
        });
        &mut hops[place].1
    }

    /// All hops that were used: (from, to, class) in ascending order, with their counts.
    pub fn sorted(&self) -> Vec<((NodeId, NodeId, Class), LinkCounts)> {
        let from = self.from.iter_with_ids();
        let all =
            from.flat_map(|(from, hops)| hops.iter().map(move |&((to, class), counts)| ((from, to, class), counts)));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable_by_key(|&(hop, _)| hop);
        all
    }
}

impl LinkCounts {
    pub fn count(&mut self, attempts: u32, failure: Option<Failure>) {
        self.attempts += u64::from(attempts);
        match failure {
            None => self.delivered += 1,
            Some(Failure::Rts) => self.drops_rts += 1,
            Some(Failure::Data) => self.drops_data += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_are_sorted_in_any_order_of_use() {
        let mut links = Links::new(3);
        links.at(NodeId(2), NodeId(0), Class::TcpAck).count(1, None);
        links.at(NodeId(0), NodeId(2), Class::TcpAck).count(3, Some(Failure::Rts));
        links.at(NodeId(0), NodeId(1), Class::TcpData).count(2, None);
        links.at(NodeId(0), NodeId(2), Class::TcpAck).count(1, None);
        let counts =
            |delivered, drops_rts, attempts| LinkCounts { delivered, drops_rts, attempts, ..Default::default() };
        let expected = [
            ((NodeId(0), NodeId(1), Class::TcpData), counts(1, 0, 2)),
            ((NodeId(0), NodeId(2), Class::TcpAck), counts(1, 1, 4)),
            ((NodeId(2), NodeId(0), Class::TcpAck), counts(1, 0, 1)),
        ];
        assert_eq!(links.sorted(), expected);
    }
}
