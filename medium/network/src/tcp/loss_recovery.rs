//! The variants of loss recovery that a sender can follow.

/// The variant of loss recovery that a sender follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossRecovery {
    /// Each of the first two duplicate ACKs sends a new segment (RFC 3042).
    pub limited_transmit: bool,
    /// A partial ACK deflates the window by what it acknowledges (RFC 6582). If false, it removes all inflation.
    pub deflates: bool,
    /// Only the first partial ACK of a recovery restarts the timer ("impatient", RFC 6582), and the fast retransmit
    /// does not restart it.
    pub impatient: bool,
    /// From the third on, duplicate ACKs also inflate the window outside recovery.
    pub always_inflates: bool,
    /// A halved window is half of the whole window in segments, rounded down.
    pub whole_halves: bool,
}

impl LossRecovery {
    /// The RFCs, and ns-2.35.
    pub const RFC: LossRecovery = LossRecovery {
        limited_transmit: true,
        deflates: true,
        impatient: true,
        always_inflates: false,
        whole_halves: false,
    };

    /// ns-2.1b8a of 2001: `singledup_`, `partial_window_deflation_`, `newreno_changes1_` and `precisionReduce_` are 0.
    pub const NS2_OF_2001: LossRecovery = LossRecovery {
        limited_transmit: false,
        deflates: false,
        impatient: false,
        always_inflates: true,
        whole_halves: true,
    };
}
