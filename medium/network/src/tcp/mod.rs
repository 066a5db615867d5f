//! TCP at segment level: real sequence arithmetic, retransmission timers, NewReno recovery, FIN.
//!
//! `sender` does what every TCP sender does: sequence numbers, duplicate ACKs, and the recovery of RFC 6582.
//! `congestion` decides how large the window is. `loss_recovery` has the variants of loss recovery, and `rto` the two
//! retransmission timers. This module compares sequence numbers modulo 2^32 (RFC 9293 Sec. 3.4).

pub mod congestion;
pub mod loss_recovery;
pub mod receiver;
pub mod rto;
pub mod scoreboard;
pub mod selective;
pub mod sender;

/// `a` comes before `b`.
pub fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// `a` comes after `b`.
pub fn after(a: u32, b: u32) -> bool {
    before(b, a)
}

/// The later of two.
pub fn later(a: u32, b: u32) -> u32 {
    if before(a, b) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_survives_the_wrap() {
        assert!(before(0xffff_fff0, 0x10));
        assert!(after(0x10, 0xffff_fff0));
        assert!(!before(5, 5) && !after(5, 5));
        assert_eq!(later(0xffff_ffff, 0), 0);
    }
}
