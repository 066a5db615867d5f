//! Values by hand from the formulas of `tcp_bbr.c` (Linux 6.1). The path delivers 100 segments/s, with a least round trip
//! of 100 ms: it holds ten segments. As a rate that is 10 * 2^24 / 100,000 us = 1677.

use super::*;

const MS: Ns = 1_000_000;
const RATE: u64 = 1677;

/// A control and the connection's counters.
struct Path {
    bbr: Bbr,
    now: Ns,
    delivered: u64,
    lost: u64,
}

impl Path {
    fn connected() -> Path {
        let mut bbr = Bbr::new(10, 256);
        bbr.take_random(Stream::new(1, 1));
        bbr.connected(0, Some(100 * MS));
        Path { bbr, now: 0, delivered: 0, lost: 0 }
    }

    /// A sample of ten segments in 100 ms, that ends a round trip.
    fn sample(&mut self, in_flight_pkts: u32) -> RateSample {
        self.now += 100 * MS;
        self.delivered += 10;
        RateSample {
            now: self.now,
            delivered_pkts: self.delivered,
            delivered_at: self.now,
            lost_pkts: self.lost,
            newly_delivered_pkts: 10,
            prior_delivered_pkts: self.delivered - 10,
            interval_ns: Some(100 * MS),
            rtt_ns: Some(120 * MS),
            smoothed_rtt_ns: Some(120 * MS),
            prior_in_flight_pkts: in_flight_pkts,
            in_flight_pkts,
            ..RateSample::default()
        }
    }

    fn round(&mut self, in_flight_pkts: u32) {
        let sample = self.sample(in_flight_pkts);
        self.bbr.delivered(&sample);
    }

    /// Four rounds at the same rate, the last three without growth, then an empty queue.
    fn in_probe_bandwidth() -> Path {
        let mut path = Path::connected();
        (0..4).for_each(|_| path.round(30));
        path.round(14);
        assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
        path
    }
}

#[test]
fn the_first_rate_is_the_initial_window_in_a_round_trip_times_the_high_gain() {
    // 256 * 2885 / 1000 + 1 and 256 * 1000 / 2885
    assert_eq!((HIGH_GAIN, DRAIN_GAIN), (739, 88));
    // 1677 * 1460 bytes * 739 / 256 = 7,067,899; times 990,000, over 2^24
    assert_eq!(Path::connected().bbr.pacing_rate, 417_066);
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut path = Path::connected();
    for growing in 0..3 {
        path.round(30);
        assert_eq!((path.bbr.mode, path.bbr.full_rounds), (Mode::Startup, growing));
    }
    path.round(30);
    assert_eq!((path.bbr.mode, path.bbr.pacing_gain), (Mode::Drain, 88));
    assert_eq!(path.bbr.bandwidth.value(), RATE);
}

#[test]
fn drain_ends_when_the_path_holds_no_queue() {
    let mut path = Path::connected();
    (0..4).for_each(|_| path.round(30));
    // ten segments, three for the host, rounded up to an even number
    path.round(15);
    assert_eq!(path.bbr.mode, Mode::Drain);
    path.round(14);
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
}

#[test]
fn the_window_is_twice_what_the_path_holds_and_a_budget() {
    let mut path = Path::in_probe_bandwidth();
    path.bbr.extra_pkts = [0; 2];
    path.bbr.phase = 2;
    // 20, three for the host, even: 24; in the probing phase two more
    assert_eq!(path.bbr.target_in_flight(RATE, WINDOW_GAIN), 24);
    path.bbr.phase = 0;
    assert_eq!(path.bbr.target_in_flight(RATE, WINDOW_GAIN), 26);
}

#[test]
fn the_cycle_probes_drains_and_cruises() {
    let mut path = Path::in_probe_bandwidth();
    path.bbr.phase = 7;
    let mut gains = Vec::new();
    for _ in 0..8 {
        path.now += MS; // a phase is longer than the least round trip
        path.round(30);
        gains.push(path.bbr.pacing_gain);
    }
    assert_eq!(gains, [320, 192, 256, 256, 256, 256, 256, 256]);
    // Probing lasts until a quarter more is in flight: 13 segments, three for the host, even, and two: 18. The segment
    // that leaves next counts.
    path.bbr.phase = 0;
    path.bbr.update_gains();
    path.now += MS;
    path.round(16);
    assert_eq!(path.bbr.phase, 0);
    // From here the pacing rate is 1.44 Mbit/s and two segments leave together: 13, six for the host, even, and two.
    path.now += MS;
    path.round(19);
    assert_eq!(path.bbr.phase, 0);
    path.now += MS;
    path.round(20);
    assert_eq!(path.bbr.phase, 1);
}

#[test]
fn the_first_phase_is_any_but_the_draining_one() {
    let mut seen = [false; 8];
    for number in 0..100 {
        let mut path = Path::connected();
        path.bbr.take_random(Stream::new(1, number));
        let sample = path.sample(1);
        path.bbr.enter_probe_bandwidth(&sample);
        seen[path.bbr.phase] = true;
    }
    assert_eq!(seen, [true, false, true, true, true, true, true, true]);
}

#[test]
fn after_ten_seconds_four_segments_are_in_flight_for_200_ms_and_a_round_trip() {
    let mut path = Path::in_probe_bandwidth();
    path.now = 10_000 * MS - 100 * MS;
    path.round(14);
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth); // the least round trip is exactly 10 s old
    let window = path.bbr.window_pkts;
    path.round(14);
    assert_eq!((path.bbr.mode, path.bbr.window_pkts), (Mode::ProbeRtt, 4));
    assert_eq!(path.bbr.min_rtt_us, Some(120_000));
    assert!(path.bbr.limits_itself());
    path.round(4); // from 10.2 s
    path.round(4);
    path.round(4); // exactly 200 ms
    assert_eq!(path.bbr.mode, Mode::ProbeRtt);
    path.round(4);
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
    assert!(path.bbr.window_pkts >= window, "{} of {window}", path.bbr.window_pkts);
}

#[test]
fn a_recovery_conserves_packets_for_a_round_trip_and_restores_the_window() {
    let mut path = Path::in_probe_bandwidth();
    path.bbr.phase = 4;
    (0..2).for_each(|_| path.round(24));
    // 20, nine for ACKs that arrive together, three for the host
    assert_eq!(path.bbr.window_pkts, 32);
    path.bbr.lost(path.now, 0.0);
    path.lost += 2;
    let first = RateSample {
        phase: Phase::Recovery,
        newly_lost_pkts: 2,
        newly_delivered_pkts: 1,
        interval_ns: None,
        ..path.sample(9)
    };
    path.bbr.delivered(&first);
    assert_eq!(path.bbr.window_pkts, 10); // nine in flight, one delivered
    let last = RateSample { interval_ns: None, ..path.sample(9) };
    path.bbr.delivered(&last);
    assert_eq!(path.bbr.window_pkts, 32);
}

#[test]
fn acks_that_arrive_together_raise_the_window_by_at_most_100_ms() {
    let mut path = Path::in_probe_bandwidth();
    // Five segments at once, of which the rate explains none.
    path.bbr.extra_pkts = [0; 2];
    path.bbr.extra_rounds = 0;
    path.bbr.epoch_at = path.now;
    path.bbr.epoch_pkts = 0;
    let mut sample = path.sample(14);
    (sample.now, sample.delivered_at) = (path.now - 100 * MS, path.now - 100 * MS);
    sample.newly_delivered_pkts = 5;
    path.bbr.is_round_start = false;
    path.bbr.update_aggregation(&sample);
    assert_eq!(path.bbr.aggregation_pkts(), 5);
    path.bbr.extra_pkts = [40; 2];
    assert_eq!(path.bbr.aggregation_pkts(), 9); // 1677 * 100,000 / 2^24
}

#[test]
fn two_lossy_intervals_of_one_rate_are_a_policed_path() {
    let mut path = Path::in_probe_bandwidth();
    for _ in 0..20 {
        path.lost += 3; // three of ten
        let sample = RateSample { newly_lost_pkts: 3, ..path.sample(14) };
        path.bbr.delivered(&sample);
        if path.bbr.policed.is_used {
            break;
        }
    }
    assert!(path.bbr.policed.is_used);
    assert_eq!((path.bbr.rate(), path.bbr.pacing_gain), (RATE, UNIT));
    // The round trip of the first loss is the first one of two intervals of four.
    assert_eq!(path.now, (5 + 4 + 4) * 100 * MS);
}

#[test]
fn with_the_rules_of_ns3_one_segment_leaves_at_a_time_and_three_acknowledged_segments_start_a_new_count() {
    let mut path = Path::in_probe_bandwidth();
    path.bbr.rules = NS3;
    path.bbr.phase = 2;
    path.bbr.pacing_rate = 10_000_000; // Linux: six segments together
    // 20 and three for the host
    assert_eq!(path.bbr.target_in_flight(RATE, WINDOW_GAIN), 23);
    path.bbr.extra_pkts = [0; 2];
    path.bbr.is_round_start = false;
    path.bbr.epoch_pkts = 0;
    let mut sample = path.sample(14);
    path.bbr.epoch_at = sample.delivered_at;
    for _ in 0..3 {
        sample.newly_delivered_pkts = 2;
        path.bbr.update_aggregation(&sample);
    }
    // Each pair starts a new count, because four are more than three. In Linux the three pairs make six.
    assert_eq!(path.bbr.aggregation_pkts(), 2);
    path.bbr.rules = LINUX;
    for _ in 0..2 {
        path.bbr.update_aggregation(&sample);
    }
    assert_eq!(path.bbr.aggregation_pkts(), 6);
}
