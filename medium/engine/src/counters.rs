//! What each station counts.

use crate::agenda::Ns;

/// Counters of one station since the start (or the last reset).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// RTS frames sent.
    pub rts_sent: u64,
    /// CTS frames sent.
    pub cts_sent: u64,
    /// Data frames sent, repeats and broadcasts included.
    pub data_sent: u64,
    /// ACK frames sent.
    pub ack_sent: u64,
    /// Unicast packets acknowledged by the next hop.
    pub delivered_frames: u64,
    /// Attempts beyond the first, RTS and data together.
    pub retries: u64,
    /// RTSs without CTS.
    pub rts_failures: u64,
    /// Data frames without ACK.
    pub data_failures: u64,
    /// Packets given up after the last RTS.
    pub drops_rts: u64,
    /// Packets given up after the last data frame.
    pub drops_data: u64,
    /// Packets refused by the full interface queue.
    pub drops_queue: u64,
    /// Longest interface queue, packets waiting.
    pub queue_max_pkts: u64,
    /// Integral of the queue's length over time, packets times ns.
    pub queue_pkt_ns: u128,
    /// Integral of its square, for the deviation over time: packets squared times ns.
    pub queue_pkt2_ns: u128,
    /// Backoff slots drawn.
    pub backoff_slots: u64,
    /// Backoffs drawn.
    pub backoffs: u64,
    /// Time spent sending.
    pub airtime_ns: Ns,
}

impl Counters {
    /// Standard deviation of the queue's length over the measured time, packets.
    pub fn queue_sd_pkts(&self, measured_s: f64) -> f64 {
        let mean = self.queue_pkt_ns as f64 / 1e9 / measured_s;
        let square = self.queue_pkt2_ns as f64 / 1e9 / measured_s;
        (square - mean * mean).max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queues_deviation_is_over_time() {
        // 1 s with none, 1 s with two: mean 1, and always 1 away from it; 3 s with two: no deviation
        let second = 1_000_000_000;
        let counters = |mean: u128, square: u128| Counters {
            queue_pkt_ns: mean * second,
            queue_pkt2_ns: square * second,
            ..Counters::default()
        };
        assert_eq!(counters(2, 4).queue_sd_pkts(2.0), 1.0);
        assert_eq!(counters(6, 12).queue_sd_pkts(3.0), 0.0);
    }
}
