//! Packets of the virtual network, and the pool that holds them.

use pacelab_engine::Ns;

use crate::aodv::Message;
use crate::ids::{FlowId, IdVec, NodeId, PacketId};

/// TCP flag bits as in the header.
#[allow(missing_docs)]
pub mod flag {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const ACK: u8 = 0x10;
    pub const ECE: u8 = 0x40;
    pub const CWR: u8 = 0x80;
}

/// The fields of a TCP header that the network uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// First sequence number.
    pub seq: u32,
    /// Acknowledgement number, if `flag::ACK`.
    pub ack: u32,
    /// `flag` bits.
    pub flags: u8,
    /// Payload octets.
    pub payload_bytes: u32,
    /// Advertised window in bytes, scaling applied.
    pub window_bytes: u32,
    /// TCP-GAP's RTT_wired option.
    pub rtt_wired_ns: Option<u64>,
    /// Selective acknowledgements.
    pub sack: Sack,
}

/// Blocks of a selective acknowledgement (RFC 2018), the most recent one first: as many as fit beside timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack([(u32, u32); 3]);

impl Sack {
    /// The first three of these blocks [start, end).
    pub fn new(blocks: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut sack = Sack::default();
        for (place, block) in sack.0.iter_mut().zip(blocks) {
            *place = block;
        }
        sack
    }

    /// The blocks.
    pub fn blocks(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().copied().filter(|(start, end)| start != end)
    }
}

/// The receiver's measurement of one direction of a call; the contract's `VoiceQuality`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct VoiceQuality {
    /// (src, dst, sport, dport) of the direction measured.
    pub call: (u32, u32, u32, u32),
    pub window_ns: u64,
    pub expected: u32,
    pub lost: u32,
    pub late: u32,
    pub delay_ns: u64,
}

/// Contents of a packet.
#[derive(Clone, Debug)]
pub enum Body {
    /// A TCP segment; `forward` is from the flow's source to its destination.
    Tcp {
        /// The header.
        header: TcpHeader,
        /// From source to destination.
        forward: bool,
    },
    /// A UDP datagram.
    Udp {
        /// Counts up from 0 in each flow.
        number: u64,
        /// Payload octets.
        payload_bytes: u32,
    },
    /// A voice packet.
    Voice {
        /// Counts up from 0 in each flow.
        number: u32,
        /// RTP's port, at both ends.
        port: u16,
        /// RTP's sequence number.
        sequence: u16,
        /// When the codec handed it over.
        sent_at: Ns,
    },
    /// A voice report; its `flow` is the direction measured.
    Report(Box<VoiceQuality>),
    /// An echo request or its reply (RFC 792).
    Echo {
        /// Which pair of nodes of the configuration.
        pair: u32,
        /// Counts up from 0.
        number: u32,
        /// An answer to a request.
        is_reply: bool,
        /// When the request was sent.
        sent_at: Ns,
    },
    /// A routing message.
    Aodv(Message),
}

/// A packet on its way.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Originating node.
    pub src: NodeId,
    /// Final node.
    pub dst: NodeId,
    /// Its flow; `FlowId::NONE` for routing messages.
    pub flow: FlowId,
    /// Size of the IP packet.
    pub bytes: u32,
    /// Hops it may still take.
    pub ttl: u8,
    /// Wireless hops taken.
    pub forwards: u8,
    /// Node that the packet came from on its last wireless hop.
    pub previous: NodeId,
    /// ECN's CE codepoint; only set on packets of ECN-capable flows.
    pub congestion_experienced: bool,
    /// Contents.
    pub body: Body,
}

/// A slab of packets. The number of a packet is constant while the packet exists, and is reused afterwards.
#[derive(Debug, Default)]
pub struct Pool {
    slots: IdVec<PacketId, Option<Packet>>,
    free: Vec<PacketId>,
}

impl Pool {
    /// Adds a packet and returns its number.
    pub fn add(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.slots[id] = Some(packet);
            id
        } else {
            self.slots.push(Some(packet))
        }
    }

    /// The packet with this number, or None if it was removed.
    pub fn get(&self, id: PacketId) -> Option<&Packet> {
        self.slots.get(id)?.as_ref()
    }

    /// The same, for a change.
    pub fn get_mut(&mut self, id: PacketId) -> Option<&mut Packet> {
        self.slots.get_mut(id)?.as_mut()
    }

    /// Removes the packet.
    pub fn remove(&mut self, id: PacketId) -> Option<Packet> {
        let packet = self.slots.get_mut(id)?.take();
        if packet.is_some() {
            self.free.push(id);
        }
        packet
    }
}
