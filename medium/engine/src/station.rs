//! One station: its radio, its backoff, its place in a frame exchange, and what it counts.
//!
//! A station is evaluated lazily. Frames on their way are noted in `pending` and applied when the station is next
//! looked at; NAV, EIFS and idle times are moments, not events. So an overheard frame costs a few comparisons and no
//! heap operation, and the cost of a run grows with the activity around a station, not with the number of stations.
//!
//! Invariants
//! 1. Between two looks nothing at the station can have happened: whatever must happen at a moment of its own (its
//!    timers, the end of a frame for it) has an entry in the agenda at or before that moment.
//! 2. A backoff counts down from `max(idle_since, nav) + DIFS` while the medium is idle. It is settled (`freeze`) at
//!    each idle-to-busy transition and is otherwise not touched.
//! 3. An event at a station at time t sees the frames that arrived before t, not those that arrive at t: two stations
//!    whose countdowns end so that neither can have heard the other both send.

use std::sync::Arc;

use pacelab_air_config::Category;

use crate::access::{Access, Accesses, Backoff, Contention, Current, ExtraBackoff};
use crate::agenda::{NEVER, Ns, SAME_MOMENT_NS};
use crate::frame::{Arrival, Kind, Pending};
use crate::phy::Modulation;
use crate::random::Stream;
use crate::rules::Rules;

/// Where a station is in a frame exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not in an exchange.
    Idle,
    /// RTS sent, waiting for the CTS.
    WaitCts,
    /// Unicast data sent, waiting for the ACK.
    WaitAck,
    /// Broadcast data leaving.
    Broadcast,
    /// CTS sent, waiting for the data.
    WaitData,
    /// ACK leaving.
    SendAck,
}

impl Phase {
    /// The frame that the station waits for. Another one is none of its exchange's business.
    pub fn awaited(self) -> Option<Kind> {
        match self {
            Phase::WaitCts => Some(Kind::Cts),
            Phase::WaitAck => Some(Kind::Ack),
            Phase::WaitData => Some(Kind::Data),
            Phase::Idle | Phase::Broadcast | Phase::SendAck => None,
        }
    }
}

/// A frame that the receiver is locked on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Lock {
    /// Overlapped by a frame that it did not survive. First, so that a cache line of `Station` tells whether there is a
    /// lock.
    pub collided: bool,
    /// Cannot be received for another reason: the station was or began sending.
    pub spoiled: bool,
    pub arrival: Arrival,
    /// Error model: natural logarithm of the chance that all bits until `judged_until` are right.
    pub log_success: f64,
    pub judged_until: Ns,
}

impl Lock {
    pub fn new(arrival: Arrival, collided: bool, spoiled: bool) -> Self {
        Lock { arrival, collided, log_success: 0.0, judged_until: arrival.start, spoiled }
    }
}

/// A CTS or ACK to be sent a SIFS after what asked for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    pub is_cts: bool,
    pub to: u32,
    pub duration_ns: Ns,
    pub rate_bps: u32,
    /// `NEVER`: behind the running wait for an ACK (ns-2).
    pub at: Ns,
}

/// In the order in which a frame's hearers need it, then what a look at the station does, so that either touches few of
/// the processor's cache lines: hundreds of stations are looked at in turn. A hearer mostly touches the first two.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Station {
    // the radio, and the medium as the station sees it
    /// Frames under way to this station.
    pub pending: Pending,
    pub idle_since: Ns,
    pub nav: Ns,
    pub send_end: Ns,
    /// EIFS as a NAV is set to it, which is asked for at every frame that the station cannot decode.
    pub eifs_nav_ns: Ns,
    /// A countdown is running or held: what `accesses` say, here for the hearer.
    contends: bool,
    pub lock: Option<Lock>,
    /// Latest end of a sensed signal; cumulative presets only.
    pub energy_until: Ns,
    // what the station does by itself, and when
    pub phase: Phase,
    /// Earliest entry of this station in the agenda, `NEVER` if none.
    pub agenda_at: Ns,
    pub timeout_at: Ns,
    /// When the data follows the CTS.
    pub data_at: Ns,
    /// When a packet that found the medium idle leaves (`Rules::defer_timer`).
    pub defer_at: Ns,
    pub response: Option<Response>,
    /// End of the last frame that could not be decoded, 0 after a good one; standard EIFS only.
    pub garbled_at: Ns,
    pub accesses: Accesses,
    pub send_start: Ns,
    /// The category whose exchange is under way, or was last.
    pub serving: usize,
    // what is needed more rarely
    /// EIFS of its physical layer.
    pub eifs_ns: Ns,
    /// The preset's, with the physical layer of this station: mostly everybody's, and then held once.
    pub rules: Arc<Rules>,
    /// Signals above the sense threshold, (end, power); cumulative presets only.
    pub signals: Vec<(Ns, f64)>,
    pub random: Stream,
    /// Of the backoff after a delivered frame.
    pub extra_backoff: ExtraBackoff,
    pub queue_changed_at: Ns,
    pub next_number: u32,
    /// Last frame number delivered from each sender, for duplicates.
    pub last_numbers: Vec<(u32, u32)>,
    pub counters: Counters,
}

impl Station {
    pub fn new(rules: Arc<Rules>, contentions: &[Contention], random: Stream) -> Self {
        let eifs_ns = rules.phy.eifs_ns();
        Station {
            eifs_nav_ns: rules.nav_ns(eifs_ns),
            rules,
            eifs_ns,
            send_start: 0,
            send_end: 0,
            lock: None,
            pending: Pending::default(),
            signals: Vec::new(),
            energy_until: 0,
            idle_since: 0,
            nav: 0,
            garbled_at: 0,
            phase: Phase::Idle,
            timeout_at: NEVER,
            response: None,
            data_at: NEVER,
            defer_at: NEVER,
            contends: false,
            accesses: Accesses::new(contentions),
            serving: 0,
            extra_backoff: ExtraBackoff::default(),
            queue_changed_at: 0,
            next_number: 0,
            last_numbers: Vec::new(),
            random,
            counters: Counters::default(),
            agenda_at: NEVER,
        }
    }

    /// Whether the physical layer has the rate of a frame of this modulation.
    #[inline]
    pub fn understands(&self, modulation: Modulation, rate_bps: u32) -> bool {
        self.rules.phy.modulation == modulation || self.rules.phy.has(rate_bps)
    }

    /// `first` of the frames under way is over by `now` and has met no other.
    #[inline]
    pub fn is_first_over(&self, first: &Arrival, now: Ns) -> bool {
        self.lock.is_none() && first.end() <= now && !self.pending.meets_another(first.end())
    }

    /// Whether a frame survives what noise and interference do not explain. Drawn only where a link asks for it, so
    /// that other runs keep their draws.
    #[inline]
    pub fn gets_through(&mut self, loss: f64) -> bool {
        loss == 0.0 || self.random.unit() >= loss
    }

    #[inline]
    pub fn is_sending(&self, at: Ns) -> bool {
        at < self.send_end && self.send_start <= at
    }

    /// The frame that was waited for is here: the exchange goes on, or is over.
    pub fn stop_waiting(&mut self, now: Ns) {
        self.phase = Phase::Idle;
        self.idle_since = now;
        self.timeout_at = NEVER;
    }

    /// Physically and virtually idle at `at`, which must not lie before the last look.
    pub fn is_idle(&self, at: Ns) -> bool {
        self.phase == Phase::Idle && self.lock.is_none() && self.energy_until <= at && self.nav <= at
    }

    /// When the medium turned or will turn idle, as far as is known; only meaningful in `Phase::Idle`.
    fn free_at(&self) -> Ns {
        let heard = self.lock.as_ref().map_or(0, |lock| lock.arrival.end());
        self.idle_since.max(self.nav).max(self.energy_until).max(heard)
    }

    /// When the countdown of a category may begin: its interframe space after the medium turned idle.
    fn countdown_from(&self, space_ns: Ns, started: Ns) -> Ns {
        let space_over = self.free_at().max(started) + space_ns;
        if self.garbled_at == 0 {
            return space_over;
        }
        space_over.max(self.garbled_at + self.eifs_ns - self.rules.phy.difs_ns() + space_ns)
    }

    /// When the backoff of a category ends if nothing else is heard, or `NEVER`.
    pub fn backoff_ends(&self, access: &Access) -> Ns {
        if self.counts_down() { self.backoff_ends_at(access) } else { NEVER }
    }

    /// Not in an exchange: what backoffs there are count down, or are held by the medium.
    #[inline]
    fn counts_down(&self) -> bool {
        self.phase == Phase::Idle && self.response.is_none() && self.data_at == NEVER
    }

    #[inline]
    fn backoff_ends_at(&self, access: &Access) -> Ns {
        let Some(backoff) = access.backoff() else { return NEVER };
        let from = self.countdown_from(access.contention.space_ns, backoff.started);
        from + Ns::from(backoff.slots) * access.contention.slot_ns
    }

    /// When the first backoff ends if nothing else is heard, or `NEVER`.
    #[inline(always)]
    pub fn first_backoff_ends(&self) -> Ns {
        if !self.contends || !self.counts_down() {
            return NEVER;
        }
        let (first, others) = self.accesses.split_first();
        others.iter().fold(self.backoff_ends_at(first), |ends, access| ends.min(self.backoff_ends_at(access)))
    }

    /// A countdown is running or held.
    pub fn is_contending(&self) -> bool {
        self.contends
    }

    /// Gives a category a backoff, or takes it away.
    pub fn set_backoff(&mut self, index: usize, backoff: Option<Backoff>) {
        self.contends = self.accesses.set_backoff(index, backoff);
    }

    /// When the station must act by itself, or be there for the end of a frame for it, if nothing else is heard.
    /// `backoff_ends`: see `first_backoff_ends`.
    #[inline]
    pub fn due_at(&self, backoff_ends: Ns) -> Ns {
        let response_at = self.response.as_ref().map_or(NEVER, |response| response.at);
        let due = self.timeout_at.min(response_at).min(self.data_at).min(self.defer_at).min(backoff_ends);
        if self.lock.is_none() && self.pending.is_empty() { due } else { due.min(self.frame_for_it_ends()) }
    }

    /// Earliest end of a frame for this station, or `NEVER`.
    #[inline(never)]
    fn frame_for_it_ends(&self) -> Ns {
        let arrivals = self.lock.iter().map(|lock| &lock.arrival).chain(self.pending.iter());
        arrivals.filter(|arrival| arrival.addressed).map(|arrival| arrival.end()).min().unwrap_or(NEVER)
    }

    /// The medium turns busy at `at`: settles the countdowns (invariant 2). Call before the change is noted.
    #[inline(always)]
    pub fn freeze(&mut self, at: Ns) {
        if self.contends && self.is_idle(at) {
            self.settle(at);
        }
    }

    #[inline(never)]
    fn settle(&mut self, at: Ns) {
        for index in 0..self.accesses.len() {
            let access = &self.accesses[index];
            let Some(backoff) = access.backoff() else { continue };
            let from = self.countdown_from(access.contention.space_ns, backoff.started);
            if at + SAME_MOMENT_NS > from {
                let elapsed = ((at + SAME_MOMENT_NS - from) / access.contention.slot_ns) as u32;
                let slots = backoff.slots.saturating_sub(elapsed);
                self.set_backoff(index, Some(Backoff { slots, ..backoff }));
            }
        }
    }

    /// Draws a new backoff for a category from its present contention window, longer by `extra`.
    pub fn draw_backoff(&mut self, index: usize, now: Ns, extra: ExtraBackoff) -> u32 {
        let cw = self.accesses[index].cw;
        let slots = self.random.below(if self.rules.cw_inclusive { cw + 1 } else { cw });
        self.counters.backoffs += 1;
        self.counters.backoff_slots += u64::from(slots);
        let mut started = if self.rules.immediate_access { 0 } else { now };
        if extra.wall_clock && extra.slots > 0 {
            started = started.max(now + Ns::from(extra.slots) * self.rules.phy.slot_ns);
        }
        let frozen = if extra.wall_clock { 0 } else { extra.slots };
        self.set_backoff(index, Some(Backoff { slots: slots + frozen, started }));
        slots
    }

    /// Place of a category among the accesses.
    pub fn index_of(&self, category: Category) -> usize {
        if self.accesses.len() == 1 { 0 } else { category as usize }
    }

    /// The category whose exchange is under way.
    pub fn access(&mut self) -> &mut Access {
        &mut self.accesses[self.serving]
    }

    /// The packet whose exchange is under way.
    pub fn current(&self) -> Option<Current> {
        self.accesses[self.serving].current
    }

    /// Packets that wait, in all categories.
    pub fn waiting_pkts(&self) -> usize {
        let (first, others) = self.accesses.split_first();
        others.iter().fold(first.queue.len(), |pkts, access| pkts + access.queue.len())
    }

    /// Notes that the queue is about to change, for its time average.
    pub fn note_queue(&mut self, now: Ns) {
        let (waiting, lasted) = (self.waiting_pkts() as u128, u128::from(now - self.queue_changed_at));
        if waiting > 0 {
            self.counters.queue_pkt_ns += waiting * lasted;
            self.counters.queue_pkt2_ns += waiting * waiting * lasted;
        }
        self.queue_changed_at = now;
    }
}

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
