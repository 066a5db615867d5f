//! TCP at segment level: real sequence arithmetic, retransmission timer, NewReno recovery, FIN.
//!
//! The sender is split in two: `sender` does what every TCP does (sequence numbers, timer, duplicate ACKs, the
//! recovery of RFC 6582), `congestion` decides how large the window is.

pub mod congestion;
pub mod habits;
pub mod receiver;
pub mod rto;
pub mod sender;
pub mod sequence;
pub mod tick_timer;
