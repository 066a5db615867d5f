//! The measurements of pings.

use pacelab_engine::Ns;

use crate::ids::NodeId;

/// The pings of one pair of nodes since the end of the warm-up.
pub struct Pinger {
    /// Sends the requests.
    pub src: NodeId,
    /// Answers them.
    pub dst: NodeId,
    /// Number of the next request.
    pub number: u32,
    /// Requests before this one do not count.
    pub first: u32,
    /// Requests sent.
    pub sent: u64,
    /// Round trips of the answered ones.
    pub rtts_ns: Vec<Ns>,
}

impl Pinger {
    /// No request was sent.
    pub fn new(src: NodeId, dst: NodeId) -> Self {
        Pinger { src, dst, number: 0, first: 0, sent: 0, rtts_ns: Vec::new() }
    }

    /// Resets the measurements. Answers to requests that are still open no longer count.
    pub fn reset(&mut self) {
        self.first = self.number;
        self.sent = 0;
        self.rtts_ns.clear();
    }
}
