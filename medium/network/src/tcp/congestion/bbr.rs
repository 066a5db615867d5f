//! BBR, version 1: the window and the pacing rate follow a model of the path, its bandwidth and its least round trip.
//!
//! ```text
//!     startup --> drain --> probe bandwidth <--> probe round trip
//! ```
//!
//! On each ACK: (1) `bandwidth` is the largest delivery rate of ten round trips, `min_rtt` the least round trip of ten
//! seconds. (2) Pacing rate: gain times bandwidth, less 1 %. (3) Window: gain times bandwidth times least round trip,
//! plus what ACKs that arrive together need. BBR does not take a loss for congestion. In the first round trip of a
//! recovery it sends one segment for each segment delivered.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00; `tcp_bbr.c` of Linux 6.1, with its units: gains in 1/256,
//! rates in segments per microsecond times 2^24. The sections below follow that file.
//! Deviates: one segment at a time is sent, without segmentation offload, and times are not rounded to clock ticks.

use pacelab_engine::{Ns, Stream};

use super::control::{Ack, CongestionControl, Phase, RateSample, Recovery, mask};
use super::windowed_max::WindowedMax;

const GAIN_SHIFT: u32 = 8;
const UNIT: u64 = 1 << GAIN_SHIFT;
/// Rates are segments per microsecond times this.
const RATE_SHIFT: u32 = 24;
const US_PER_S: u64 = 1_000_000;
/// Linux's limits are rates in bytes. A full segment counts as this many.
const SEGMENT_BYTES: u64 = 1460;

/// 2/ln 2: the least gain that doubles the rate each round trip.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const WINDOW_GAIN: u64 = 2 * UNIT;
/// One phase each round trip: probe for bandwidth, drain the queue, cruise.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The first phase is any but the second.
const FIRST_PHASES: u32 = 7;
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
const MIN_RTT_WINDOW_NS: Ns = 10_000_000_000;
const PROBE_RTT_NS: Ns = 200_000_000;
/// Least window, and the window while the round trip is probed.
const LEAST_WINDOW_PKTS: u64 = 4;
/// The pacing rate is this many per cent of the bandwidth times the gain.
const PACING_PER_CENT: u64 = 99;
/// Linux's initial window: until this many segments are delivered the window grows without a limit.
const INITIAL_WINDOW_PKTS: u64 = 10;
/// Startup ends after three round trips without a quarter more bandwidth.
const FULL_GROWTH: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u32 = 3;
/// The round trip that is assumed before the first sample.
const NOMINAL_RTT_US: u64 = 1_000;

/// A policed path: at least a fifth of the segments is lost in two intervals of 4 to 16 round trips each, whose rates
/// differ by at most an eighth or 4 kbit/s.
const POLICED_ROUNDS: u64 = 4;
const POLICED_LOSS: u64 = 50;
const POLICED_RATIO: u64 = UNIT / 8;
const POLICED_DIFFERENCE_BYTES_PER_S: u64 = 4000 / 8;
const POLICED_USE_ROUNDS: u64 = 48;

/// Aggregated ACKs: the window of the filter in round trips, and the most that is added to the window.
const AGGREGATION_ROUNDS: u32 = 5;
const AGGREGATION_LIMIT_US: u64 = 100_000;

/// What Linux and ns-3 do differently.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Segments that leave together. `None`: by the pacing rate.
    burst_pkts: Option<u64>,
    /// The window is an even number of segments, for delayed ACKs.
    is_even: bool,
    /// So many segments of aggregated ACKs start a new count.
    epoch_pkts: u64,
}

const LINUX: Rules = Rules { burst_pkts: None, is_even: true, epoch_pkts: 1 << 20 };
/// Source: `tcp-bbr.cc` of ns-3.37, `SetSendQuantum`, `InFlight`, and the attribute `AckEpochAckedResetThresh`, which is
/// 4,096 bytes. Three segments reach it, so almost no room remains for ACKs that arrive together.
const NS3: Rules = Rules { burst_pkts: Some(1), is_even: false, epoch_pkts: 3 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// BBR's state.
#[derive(Clone, Debug)]
pub struct Bbr {
    rules: Rules,
    mode: Mode,
    window_pkts: u64,
    limit_pkts: u64,
    random: Stream,
    // The model.
    bandwidth: WindowedMax,
    min_rtt_us: Option<u64>,
    min_rtt_at: Ns,
    // Round trips, counted by packets.
    rounds: u64,
    next_round_delivered: u64,
    is_round_start: bool,
    // Startup.
    is_full: bool,
    full_bandwidth: u64,
    full_rounds: u32,
    // Gains, the cycle, pacing.
    pacing_gain: u64,
    window_gain: u64,
    phase: usize,
    phase_at: Ns,
    /// In bytes of payload per second.
    pacing_rate: u64,
    has_seen_rtt: bool,
    // The probe of the round trip.
    probe_rtt_until: Option<Ns>,
    probe_rtt_round_done: bool,
    is_restart: bool,
    // Recovery.
    previous_phase: Phase,
    conserves: bool,
    prior_window_pkts: u64,
    // ACKs that arrive together.
    epoch_at: Ns,
    epoch_pkts: u64,
    extra_pkts: [u64; 2],
    extra_rounds: u32,
    extra_index: usize,
    // A policed path.
    policed: Policed,
}

/// The long-term estimate of the bandwidth of a policed path.
#[derive(Clone, Copy, Debug, Default)]
struct Policed {
    bandwidth: u64,
    is_used: bool,
    samples: bool,
    rounds: u64,
    delivered_pkts: u64,
    lost_pkts: u64,
    at: Ns,
}

impl Bbr {
    /// `limit` is the receiver's window in segments.
    pub fn new(window_pkts: u32, limit_pkts: u32) -> Self {
        Bbr::with_rules(window_pkts, limit_pkts, LINUX)
    }

    /// BBR with the rules of ns-3.37 for bursts, even windows, and ACKs that arrive together.
    pub fn of_ns3(window_pkts: u32, limit_pkts: u32) -> Self {
        Bbr::with_rules(window_pkts, limit_pkts, NS3)
    }

    fn with_rules(window_pkts: u32, limit_pkts: u32, rules: Rules) -> Self {
        let mut bbr = Bbr {
            rules,
            mode: Mode::Startup,
            window_pkts: u64::from(window_pkts),
            limit_pkts: u64::from(limit_pkts),
            random: Stream::new(0, 0),
            bandwidth: WindowedMax::default(),
            min_rtt_us: None,
            min_rtt_at: 0,
            rounds: 0,
            next_round_delivered: 0,
            is_round_start: false,
            is_full: false,
            full_bandwidth: 0,
            full_rounds: 0,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            phase: 0,
            phase_at: 0,
            pacing_rate: 0,
            has_seen_rtt: false,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            is_restart: false,
            previous_phase: Phase::Open,
            conserves: false,
            prior_window_pkts: 0,
            epoch_at: 0,
            epoch_pkts: 0,
            extra_pkts: [0; 2],
            extra_rounds: 0,
            extra_index: 0,
            policed: Policed::default(),
        };
        bbr.start_pacing(None);
        bbr
    }

    /// The bandwidth in use.
    fn rate(&self) -> u64 {
        if self.policed.is_used { self.policed.bandwidth } else { self.bandwidth.value() }
    }

    // Pacing.

    fn pacing_rate_of(&self, rate: u64, gain: u64) -> u64 {
        let scaled = u128::from((rate * SEGMENT_BYTES * gain) >> GAIN_SHIFT);
        ((scaled * u128::from(US_PER_S / 100 * PACING_PER_CENT)) >> RATE_SHIFT) as u64
    }

    /// The first rate: the initial window in a round trip, times the high gain.
    fn start_pacing(&mut self, rtt_us: Option<u64>) {
        self.has_seen_rtt = rtt_us.is_some();
        let rate = (self.window_pkts << RATE_SHIFT) / rtt_us.unwrap_or(NOMINAL_RTT_US).max(1);
        self.pacing_rate = self.pacing_rate_of(rate, HIGH_GAIN);
    }

    fn set_pacing_rate(&mut self, rate: u64, gain: u64, smoothed_rtt_us: Option<u64>) {
        let wanted = self.pacing_rate_of(rate, gain);
        if !self.has_seen_rtt && smoothed_rtt_us.is_some() {
            self.start_pacing(smoothed_rtt_us);
        }
        if self.is_full || wanted > self.pacing_rate {
            self.pacing_rate = wanted;
        }
    }

    /// Segments that leave together: Linux allows two from 1.2 Mbit/s on.
    fn burst_pkts(&self) -> u64 {
        if let Some(pkts) = self.rules.burst_pkts {
            return pkts;
        }
        let least = if self.pacing_rate < 1_200_000 / 8 { 1 } else { 2 };
        ((self.pacing_rate >> 10) / SEGMENT_BYTES).max(least).min(0x7f)
    }

    // The window.

    /// Segments that the path holds at this rate, times the gain, rounded up.
    fn path_pkts(&self, rate: u64, gain: u64) -> u64 {
        let Some(min_rtt_us) = self.min_rtt_us else { return INITIAL_WINDOW_PKTS };
        ((rate * min_rtt_us * gain) >> GAIN_SHIFT).div_ceil(1 << RATE_SHIFT)
    }

    /// Room for segments that wait in the hosts, and an even number for delayed ACKs.
    fn with_budget(&self, pkts: u64) -> u64 {
        let wanted = pkts + 3 * self.burst_pkts();
        let wanted = if self.rules.is_even { (wanted + 1) & !1 } else { wanted };
        if self.mode == Mode::ProbeBandwidth && self.phase == 0 { wanted + 2 } else { wanted }
    }

    fn target_in_flight(&self, rate: u64, gain: u64) -> u64 {
        self.with_budget(self.path_pkts(rate, gain))
    }

    /// Segments in flight when pacing lets the next one out.
    fn in_flight_at_departure(&self, sample: &RateSample, in_flight: u32) -> u64 {
        let wait_us = sample.next_send_at.saturating_sub(sample.now) / 1000;
        let delivered = (self.rate() * wait_us) >> RATE_SHIFT;
        let burst = if self.pacing_gain > UNIT { self.burst_pkts() } else { 0 };
        (u64::from(in_flight) + burst).saturating_sub(delivered)
    }

    fn aggregation_pkts(&self) -> u64 {
        if !self.is_full {
            return 0;
        }
        let most = (self.rate() * AGGREGATION_LIMIT_US) >> RATE_SHIFT;
        self.extra_pkts[0].max(self.extra_pkts[1]).min(most)
    }

    fn save_window(&mut self) {
        let is_good = self.previous_phase == Phase::Open && self.mode != Mode::ProbeRtt;
        self.prior_window_pkts = if is_good { self.window_pkts } else { self.prior_window_pkts.max(self.window_pkts) };
    }

    /// The window in and after a recovery, and whether packets are conserved.
    fn recover_or_restore(&mut self, sample: &RateSample) -> (u64, bool) {
        let acked = u64::from(sample.newly_delivered_pkts);
        let in_flight = u64::from(sample.in_flight_pkts);
        let mut window = self.window_pkts;
        if sample.newly_lost_pkts > 0 {
            window = window.saturating_sub(u64::from(sample.newly_lost_pkts)).max(1);
        }
        let previous = std::mem::replace(&mut self.previous_phase, sample.phase);
        if sample.phase == Phase::Recovery && previous != Phase::Recovery {
            self.conserves = true;
            self.next_round_delivered = sample.delivered_pkts;
            window = in_flight + acked;
        } else if previous != Phase::Open && sample.phase == Phase::Open {
            window = window.max(self.prior_window_pkts);
            self.conserves = false;
        }
        (if self.conserves { window.max(in_flight + acked) } else { window }, self.conserves)
    }

    fn set_window(&mut self, sample: &RateSample) {
        let acked = u64::from(sample.newly_delivered_pkts);
        if acked > 0 {
            let (mut window, conserves) = self.recover_or_restore(sample);
            if !conserves {
                let target = self.with_budget(self.path_pkts(self.rate(), self.window_gain) + self.aggregation_pkts());
                if self.is_full {
                    window = (window + acked).min(target);
                } else if window < target || sample.delivered_pkts < INITIAL_WINDOW_PKTS {
                    window += acked;
                }
                window = window.max(LEAST_WINDOW_PKTS);
            }
            self.window_pkts = window;
        }
        if self.mode == Mode::ProbeRtt {
            self.window_pkts = self.window_pkts.min(LEAST_WINDOW_PKTS);
        }
    }

    // The cycle of gains.

    fn is_next_phase(&self, sample: &RateSample) -> bool {
        let is_full_length =
            (sample.delivered_at.saturating_sub(self.phase_at)) / 1000 > self.min_rtt_us.unwrap_or(u64::MAX);
        if self.pacing_gain == UNIT {
            return is_full_length;
        }
        let in_flight = self.in_flight_at_departure(sample, sample.prior_in_flight_pkts);
        let rate = self.bandwidth.value();
        if self.pacing_gain > UNIT {
            let is_reached = in_flight >= self.target_in_flight(rate, self.pacing_gain);
            return is_full_length && (sample.newly_lost_pkts > 0 || is_reached);
        }
        is_full_length || in_flight <= self.target_in_flight(rate, UNIT)
    }

    fn next_phase(&mut self, sample: &RateSample) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_at = sample.delivered_at;
    }

    fn enter_probe_bandwidth(&mut self, sample: &RateSample) {
        self.mode = Mode::ProbeBandwidth;
        self.phase = CYCLE.len() - 1 - self.random.below(FIRST_PHASES) as usize;
        self.next_phase(sample);
    }

    // A policed path.

    fn start_policed_interval(&mut self, sample: &RateSample) {
        self.policed.at = sample.delivered_at;
        self.policed.delivered_pkts = sample.delivered_pkts;
        self.policed.lost_pkts = sample.lost_pkts;
        self.policed.rounds = 0;
    }

    fn reset_policed(&mut self, sample: &RateSample) {
        self.policed = Policed::default();
        self.start_policed_interval(sample);
    }

    fn end_policed_interval(&mut self, sample: &RateSample, rate: u64) {
        let before = self.policed.bandwidth;
        if before > 0 {
            let difference = rate.abs_diff(before);
            if difference * UNIT <= POLICED_RATIO * before
                || self.pacing_rate_of(difference, UNIT) <= POLICED_DIFFERENCE_BYTES_PER_S
            {
                self.policed.bandwidth = u64::midpoint(rate, before);
                self.policed.is_used = true;
                self.pacing_gain = UNIT;
                self.policed.rounds = 0;
                return;
            }
        }
        self.policed.bandwidth = rate;
        self.start_policed_interval(sample);
    }

    fn sample_policed(&mut self, sample: &RateSample) {
        if self.policed.is_used {
            if self.mode == Mode::ProbeBandwidth && self.is_round_start {
                self.policed.rounds += 1;
                if self.policed.rounds >= POLICED_USE_ROUNDS {
                    self.reset_policed(sample);
                    self.enter_probe_bandwidth(sample);
                }
            }
            return;
        }
        let has_lost = sample.newly_lost_pkts > 0;
        if !self.policed.samples {
            if !has_lost {
                return;
            }
            self.start_policed_interval(sample);
            self.policed.samples = true;
        }
        if sample.is_app_limited {
            self.reset_policed(sample);
            return;
        }
        self.policed.rounds += u64::from(self.is_round_start);
        if self.policed.rounds < POLICED_ROUNDS {
            return;
        }
        if self.policed.rounds > 4 * POLICED_ROUNDS {
            self.reset_policed(sample);
            return;
        }
        if !has_lost {
            return;
        }
        let lost = sample.lost_pkts - self.policed.lost_pkts;
        let delivered = sample.delivered_pkts - self.policed.delivered_pkts;
        if delivered == 0 || (lost << GAIN_SHIFT) < POLICED_LOSS * delivered {
            return;
        }
        let elapsed_ms = (sample.delivered_at - self.policed.at) / 1_000_000;
        if elapsed_ms >= 1 {
            self.end_policed_interval(sample, (delivered << RATE_SHIFT) / (elapsed_ms * 1000));
        }
    }

    // The model.

    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.is_round_start = false;
        let Some(interval_us) = sample.interval_ns.map(|interval_ns| interval_ns / 1000).filter(|&us| us > 0) else {
            return;
        };
        if sample.prior_delivered_pkts >= self.next_round_delivered {
            self.next_round_delivered = sample.delivered_pkts;
            self.rounds += 1;
            self.is_round_start = true;
            self.conserves = false;
        }
        self.sample_policed(sample);
        let rate = (sample.interval_pkts() << RATE_SHIFT) / interval_us;
        if !sample.is_app_limited || rate >= self.bandwidth.value() {
            self.bandwidth.add(BANDWIDTH_ROUNDS, self.rounds, rate);
        }
    }

    fn update_aggregation(&mut self, sample: &RateSample) {
        if sample.newly_delivered_pkts == 0 || sample.interval_ns.is_none() {
            return;
        }
        if self.is_round_start {
            self.extra_rounds = (self.extra_rounds + 1).min(0x1f);
            if self.extra_rounds >= AGGREGATION_ROUNDS {
                self.extra_rounds = 0;
                self.extra_index = 1 - self.extra_index;
                self.extra_pkts[self.extra_index] = 0;
            }
        }
        let newly = u64::from(sample.newly_delivered_pkts);
        let epoch_us = (sample.delivered_at - self.epoch_at) / 1000;
        let mut expected = (self.rate() * epoch_us) >> RATE_SHIFT;
        if self.epoch_pkts <= expected || self.epoch_pkts + newly >= self.rules.epoch_pkts {
            self.epoch_pkts = 0;
            self.epoch_at = sample.delivered_at;
            expected = 0;
        }
        self.epoch_pkts += newly;
        let extra = (self.epoch_pkts - expected).min(self.window_pkts);
        self.extra_pkts[self.extra_index] = self.extra_pkts[self.extra_index].max(extra);
    }

    fn check_full(&mut self, sample: &RateSample) {
        if self.is_full || !self.is_round_start || sample.is_app_limited {
            return;
        }
        if self.bandwidth.value() >= (self.full_bandwidth * FULL_GROWTH) >> GAIN_SHIFT {
            self.full_bandwidth = self.bandwidth.value();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, sample: &RateSample) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
        }
        let in_flight = self.in_flight_at_departure(sample, sample.in_flight_pkts);
        if self.mode == Mode::Drain && in_flight <= self.target_in_flight(self.bandwidth.value(), UNIT) {
            self.enter_probe_bandwidth(sample);
        }
    }

    fn update_min_rtt(&mut self, sample: &RateSample) {
        let is_old = sample.now > self.min_rtt_at + MIN_RTT_WINDOW_NS;
        if let Some(rtt_us) = sample.rtt_ns.map(|rtt_ns| rtt_ns / 1000) {
            if is_old || self.min_rtt_us.is_none_or(|least_us| rtt_us <= least_us) {
                self.min_rtt_us = Some(rtt_us);
                self.min_rtt_at = sample.now;
            }
        }
        if is_old && !self.is_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window();
            self.probe_rtt_until = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(sample);
        }
        if sample.newly_delivered_pkts > 0 {
            self.is_restart = false;
        }
    }

    /// Holds four segments in flight for 200 ms and a round trip.
    fn probe_rtt(&mut self, sample: &RateSample) {
        let Some(until) = self.probe_rtt_until else {
            if u64::from(sample.in_flight_pkts) <= LEAST_WINDOW_PKTS {
                self.probe_rtt_until = Some(sample.now + PROBE_RTT_NS);
                self.probe_rtt_round_done = false;
                self.next_round_delivered = sample.delivered_pkts;
            }
            return;
        };
        self.probe_rtt_round_done |= self.is_round_start;
        if self.probe_rtt_round_done && sample.now > until {
            self.min_rtt_at = sample.now;
            self.window_pkts = self.window_pkts.max(self.prior_window_pkts);
            if self.is_full {
                self.enter_probe_bandwidth(sample);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policed.is_used => (UNIT, WINDOW_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.phase], WINDOW_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

impl CongestionControl for Bbr {
    fn window(&self) -> f64 {
        self.window_pkts.min(self.limit_pkts) as f64
    }

    fn threshold(&self) -> f64 {
        self.limit_pkts as f64
    }

    fn acknowledged(&mut self, _ack: &Ack) {}

    fn lost(&mut self, _now: Ns, _in_use: f64) {
        self.save_window();
    }

    fn timed_out(&mut self, _now: Ns, _in_use: f64) {
        self.save_window();
        self.previous_phase = Phase::Loss;
        self.full_bandwidth = 0;
        self.is_round_start = true;
        self.window_pkts = 1;
    }

    fn recovery(&self) -> Recovery {
        Recovery::Sack
    }

    fn event_mask(&self) -> u32 {
        mask::DELIVERED | mask::SENT
    }

    fn take_random(&mut self, stream: Stream) {
        self.random = stream;
    }

    fn connected(&mut self, now: Ns, rtt_ns: Option<Ns>) {
        self.min_rtt_us = rtt_ns.map(|rtt_ns| rtt_ns / 1000);
        self.min_rtt_at = now;
        self.epoch_at = now;
        self.start_pacing(self.min_rtt_us);
    }

    fn delivered(&mut self, sample: &RateSample) {
        self.update_bandwidth(sample);
        self.update_aggregation(sample);
        if self.mode == Mode::ProbeBandwidth && self.is_next_phase(sample) {
            self.next_phase(sample);
        }
        self.check_full(sample);
        self.check_drain(sample);
        self.update_min_rtt(sample);
        self.update_gains();
        self.set_pacing_rate(self.rate(), self.pacing_gain, sample.smoothed_rtt_ns.map(|rtt_ns| rtt_ns / 1000));
        self.set_window(sample);
    }

    /// Sending again after a silence: at the rate of the path, without a burst.
    fn sent(&mut self, now: Ns, in_flight_pkts: u32, is_app_limited: bool) {
        if in_flight_pkts > 0 || !is_app_limited {
            return;
        }
        self.is_restart = true;
        self.epoch_at = now;
        self.epoch_pkts = 0;
        if self.mode == Mode::ProbeBandwidth {
            self.set_pacing_rate(self.rate(), UNIT, None);
        }
    }

    fn pacing_pps(&self) -> Option<f64> {
        Some(self.pacing_rate as f64 / SEGMENT_BYTES as f64)
    }

    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}

#[cfg(test)]
mod tests;
