//! What AODV says to its neighbours and asks of its node.

use pacelab_engine::Ns;

const IP_HEADER_BYTES: u32 = 20;

/// A routing message.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Message {
    Request { id: u32, hops: u32, origin: u32, origin_seq: u32, target: u32, target_seq: u32, sent_at: Ns },
    Reply { hops: u32, target: u32, target_seq: u32, origin: u32, lifetime_ns: Ns, sent_at: Ns },
    Error { unreachable: Vec<(u32, u32)> },
}

impl Message {
    /// Size of the IP packet that carries it (ns-2's structures, four bytes a word).
    pub fn bytes(&self) -> u32 {
        IP_HEADER_BYTES
            + match self {
                Message::Request { .. } => 7 * 4,
                Message::Reply { .. } => 6 * 4,
                Message::Error { unreachable } => (2 * unreachable.len() as u32 + 1) * 4,
            }
    }
}

/// What the node shall do.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Command {
    /// Send to all neighbours after the delay.
    Broadcast { message: Message, ttl: u8, delay_ns: Ns },
    /// Send a message to a neighbour.
    Unicast { message: Message, ttl: u8, next_hop: u32 },
    /// Pass the data packet on to a neighbour after the delay.
    Forward { packet: u32, next_hop: u32, delay_ns: Ns },
    /// Discard the data packet.
    Drop { packet: u32 },
    /// Discard what the interface queue holds for this neighbour.
    Recall { next_hop: u32 },
}

/// A data packet as routing sees it.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Transit {
    pub packet: u32,
    /// The packet started here.
    pub is_own: bool,
    /// The wireless node that it goes to.
    pub target: u32,
    /// Wireless hops it has taken.
    pub forwards: u8,
}
