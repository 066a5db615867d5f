//! State of the recovery with selective acknowledgements; the sender acts on it.

use pacelab_engine::{NEVER, Ns};

/// State of the recovery.
#[derive(Clone, Copy, Debug)]
pub struct Selective {
    /// When a segment will be overdue.
    pub overdue_at: Ns,
    /// When to send a probe.
    pub probe_at: Ns,
    /// A probe is on its way; the ACK of this octet answers it.
    pub probe_end: Option<u32>,
    /// A probe is due.
    pub probes: bool,
    /// After the latest sample of the round trip. The next sample is of a segment sent later.
    pub sampled_at: Ns,
    /// During a recovery, if the control leaves the window to the sender.
    pub reduction: Option<Reduction>,
}

/// Proportional rate reduction (RFC 6937, with the slow-start bound as in Linux).
#[derive(Clone, Copy, Debug, Default)]
pub struct Reduction {
    /// The window before the recovery, in segments.
    pub prior_pkts: u32,
    /// The window after it.
    pub target_pkts: u32,
    /// Segments delivered during the recovery.
    pub delivered_pkts: u32,
    /// Segments sent during the recovery.
    pub sent_pkts: u32,
    /// The window now.
    pub window_pkts: u32,
}

impl Reduction {
    /// An ACK reports `delivered` segments; `in_flight` are left. `is_clean`: it advances, and shows no new loss.
    pub fn handle_ack(&mut self, delivered: u32, in_flight: u32, is_clean: bool) {
        if delivered == 0 {
            return;
        }
        self.delivered_pkts += delivered;
        let mut sendable = if in_flight > self.target_pkts {
            (self.target_pkts * self.delivered_pkts).div_ceil(self.prior_pkts.max(1)).saturating_sub(self.sent_pkts)
        } else {
            let owed = self.delivered_pkts.saturating_sub(self.sent_pkts).max(delivered);
            (owed + u32::from(is_clean)).min(self.target_pkts - in_flight)
        };
        if self.sent_pkts == 0 {
            sendable = sendable.max(1); // the fast retransmit
        }
        self.window_pkts = in_flight + sendable;
    }
}

impl Default for Selective {
    fn default() -> Self {
        Selective { overdue_at: NEVER, probe_at: NEVER, probe_end: None, probes: false, sampled_at: 0, reduction: None }
    }
}

impl Selective {
    /// The next time at which there is something to do.
    pub fn timer_at(&self) -> Ns {
        self.overdue_at.min(self.probe_at)
    }
}
