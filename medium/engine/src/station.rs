//! One station: its radio, its backoff, its phase in a frame exchange, and its counters.
//!
//! A station is evaluated lazily. Frames on their way are added to `pending` and are applied when the station is next
//! evaluated. NAV, EIFS and idle times are stored as times, not as events. An overheard frame therefore costs a few
//! comparisons and no queue operation. The cost of a run grows with the activity around a station, not with the number
//! of stations.
//!
//! Invariants
//! 1. Everything that must happen at a station at a certain time (its timers, the end of a frame for it) has an entry
//!    in the event queue at or before that time. Nothing else can happen between two evaluations.
//! 2. A backoff counts down from `max(idle_since, nav) + DIFS` while the medium is idle. Its remaining slots are
//!    updated (`freeze`) at each transition from idle to busy, and at no other time.
//! 3. An event at a station at time t sees the frames that arrived before t, not those that arrive at t. If the
//!    countdowns of two stations end before either can hear the other, both send.

use std::sync::Arc;

use pacelab_air_config::Category;

use crate::access::{AccessCategories, AccessCategory, Backoff, Contention, ExtraBackoff, FrameInService};
use crate::block_ack::{Recipient, SentAggregates};
use crate::event_queue::{NEVER, Ns, SAME_MOMENT_NS};
use crate::frame::{Arrival, Kind, Pending};
use crate::ids::StationId;
use crate::mcs::Mcs;
use crate::phy::Modulation;
use crate::random::Stream;
use crate::rules::Rules;

/// The phase of a station in a frame exchange.
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
    /// ACK or Block Ack leaving.
    SendAck,
    /// Aggregate or Block Ack Request sent, waiting for the Block Ack.
    WaitBlockAck,
}

impl Phase {
    /// The kind of frame that the station waits for. Other frames do not belong to its exchange.
    pub fn awaited(self) -> Option<Kind> {
        match self {
            Phase::WaitCts => Some(Kind::Cts),
            Phase::WaitAck => Some(Kind::Ack),
            Phase::WaitData => Some(Kind::Data),
            Phase::WaitBlockAck => Some(Kind::BlockAck),
            Phase::Idle | Phase::Broadcast | Phase::SendAck => None,
        }
    }
}

/// A frame that the receiver is locked on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Lock {
    /// The frame was overlapped by one that it did not survive. This field is first so that one cache line of `Station`
    /// shows whether there is a lock.
    pub collided: bool,
    /// The frame cannot be received because the station was sending or began to send.
    pub spoiled: bool,
    pub arrival: Arrival,
    /// Error model: natural logarithm of the probability that all bits until `judged_until` are correct.
    pub log_success: f64,
    pub judged_until: Ns,
}

impl Lock {
    #[inline]
    pub fn new(arrival: Arrival, collided: bool, spoiled: bool) -> Self {
        Lock { arrival, collided, log_success: 0.0, judged_until: arrival.start, spoiled }
    }
}

impl Lock {
    #[inline]
    pub fn is_aggregate(&self) -> bool {
        self.arrival.header.kind == Kind::Aggregate
    }

    /// When the preamble of the frame is over.
    pub fn body_starts(&self, rules: &Rules) -> Ns {
        self.arrival.start + rules.phy.preamble_of_ns(self.arrival.header.rate_bps)
    }
}

/// A part of a frame during which the interference was constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interference {
    pub until: Ns,
    pub power_w: f64,
}

/// A CTS, ACK or Block Ack that is to be sent a SIFS after the frame that it answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    pub kind: Kind,
    pub to: StationId,
    pub duration_ns: Ns,
    pub rate_bps: u32,
    /// When to send it. `NEVER`: after the running wait for an ACK (ns-2).
    pub at: Ns,
}

/// The state of one station. A frame updates hundreds of hearers in turn, so the fields that a hearer needs come first,
/// then those that a wake-up needs. Each then touches few cache lines; a hearer usually touches the first two.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Station {
    // the radio, and the medium as the station perceives it
    /// Frames under way to this station.
    pub pending: Pending,
    pub idle_since: Ns,
    pub nav: Ns,
    pub send_end: Ns,
    /// EIFS, rounded as a NAV. Needed at every frame that the station cannot decode.
    pub eifs_nav_ns: Ns,
    /// Some category has a backoff. A copy of the information in `categories`, stored here for the hearers.
    contends: bool,
    pub lock: Option<Lock>,
    /// Latest end of a sensed signal; cumulative presets only.
    pub energy_until: Ns,
    // what the station does next, and when
    pub phase: Phase,
    /// Earliest entry of this station in the event queue; `NEVER`: none.
    pub wakeup_at: Ns,
    pub timeout_at: Ns,
    /// When the data follows the CTS.
    pub data_at: Ns,
    /// When a packet that found the medium idle is sent (`Rules::defer_timer`).
    pub defer_at: Ns,
    pub response: Option<Response>,
    /// End of the last frame that could not be decoded, 0 after a good one; standard EIFS only.
    pub garbled_at: Ns,
    pub categories: AccessCategories,
    pub send_start: Ns,
    /// The category whose exchange is in progress, or was last.
    pub serving: usize,
    // what is rarely needed
    /// EIFS of its physical layer.
    pub eifs_ns: Ns,
    /// The rules of the preset with the physical layer of this station. Stations with the same layer share one copy.
    pub rules: Arc<Rules>,
    /// Signals above the sense threshold, (end, power); cumulative presets only.
    pub signals: Vec<(Ns, f64)>,
    pub random: Stream,
    /// Addition to the backoff after a delivered frame.
    pub extra_backoff: ExtraBackoff,
    pub queue_changed_at: Ns,
    /// Most packets that wait, if not those of the radio.
    pub queue_pkts: Option<u32>,
    pub next_number: u32,
    /// Last frame number delivered from each sender, for duplicates.
    pub last_numbers: Vec<(StationId, u32)>,
    /// Block Ack agreements as recipient.
    pub recipients: Vec<Recipient>,
    /// The first number of the Block Ack to be sent.
    pub block_ack_start: u32,
    /// The last aggregates that this station sent.
    pub sent_aggregates: SentAggregates,
    /// Interference during the aggregate that the station is locked on, in the order of time.
    pub interference: Vec<Interference>,
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
            categories: AccessCategories::new(contentions),
            serving: 0,
            extra_backoff: ExtraBackoff::default(),
            queue_changed_at: 0,
            queue_pkts: None,
            next_number: 0,
            last_numbers: Vec::new(),
            recipients: Vec::new(),
            block_ack_start: 0,
            sent_aggregates: SentAggregates::default(),
            interference: Vec::new(),
            random,
            counters: Counters::default(),
            wakeup_at: NEVER,
        }
    }

    /// Locks on a frame.
    pub fn lock_on(&mut self, arrival: Arrival, collided: bool) {
        self.interference.clear();
        self.lock = Some(Lock::new(arrival, collided, false));
    }

    /// Whether the physical layer can demodulate a frame of this modulation and rate.
    #[inline]
    pub fn understands(&self, modulation: Modulation, rate_bps: u32) -> bool {
        (self.rules.phy.modulation == modulation && !Mcs::is_code(rate_bps)) || self.rules.phy.has(rate_bps)
    }

    /// Whether `first`, the first pending frame, is over by `now` and met no other frame.
    #[inline]
    pub fn is_first_over(&self, first: &Arrival, now: Ns) -> bool {
        self.lock.is_none() && first.end() <= now && !self.pending.meets_another(first.end())
    }

    /// Whether a frame survives the losses of its link beyond noise and interference. Draws only for links with such
    /// losses, so that other runs keep their draws.
    #[inline]
    pub fn gets_through(&mut self, loss: f64) -> bool {
        loss == 0.0 || self.random.unit() >= loss
    }

    #[inline]
    pub fn is_sending(&self, at: Ns) -> bool {
        at < self.send_end && self.send_start <= at
    }

    /// Ends the wait for a frame that has arrived.
    pub fn stop_waiting(&mut self, now: Ns) {
        self.phase = Phase::Idle;
        self.idle_since = now;
        self.timeout_at = NEVER;
    }

    /// Whether the medium is physically and virtually idle at `at`, which must not be before the last evaluation.
    pub fn is_idle(&self, at: Ns) -> bool {
        self.phase == Phase::Idle && self.lock.is_none() && self.energy_until <= at && self.nav <= at
    }

    /// When the medium turned idle or will turn idle, as far as is known. Only meaningful in `Phase::Idle`.
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
    pub fn backoff_ends(&self, category: &AccessCategory) -> Ns {
        if self.counts_down() { self.backoff_ends_at(category) } else { NEVER }
    }

    /// The station is in no exchange, so its backoffs count down or are frozen by a busy medium.
    #[inline]
    fn counts_down(&self) -> bool {
        self.phase == Phase::Idle && self.response.is_none() && self.data_at == NEVER
    }

    #[inline]
    fn backoff_ends_at(&self, category: &AccessCategory) -> Ns {
        let Some(backoff) = category.backoff() else { return NEVER };
        let from = self.countdown_from(category.contention.space_ns, backoff.started);
        from + Ns::from(backoff.slots) * category.contention.slot_ns
    }

    /// When the first backoff ends if nothing else is heard, or `NEVER`.
    #[inline(always)]
    pub fn first_backoff_ends(&self) -> Ns {
        if !self.contends || !self.counts_down() {
            return NEVER;
        }
        let (first, others) = self.categories.split_first();
        others.iter().fold(self.backoff_ends_at(first), |ends, category| ends.min(self.backoff_ends_at(category)))
    }

    /// Whether some category has a backoff.
    pub fn is_contending(&self) -> bool {
        self.contends
    }

    /// Sets or removes the backoff of a category.
    pub fn set_backoff(&mut self, index: usize, backoff: Option<Backoff>) {
        self.contends = self.categories.set_backoff(index, backoff);
    }

    /// When the station must be evaluated next if it hears nothing else: for one of its timers, or for the end of a
    /// frame for it. `backoff_ends`: see `first_backoff_ends`.
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

    /// Updates the countdowns because the medium turns busy at `at` (invariant 2). Call this before recording the
    /// change.
    #[inline(always)]
    pub fn freeze(&mut self, at: Ns) {
        if self.contends && self.is_idle(at) {
            self.count_elapsed_slots(at);
        }
    }

    #[cold] // most hearers of a frame do not count down: the compiler keeps their registers free
    #[inline(never)]
    fn count_elapsed_slots(&mut self, at: Ns) {
        for index in 0..self.categories.len() {
            let category = &self.categories[index];
            let Some(backoff) = category.backoff() else { continue };
            let from = self.countdown_from(category.contention.space_ns, backoff.started);
            if at + SAME_MOMENT_NS > from {
                let elapsed = ((at + SAME_MOMENT_NS - from) / category.contention.slot_ns) as u32;
                let slots = backoff.slots.saturating_sub(elapsed);
                self.set_backoff(index, Some(Backoff { slots, ..backoff }));
            }
        }
    }

    /// Draws a new backoff for a category from its contention window, and adds `extra`.
    pub fn draw_backoff(&mut self, index: usize, now: Ns, extra: ExtraBackoff) -> u32 {
        let cw = self.categories[index].cw;
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

    /// Place of a category among the categories that the station has.
    pub fn index_of(&self, category: Category) -> usize {
        if self.categories.len() == 1 { 0 } else { category as usize }
    }

    /// The category whose exchange is in progress, or was last.
    pub fn category(&mut self) -> &mut AccessCategory {
        &mut self.categories[self.serving]
    }

    /// The packet whose exchange is in progress.
    pub fn frame_in_service(&self) -> Option<FrameInService> {
        self.categories[self.serving].in_service
    }

    /// The agreement to which the MPDU `number` of `from` belongs, at its recipient.
    pub fn recipient(&mut self, from: StationId, number: u32) -> &mut Recipient {
        let place = self.recipients.iter().position(|recipient| recipient.is_for(from, number)).unwrap_or_else(|| {
            self.recipients.push(Recipient::new(from, number));
            self.recipients.len() - 1
        });
        &mut self.recipients[place]
    }

    /// Packets waiting in all categories.
    pub fn waiting_pkts(&self) -> usize {
        let (first, others) = self.categories.split_first();
        others.iter().fold(first.queue.len(), |pkts, category| pkts + category.queue.len())
    }

    /// Updates the time averages of the queue. Call this before the queue changes.
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
    /// Packets dropped after the last RTS.
    pub drops_rts: u64,
    /// Packets dropped after the last data frame.
    pub drops_data: u64,
    /// Packets refused by the full interface queue.
    pub drops_queue: u64,
    /// Longest interface queue, packets waiting.
    pub queue_max_pkts: u64,
    /// Integral of the queue's length over time, packets times ns.
    pub queue_pkt_ns: u128,
    /// Integral of the squared queue length, for its standard deviation over time: packets squared times ns.
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
    fn the_deviation_of_the_queue_is_over_time() {
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
