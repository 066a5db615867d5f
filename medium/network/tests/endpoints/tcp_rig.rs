//! A sender whose peer is the test. Segments of 1000 bytes, counted from 0.

use pacelab_engine::Ns;
use pacelab_network::packet::{TcpHeader, flag};
use pacelab_network::tcp::congestion;
use pacelab_network::tcp::habits::Timer;
use pacelab_network::tcp::rto::Rto;
use pacelab_network::tcp::sender::Sender;

pub const MS: Ns = 1_000_000;
/// No segment.
pub const NONE: [u32; 0] = [];
const SEGMENT_BYTES: u32 = 1000;

pub struct Peer {
    pub sender: Sender,
    isn: u32,
    window_bytes: u32,
}

impl Peer {
    /// NewReno that starts with a window of 2, against a receiver's window of `window_pkts`; RTO 3 s at first, 0.2 s at
    /// least. The SYN leaves at 0 and is answered at 100 ms: srtt 100, rttvar 50, RTO 300 ms.
    pub fn connected(isn: u32, window_pkts: u32, size_bytes: Option<u64>) -> Peer {
        let mut peer = Peer::connecting(isn, window_pkts, size_bytes);
        peer.tell(100 * MS, isn.wrapping_add(1), flag::SYN | flag::ACK);
        peer
    }

    /// The same before the answer to the SYN.
    pub fn connecting(isn: u32, window_pkts: u32, size_bytes: Option<u64>) -> Peer {
        let window_bytes = window_pkts * SEGMENT_BYTES;
        let control = congestion::by_name("newreno", 2, window_pkts).unwrap();
        let rto = Timer::Rfc(Rto::new(3_000 * MS, 200 * MS));
        let mut sender = Sender::new(SEGMENT_BYTES, window_bytes, control, rto, isn);
        sender.open(size_bytes);
        let syn = sender.poll_transmit(0).unwrap();
        assert_eq!((syn.seq, syn.flags, syn.payload_bytes), (isn, flag::SYN, 0));
        assert_eq!(sender.poll_transmit(0), None);
        assert_eq!(sender.timer_at(), 3_000 * MS);
        Peer { sender, isn, window_bytes }
    }

    /// A segment of the peer comes.
    pub fn tell(&mut self, now: Ns, ack: u32, flags: u8) {
        let seq = if flags & flag::SYN != 0 { 7 } else { 8 };
        let header = TcpHeader { seq, ack, flags, window_bytes: self.window_bytes, ..TcpHeader::default() };
        self.sender.handle(now, &header);
    }

    /// Sequence number of the first octet of a segment.
    pub fn seq(&self, segment: u32) -> u32 {
        self.isn.wrapping_add(1).wrapping_add(segment * SEGMENT_BYTES)
    }

    /// All segments before `segment` have come; what the sender sends upon it.
    pub fn ack(&mut self, now: Ns, segment: u32) -> Vec<u32> {
        self.tell(now, self.seq(segment), flag::ACK);
        self.sent(now)
    }

    /// The timer expires when it is due; what the sender sends upon it.
    pub fn expire(&mut self, at: Ns) -> Vec<u32> {
        assert_eq!(self.sender.timer_at(), at);
        self.sender.handle_timeout(at - 1);
        assert_eq!(self.sent(at - 1), NONE, "early timeouts are harmless");
        self.sender.handle_timeout(at);
        self.sent(at)
    }

    /// What the sender sends now: segments.
    pub fn sent(&mut self, now: Ns) -> Vec<u32> {
        let mut segments = Vec::new();
        while let Some(header) = self.sender.poll_transmit(now) {
            assert_eq!((header.flags, header.payload_bytes), (flag::ACK, SEGMENT_BYTES));
            let offset = header.seq.wrapping_sub(self.seq(0));
            assert_eq!(offset % SEGMENT_BYTES, 0);
            segments.push(offset / SEGMENT_BYTES);
        }
        segments
    }

    /// Slow start up to a window of 6: segments 0 to 3 acknowledged, 4 to 9 in flight.
    pub fn with_six_in_flight(isn: u32) -> Peer {
        let mut peer = Peer::connected(isn, 20, None);
        // The answer to the SYN opens nothing: the initial window of 2 leaves.
        assert_eq!(peer.sent(100 * MS), [0, 1]);
        assert_eq!(peer.ack(200 * MS, 1), [2, 3]);
        assert_eq!(peer.ack(200 * MS, 2), [4, 5]);
        assert_eq!(peer.ack(300 * MS, 3), [6, 7]);
        assert_eq!(peer.ack(300 * MS, 4), [8, 9]);
        assert_eq!(peer.sender.window_pkts(), 6.0);
        peer
    }
}
