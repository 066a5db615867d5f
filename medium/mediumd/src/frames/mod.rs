//! Frames over the air, without I/O and without a clock: the types that the carrier and its callers share.
//!
//! An event is a report to listeners that is small enough for the ring; its head is the beginning of the frame.
//! `FrameFormat` defines what a frame is. `CarrierHandler` receives delivered frames, outcomes and events.

pub mod associations;
pub mod capture;
pub mod carrier;
pub mod ethernet;
pub mod pool;
pub mod radio;

use std::net::Ipv4Addr;

use pacelab_engine::{Ns, Packet, PacketId, StationId};
use serde::Serialize;

use crate::config::Mac;
use crate::frames::pool::HEADER_BYTES;

/// Kinds of events, as bits.
pub mod kind {
    #![allow(missing_docs)]
    pub const TRANSMIT: u32 = 1;
    pub const DROP: u32 = 2;
    pub const AIR: u32 = 4;
    pub const LATENESS: u32 = 8;
    /// Names on the socket.
    pub const NAMES: [(&str, u32); 4] = [("transmit", TRANSMIT), ("drop", DROP), ("air", AIR), ("lateness", LATENESS)];
}

/// Why a frame did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// Given up after the last RTS.
    MacRts,
    /// Given up after the last data frame.
    MacData,
    /// The interface queue was full.
    Queue,
    /// No station has this address.
    NoStation,
    /// Too short, or longer than the MTU.
    Malformed,
    /// The TAP of the receiving host was full.
    Host,
}

impl DropCause {
    /// All causes.
    pub const ALL: [DropCause; 6] = [
        DropCause::MacRts,
        DropCause::MacData,
        DropCause::Queue,
        DropCause::NoStation,
        DropCause::Malformed,
        DropCause::Host,
    ];

    /// The name on the socket.
    pub fn name(self) -> &'static str {
        match self {
            DropCause::MacRts => "mac-rts",
            DropCause::MacData => "mac-data",
            DropCause::Queue => "queue",
            DropCause::NoStation => "no-station",
            DropCause::Malformed => "malformed",
            DropCause::Host => "host",
        }
    }
}

/// Something that happened to one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time, by the model.
    pub at: Ns,
    /// The transmitter, also for `DropCause::Host`.
    pub station: StationId,
    /// The receiver; None: all, or no station.
    pub to: Option<StationId>,
    /// The event.
    pub what: FrameEvent,
    /// The frame.
    pub head: FrameHead,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEvent {
    /// The link layer is done with the frame.
    Transmit {
        /// RTS and data together.
        attempts: u32,
        /// Acknowledged, or broadcast.
        delivered: bool,
        /// Since the host handed it over.
        queued_ns: Ns,
    },
    /// The frame is lost.
    Drop(DropCause),
}

impl Event {
    /// The bit of its kind.
    pub fn kind(&self) -> u32 {
        match self.what {
            FrameEvent::Transmit { .. } => kind::TRANSMIT,
            FrameEvent::Drop(_) => kind::DROP,
        }
    }
}

// The interfaces of the carrier.

/// The format of the frames that hosts send.
pub trait FrameFormat {
    /// Data that accompanies a frame.
    type Tag: Copy + Default;

    /// The engine's packet for a frame in `slot`, and whether it is queued before all waiting packets.
    ///
    /// # Errors
    /// The frame cannot be sent.
    fn packet(
        &self,
        station: StationId,
        slot: PacketId,
        frame: &[u8],
        tag: &Self::Tag,
    ) -> Result<(Packet, bool), DropCause>;

    /// Whether `station` accepts a frame that it received as a broadcast.
    fn is_for(&self, station: StationId, frame: &[u8]) -> bool;

    /// The head of a frame for events.
    fn head(frame: &[u8]) -> FrameHead;

    /// The name of a station in a capture, and its address if its frames have one.
    fn identity(&self, station: StationId) -> (String, Option<Mac>) {
        (format!("station {}", station.0), None)
    }

    /// Whether the host requested a rate that another rate replaces on the air.
    fn is_substituted(&self, _station: StationId, _tag: &Self::Tag) -> bool {
        false
    }
}

/// The transmission status of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxStatus {
    /// The ACK was received.
    Acknowledged,
    /// It was sent without an ACK.
    Sent,
    /// The last attempt failed.
    Failed,
    /// It was never sent: the queue was full, or the frame is invalid.
    Refused,
}

/// A frame that has reached its receiver.
#[derive(Debug)]
pub struct Delivery<'a, T> {
    /// When it arrived.
    pub due: Ns,
    /// The frame as it was sent.
    pub frame: &'a [u8],
    /// The data that accompanies it.
    pub tag: &'a T,
    /// Received power.
    pub power_w: f64,
    /// Rate of the attempt that arrived, bit/s. None for broadcasts.
    pub rate_bps: Option<u32>,
    /// The data frame was sent before.
    pub retry: bool,
    /// The transmitter.
    pub from: StationId,
    /// When its host sent it.
    pub sent_at: Ns,
    /// A copy for a monitor, or for a station that last sent on another channel. It has no deadline.
    pub is_copy: bool,
}

/// The environment of the carrier.
pub trait CarrierHandler<T> {
    /// Delivers a frame to the host of `station`. Returns whether the host accepts it.
    fn deliver(&mut self, station: StationId, delivery: Delivery<'_, T>) -> bool;
    /// Reports the transmission status of a frame of `station`.
    fn finish(&mut self, station: StationId, due: Ns, tag: &T, attempts: u32, fate: TxStatus);
    /// Whether events of this `kind` have a listener.
    fn listens(&self, kind: u32) -> bool;
    /// Reports an event.
    fn send_event(&mut self, event: Event);
}

/// The result of a frame from a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits for the air, or is on it.
    Taken,
    /// It was dropped.
    Dropped(DropCause),
}

/// Frames from and to one station's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames that its host sent.
    pub from_host: u64,
    /// Frames that its host accepted.
    pub to_host: u64,
    /// Frames from the host at a rate that the air lacks and that another rate replaces.
    pub substituted: u64,
}

// Heads of frames.

/// Ethertype of IPv4.
pub const IPV4: u16 = 0x0800;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Bytes of a frame that an event keeps: Ethernet, IPv4 with a few options, TCP without.
const HEAD_BYTES: usize = 96;

/// The ethertype of an Ethernet frame.
pub fn ethertype(frame: &[u8]) -> Option<u16> {
    number16(frame, 12)
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The beginning of a frame, for later description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    bytes: [u8; HEAD_BYTES],
    kept: u8,
    length: u16,
}

impl FrameHead {
    /// The head of this frame.
    pub fn of(frame: &[u8]) -> Self {
        let kept = frame.len().min(HEAD_BYTES);
        let mut bytes = [0; HEAD_BYTES];
        bytes[..kept].copy_from_slice(&frame[..kept]);
        FrameHead { bytes, kept: kept as u8, length: frame.len() as u16 }
    }

    /// The head of a frame of `length` bytes with this beginning.
    pub fn of_length(beginning: &[u8], length: usize) -> Self {
        FrameHead { length: length as u16, ..FrameHead::of(beginning) }
    }

    /// The header fields of the frame that were kept. None if it is shorter than an Ethernet header.
    pub fn describe(&self) -> Option<Description> {
        let bytes = &self.bytes[..usize::from(self.kept)];
        let ethertype = ethertype(bytes)?;
        let length = usize::from(self.length).saturating_sub(HEADER_BYTES);
        let mut described =
            Description { bytes: length, ethertype, ip: None, ports: None, tcp: None, payload_bytes: None };
        if ethertype == IPV4 {
            described.read_ip(&bytes[HEADER_BYTES..], length);
        }
        Some(described)
    }
}

/// The description of a frame in events; see PROTOCOL.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Description {
    bytes: usize,
    ethertype: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip: Option<Ip>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<(u16, u16)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<Tcp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_bytes: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Ip {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    protocol: u8,
    id: u16,
    ecn: u8,
    bytes: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Tcp {
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
}

impl Description {
    /// Reads the kept part of an IPv4 packet of `length` bytes. Omits invalid fields.
    fn read_ip(&mut self, packet: &[u8], length: usize) -> Option<()> {
        let &[version_and_words, tos, ..] = packet else { return None };
        let header_bytes = usize::from(version_and_words & 0x0f) * 4;
        let (bytes, fragment) = (number16(packet, 2)?, number16(packet, 6)?);
        let is_later_fragment = fragment & 0x1fff != 0;
        let fits = (header_bytes..=length).contains(&usize::from(bytes));
        if version_and_words >> 4 != 4 || header_bytes < 20 || !fits || is_later_fragment {
            return None;
        }
        let (src, dst) = (number32(packet, 12)?.into(), number32(packet, 16)?.into());
        let (id, protocol) = (number16(packet, 4)?, *packet.get(9)?);
        self.ip = Some(Ip { src, dst, protocol, id, ecn: tos & 3, bytes });
        self.read_transport(packet.get(header_bytes..)?, protocol, usize::from(bytes) - header_bytes)
    }

    fn read_transport(&mut self, packet: &[u8], protocol: u8, length: usize) -> Option<()> {
        if protocol != TCP && protocol != UDP {
            return None;
        }
        let ports = (number16(packet, 0)?, number16(packet, 2)?);
        let mut header_bytes = 8;
        if protocol == TCP {
            header_bytes = usize::from(packet.get(12)? >> 4) * 4;
            let (seq, ack) = (number32(packet, 4)?, number32(packet, 8)?);
            self.tcp = Some(Tcp { seq, ack, flags: *packet.get(13)?, window: number16(packet, 14)? });
        }
        self.ports = Some(ports);
        self.payload_bytes = length.checked_sub(header_bytes);
        Some(())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A frame to `to` from station 0's address: IPv4 10.0.0.1 to 10.0.0.2, DSCP `tos`, then `rest`.
    pub fn ipv4(to: [u8; 6], tos: u8, protocol: u8, rest: &[u8]) -> Vec<u8> {
        let mut frame = to.to_vec();
        frame.extend([2, 0, 0, 0, 0, 1, 8, 0]);
        let bytes = 20 + rest.len() as u16;
        frame.extend([0x45, tos, (bytes >> 8) as u8, bytes as u8, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend(rest);
        frame
    }

    const TO: [u8; 6] = [2, 0, 0, 0, 0, 2];

    #[test]
    fn a_tcp_segment_tells_its_header() {
        let mut tcp = vec![0x13, 0x89, 0x80, 0xe8, 0, 0, 0, 7, 0, 0, 0, 9, 0x80, 0x18, 1, 0xf6, 0, 0, 0, 0];
        tcp.extend([1; 12 + 100]); // 12 bytes of options, 100 of payload
        let reported = serde_json::to_value(FrameHead::of(&ipv4(TO, 1, TCP, &tcp)).describe()).expect("JSON");
        let expected = serde_json::json!({
            "bytes": 152, "ethertype": 2048,
            "ip": {"src": "10.0.0.1", "dst": "10.0.0.2", "protocol": 6, "id": 0x1234, "ecn": 1, "bytes": 152},
            "ports": [5001, 33000], "tcp": {"seq": 7, "ack": 9, "flags": 0x18, "window": 502}, "payload_bytes": 100,
        });
        assert_eq!(reported, expected);
    }

    #[test]
    fn a_datagram_tells_ports_and_a_later_fragment_none() {
        let udp = [0x13, 0x89, 0x80, 0xe8, 0, 18, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        let mut frame = ipv4(TO, 0, UDP, &udp);
        let described = FrameHead::of(&frame).describe().expect("a description");
        assert_eq!((described.ports, described.payload_bytes), (Some((5001, 33000)), Some(10)));
        frame[HEADER_BYTES + 7] = 1; // 8 bytes into the datagram
        let described = FrameHead::of(&frame).describe().expect("a description");
        assert_eq!((described.ip, described.ports), (None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_described_or_not_but_never_break(frame in prop::collection::vec(any::<u8>(), 0..2400)) {
            let described = FrameHead::of(&frame).describe();
            prop_assert_eq!(described.is_some(), frame.len() >= HEADER_BYTES);
        }

        #[test]
        fn bent_packets_never_claim_more_payload_than_they_have(
            at in 14usize..54, value: u8, cut in 14usize..160, protocol in prop::sample::select(vec![TCP, UDP, 1]),
        ) {
            let mut frame = ipv4(TO, 0, protocol, &[0x50; 120]);
            frame[at] = value;
            frame.truncate(cut);
            let described = FrameHead::of(&frame).describe().expect("an Ethernet frame");
            prop_assert!(described.payload_bytes.unwrap_or(0) <= described.bytes);
        }
    }
}
