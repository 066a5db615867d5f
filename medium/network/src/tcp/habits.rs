//! What a sender does where TCPs differ, by name.

use pacelab_engine::Ns;

use crate::tcp::rto::Rto;
use crate::tcp::tick_timer::TickTimer;

/// Loss recovery, and what goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Habits {
    /// The first two duplicate ACKs send a new segment each (RFC 3042).
    pub limited_transmit: bool,
    /// A partial ACK takes from the inflated window what it acknowledges (RFC 6582), in the place of all inflation.
    pub deflates: bool,
    /// Of a recovery only the first partial ACK restarts the timer ("impatient", RFC 6582), and the fast retransmit does
    /// not.
    pub impatient: bool,
    /// Duplicate ACKs inflate the window outside recovery too, once there are three of them.
    pub always_inflates: bool,
    /// Halves are those of whole windows, rounded down.
    pub whole_halves: bool,
}

impl Habits {
    /// As the RFCs have it, and ns-2.35.
    pub const RFC: Habits =
        Habits { limited_transmit: true, deflates: true, impatient: true, always_inflates: false, whole_halves: false };

    /// ns-2.1b8a of 2001: `singledup_`, `partial_window_deflation_`, `newreno_changes1_` and `precisionReduce_` are 0.
    pub const NS2_OF_2001: Habits = Habits {
        limited_transmit: false,
        deflates: false,
        impatient: false,
        always_inflates: true,
        whole_halves: true,
    };
}

/// A retransmission timer.
#[derive(Clone, Debug)]
pub enum Timer {
    /// RFC 6298.
    Rfc(Rto),
    /// ns-2 in 2001.
    Ticks(TickTimer),
}

impl Timer {
    /// Takes a sample of a segment that was sent once (Karn), at `sent_at`; ends the backoff.
    pub fn sample(&mut self, sent_at: Ns, rtt_ns: Ns) {
        match self {
            Timer::Rfc(rto) => rto.sample(rtt_ns),
            Timer::Ticks(timer) => timer.sample(sent_at, rtt_ns),
        }
    }

    /// Doubles the timeout.
    pub fn back_off(&mut self) {
        match self {
            Timer::Rfc(rto) => rto.back_off(),
            Timer::Ticks(timer) => timer.back_off(),
        }
    }

    /// The timeout now in force.
    pub fn timeout_ns(&self) -> Ns {
        match self {
            Timer::Rfc(rto) => rto.timeout_ns(),
            Timer::Ticks(timer) => timer.timeout_ns(),
        }
    }

    /// The smoothed RTT, if there is one.
    pub fn smoothed_ns(&self) -> Option<Ns> {
        match self {
            Timer::Rfc(rto) => rto.smoothed_ns(),
            Timer::Ticks(timer) => timer.smoothed_ns(),
        }
    }
}
