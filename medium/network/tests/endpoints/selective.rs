//! The sender with selective acknowledgements: what it sends again and when, pacing, and the timers of a control.
//! Segments of 1000 bytes, counted from 0; the SYN is answered after 100 ms.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use pacelab_engine::{NEVER, Ns, Stream};
use pacelab_network::packet::{Sack, TcpHeader, flag};
use pacelab_network::tcp::congestion::{self, Ack, CongestionControl, Phase, RateSample, Recovery, mask};
use pacelab_network::tcp::receiver::Receiver;
use pacelab_network::tcp::rto::{RetransmissionTimer, Rto};
use pacelab_network::tcp::sender::Sender;

use crate::tcp::{MS, NONE, Peer};

/// A window of ten segments that a test can change, and that records its inputs.
#[derive(Clone, Debug)]
struct Fixed {
    mask: u32,
    window: f64,
    pacing_pps: Option<f64>,
    timer_at: Ns,
    told: Rc<RefCell<Vec<String>>>,
    samples: Rc<RefCell<Vec<RateSample>>>,
}

impl Fixed {
    fn new(mask: u32) -> Fixed {
        let (told, samples) = Default::default();
        Fixed { mask, window: 10.0, pacing_pps: None, timer_at: NEVER, told, samples }
    }
}

impl CongestionControl for Fixed {
    fn window(&self) -> f64 {
        self.window
    }

    fn threshold(&self) -> f64 {
        self.window
    }

    fn acknowledged(&mut self, _ack: &Ack) {}

    fn lost(&mut self, _now: Ns, _in_use: f64) {
        self.told.borrow_mut().push("lost".to_string());
        self.window = 5.0;
    }

    fn recovered(&mut self) {
        self.told.borrow_mut().push("recovered".to_string());
    }

    fn timed_out(&mut self, _now: Ns, _in_use: f64) {
        self.told.borrow_mut().push("timed out".to_string());
        self.window = 1.0;
    }

    fn recovery(&self) -> Recovery {
        Recovery::Sack
    }

    fn event_mask(&self) -> u32 {
        self.mask
    }

    fn delivered(&mut self, sample: &RateSample) {
        self.samples.borrow_mut().push(*sample);
    }

    fn sent(&mut self, _now: Ns, in_flight_pkts: u32, _is_app_limited: bool) {
        self.told.borrow_mut().push(format!("sent beyond {in_flight_pkts}"));
    }

    fn deadline(&self) -> Ns {
        self.timer_at
    }

    fn handle_timeout(&mut self, now: Ns) {
        self.told.borrow_mut().push(format!("timer at {} ms", now / MS));
        self.timer_at = NEVER;
    }

    fn pacing_pps(&self) -> Option<f64> {
        self.pacing_pps
    }
}

fn connected(control: &Fixed) -> Peer {
    let mut peer = Peer::connecting_with(Box::new(control.clone()), 0, 64, None);
    peer.receive(100 * MS, 1, flag::SYN | flag::ACK);
    peer
}

/// The peer acknowledges all segments before `segment`, and reports these segments beyond.
fn report(peer: &mut Peer, now: Ns, segment: u32, reported: std::ops::Range<u32>) -> Vec<u32> {
    let sack = Sack::new([(peer.seq(reported.start), peer.seq(reported.end))]);
    let (ack, window_bytes) = (peer.seq(segment), peer.window_bytes);
    let header = TcpHeader { seq: 8, ack, flags: flag::ACK, window_bytes, sack, ..TcpHeader::default() };
    peer.sender.handle(now, &header);
    peer.sent(now)
}

#[test]
fn a_lost_segment_is_sent_first_and_the_window_shrinks_by_what_is_delivered() {
    let control = Fixed::new(0);
    let mut peer = connected(&control);
    assert_eq!(peer.sent(100 * MS), (0..10).collect::<Vec<u32>>());
    // 0 is lost. Two reports are too few; each lets a new segment out, as fewer are in flight.
    assert_eq!(report(&mut peer, 200 * MS, 0, 1..2), [10]);
    assert_eq!(report(&mut peer, 201 * MS, 0, 1..3), [11]);
    assert!(control.told.borrow().is_empty());
    // The third one: lost, of 10 in flight before. Nine are left; half of what is delivered is sent.
    assert_eq!(report(&mut peer, 202 * MS, 0, 1..4), [0]);
    assert_eq!(*control.told.borrow(), ["lost"]);
    let rest: Vec<Vec<u32>> = (5..12).map(|end| report(&mut peer, (200 + Ns::from(end)) * MS, 0, 1..end)).collect();
    assert_eq!(rest.iter().map(Vec::len).sum::<usize>(), 3, "{rest:?}");
    report(&mut peer, 300 * MS, 12, 13..14);
    assert_eq!(*control.told.borrow(), ["lost", "recovered"]);
    assert_eq!(peer.sender.timeouts, 0);
}

#[test]
fn samples_arrive_with_each_ack_also_in_a_recovery() {
    let control = Fixed::new(mask::DELIVERED | mask::SENT);
    let mut peer = connected(&control);
    peer.sent(100 * MS);
    assert_eq!(control.told.borrow().first().map(String::as_str), Some("sent beyond 0"));
    assert_eq!(control.told.borrow().last().map(String::as_str), Some("sent beyond 9"));
    for end in 2..5 {
        report(&mut peer, 200 * MS, 0, 1..end);
    }
    let samples = control.samples.borrow();
    assert_eq!(
        samples.iter().map(|sample| sample.phase).collect::<Vec<_>>(),
        [Phase::Open, Phase::Open, Phase::Recovery]
    );
    let last = samples[2];
    assert_eq!((last.delivered_pkts, last.newly_delivered_pkts, last.newly_lost_pkts), (3, 1, 1));
    assert_eq!((last.interval_pkts(), last.interval_ns), (3, Some(100 * MS)));
    assert_eq!(last.rate_pps(), Some(30.0));
}

#[test]
fn pacing_spaces_segments_and_makes_up_for_a_late_one_by_half_a_gap() {
    let mut control = Fixed::new(0);
    control.pacing_pps = Some(100.0); // every 10 ms
    let mut peer = connected(&control);
    assert_eq!(peer.sent(100 * MS), [0]);
    assert_eq!(peer.sender.timer_at(), 105 * MS); // after a silence: half a gap at least
    assert_eq!(peer.sent(104 * MS), NONE);
    assert_eq!(peer.sent(105 * MS), [1]);
    assert_eq!(peer.sender.timer_at(), 115 * MS);
    assert_eq!(peer.sent(119 * MS), [2]); // 4 ms late: the next gap is 6 ms
    assert_eq!(peer.sender.timer_at(), 125 * MS);
    assert_eq!(peer.sent(145 * MS), [3]); // 20 ms late
    assert_eq!(peer.sender.timer_at(), 150 * MS);
}

#[test]
fn a_probe_asks_for_an_ack_after_two_round_trips_of_silence() {
    let mut control = Fixed::new(0);
    control.window = 3.0;
    let mut peer = connected(&control);
    assert_eq!(peer.sent(100 * MS), [0, 1, 2]);
    assert_eq!(peer.ack(200 * MS, 1), [3]); // a round trip of 100 ms
    assert_eq!(peer.sender.timer_at(), 420 * MS); // and 20 ms
    peer.sender.handle_timeout(420 * MS);
    assert_eq!(peer.sent(420 * MS), [4], "a new segment beyond the window");
    assert_eq!(peer.sender.timeouts, 0);
    // 1 was lost. The answer to the probe shows it; three were delivered, so that three leave.
    assert_eq!(report(&mut peer, 520 * MS, 1, 2..5), [1, 5, 6]);
    assert_eq!(*control.told.borrow(), ["lost"]);
}

#[test]
fn a_timeout_sends_everything_again_that_was_not_reported() {
    let control = Fixed::new(0);
    let mut peer = connected(&control);
    peer.sent(100 * MS);
    report(&mut peer, 200 * MS, 0, 5..6);
    let at = peer.sender.timer_at().max(400 * MS);
    peer.sender.handle_timeout(at);
    while peer.sender.timeouts == 0 {
        peer.sent(at);
        let at = peer.sender.timer_at();
        peer.sender.handle_timeout(at);
    }
    assert_eq!(control.told.borrow().last().map(String::as_str), Some("timed out"));
    let at = peer.sender.timer_at();
    assert_eq!(peer.sent(at), [0]); // a window of one
    assert_eq!(report(&mut peer, at + 100 * MS, 1, 5..6), [1]);
}

#[test]
fn the_timer_of_a_control_expires_when_it_is_due() {
    let mut control = Fixed::new(mask::TIMER);
    control.timer_at = 150 * MS;
    let mut peer = connected(&control);
    peer.sent(100 * MS);
    assert_eq!(peer.sender.timer_at(), 150 * MS);
    peer.sender.handle_timeout(150 * MS);
    assert_eq!(*control.told.borrow(), ["timer at 150 ms"]);
    assert!(peer.sender.timer_at() > 150 * MS);
    // Without the bit in the mask, the sender does not ask the control for a timer.
    control.mask = 0;
    let mut peer = connected(&control);
    peer.sent(100 * MS);
    assert!(peer.sender.timer_at() > 150 * MS);
}

#[test]
fn a_receiver_reports_the_latest_block_first_and_three_at_most() {
    let mut receiver = Receiver::new(64_000, 1, 7);
    receiver.sack = true;
    receiver.handle(0, &TcpHeader { seq: 0, flags: flag::SYN, ..TcpHeader::default() });
    receiver.poll_transmit();
    let mut blocks = |segment: u32| {
        let seq = 1 + 1000 * segment;
        receiver.handle(0, &TcpHeader { seq, payload_bytes: 1000, flags: flag::ACK, ..TcpHeader::default() });
        let answer = receiver.poll_transmit().unwrap();
        answer.sack.blocks().map(|(start, end)| (start / 1000, end / 1000)).collect::<Vec<_>>()
    };
    assert_eq!(blocks(0), []);
    assert_eq!(blocks(2), [(2, 3)]);
    assert_eq!(blocks(4), [(4, 5), (2, 3)]);
    assert_eq!(blocks(8), [(8, 9), (4, 5), (2, 3)]);
    assert_eq!(blocks(6), [(6, 7), (8, 9), (4, 5)]);
    assert_eq!(blocks(3), [(2, 5), (8, 9), (6, 7)]);
    assert_eq!(blocks(1), [(8, 9), (6, 7)]); // 1 to 4 are in order now
}

/// A path of 20 ms each way on which each packet is lost with this probability, in order.
fn transfer(control: Box<dyn CongestionControl>, sack: bool, size_bytes: u64, loss: f64, seed: u64) -> (Ns, u64) {
    let mut random = Stream::new(seed, 0);
    let rto = RetransmissionTimer::Rfc(Rto::new(1_000 * MS, 200 * MS));
    let mut sender = Sender::new(1000, 64_000, control, rto, u32::MAX - 5_000);
    if sack {
        sender.set_sack();
    }
    let mut receiver = Receiver::new(64_000, 1, 7);
    receiver.sack = sender.takes_sack();
    sender.open(Some(size_bytes));
    let mut on_the_way: VecDeque<(Ns, bool, TcpHeader)> = VecDeque::new();
    let (mut now, mut stands_still) = (0, 0);
    loop {
        let mut send = |now: Ns, forward: bool, header: TcpHeader| {
            if random.unit() >= loss {
                on_the_way.push_back((now + 20 * MS, forward, header));
            }
        };
        while let Some(header) = sender.poll_transmit(now) {
            send(now, true, header);
        }
        if let Some(header) = receiver.poll_transmit() {
            send(now, false, header);
        }
        let arrival = on_the_way.front().map_or(NEVER, |&(at, ..)| at);
        let timer = sender.timer_at();
        let next = arrival.min(timer);
        if next == NEVER {
            assert_eq!(receiver.delivered_bytes, size_bytes);
            return (now, sender.timeouts); // the FIN was answered, and no timer is left
        }
        stands_still = if next > now { 0 } else { stands_still + 1 };
        assert!(stands_still < 100, "the timer does not move");
        now = next.max(now);
        assert!(now < 36_000_000 * MS, "the transfer hangs");
        if arrival <= timer {
            let (_, forward, header) = on_the_way.pop_front().unwrap();
            if forward { receiver.handle(now, &header) } else { sender.handle(now, &header) }
        } else {
            sender.handle_timeout(now);
        }
    }
}

#[test]
fn every_transfer_ends_whatever_is_lost() {
    for seed in 0..40 {
        let loss = [0.0, 0.01, 0.1, 0.2][seed as usize % 4];
        for name in ["bbr", "newreno", "cubic", "vegas"] {
            let control = congestion::by_name(name, 2, 64).unwrap();
            let (took, timeouts) = transfer(control, seed % 8 < 4, 100_000, loss, seed);
            assert!(loss > 0.0 || (took < 5_000 * MS && timeouts == 0), "{name} {took} {timeouts}");
        }
        for bits in [0, mask::DELIVERED | mask::SENT] {
            transfer(Box::new(Fixed::new(bits)), true, 100_000, loss, seed);
        }
    }
}

#[test]
fn selective_reports_save_timeouts() {
    let timeouts = |sack: bool| -> u64 {
        let control = || congestion::by_name("newreno", 2, 64).unwrap();
        let run = |seed| transfer(control(), sack, 300_000, 0.05, seed).1;
        (0..20).map(run).sum()
    };
    assert!(timeouts(true) * 2 < timeouts(false), "{} {}", timeouts(true), timeouts(false));
}
