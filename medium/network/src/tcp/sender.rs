//! The TCP sender: which segments it sends, and when.
//!
//! The recovery is that of RFC 6582 (careful variant, "impatient" timer: only the first partial ACK of a recovery
//! restarts the timer) with limited transmit of RFC 3042 and without SACK, the baseline of the papers. `LossRecovery`
//! has the other variants. After a timeout the sender goes back to the first unacknowledged octet.
//! `selective_recovery` has the recovery with SACK.
//!
//! A congestion control that asks for it also gets a sample of the delivery rate with each ACK (`scoreboard`), can pace
//! segments, and has a timer of its own. A sender whose control asks for none of this keeps no scoreboard.

use pacelab_engine::{NEVER, Ns};

use crate::packet::{Sack, TcpHeader, flag};
use crate::tcp::congestion::{Ack, CongestionControl, Phase, Recovery, mask};
use crate::tcp::loss_recovery::LossRecovery;
use crate::tcp::rto::RetransmissionTimer;
use crate::tcp::scoreboard::Scoreboard;
use crate::tcp::selective::Selective;
use crate::tcp::{after, before, later};

mod selective_recovery;

const DUPLICATE_THRESHOLD: u32 = 3;
/// Most new segments that one duplicate ACK may send (2 in ns-2).
const RECOVERY_BURST: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    SynSent,
    Open,
    /// The peer's FIN was received, or the connection was closed: the sender has nothing more to do.
    Done,
}

/// A TCP sender.
pub struct Sender {
    segment_bytes: u32,
    /// The receiver's window.
    window_bytes: u32,
    control: Box<dyn CongestionControl>,
    rto: RetransmissionTimer,
    loss_recovery: LossRecovery,
    state: State,
    /// First unacknowledged octet, next octet to send, and one after the last octet ever sent.
    una: u32,
    next: u32,
    max: u32,
    /// End of the application's data, once known.
    limit: Option<u32>,
    duplicates: u32,
    recover: u32,
    in_recovery: bool,
    /// A timeout set `recover`.
    timed_out: bool,
    had_partial: bool,
    inflation: f64,
    /// New segments that may still be sent for a duplicate ACK.
    burst: u32,
    retransmit: bool,
    acknowledge: bool,
    timed: Option<(u32, Ns)>,
    timer_at: Ns,
    /// If the window is below one segment or the control paces, no segment is sent before this time.
    spaced_until: Ns,
    /// Pacing alone holds the next segment back.
    waits_for_pacing: bool,
    /// The calls that the control asks for.
    event_mask: u32,
    /// Each segment in flight, if the control or the recovery asks for it.
    scoreboard: Option<Box<Scoreboard>>,
    /// The recovery with selective acknowledgements, if it is in use.
    selective: Option<Selective>,
    peer_next: u32,
    /// Whether the sender reacts to congestion marks (RFC 3168).
    pub ecn: bool,
    /// The sender ignores further marks until this octet is acknowledged.
    answered_until: u32,
    /// The next new segment carries CWR.
    reduced: bool,
    /// Segments sent with data, repeats included.
    pub sent_pkts: u64,
    /// Segments sent again.
    pub retransmitted_pkts: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// RTT samples since they were last taken.
    pub rtt_samples_ns: Vec<Ns>,
}

impl Sender {
    /// A closed sender; `isn` is its initial sequence number.
    pub fn new(
        segment_bytes: u32,
        window_bytes: u32,
        control: Box<dyn CongestionControl>,
        rto: RetransmissionTimer,
        isn: u32,
    ) -> Self {
        let event_mask = control.event_mask();
        let selective = (control.recovery() == Recovery::Sack).then(Selective::default);
        let needs_scoreboard = selective.is_some() || event_mask & (mask::DELIVERED | mask::SENT) != 0;
        Sender {
            segment_bytes,
            window_bytes,
            control,
            rto,
            loss_recovery: LossRecovery::RFC,
            state: State::Closed,
            una: isn,
            next: isn,
            max: isn,
            limit: None,
            duplicates: 0,
            recover: isn,
            in_recovery: false,
            timed_out: false,
            had_partial: false,
            inflation: 0.0,
            burst: u32::MAX,
            retransmit: false,
            acknowledge: false,
            timed: None,
            timer_at: NEVER,
            spaced_until: 0,
            waits_for_pacing: false,
            event_mask,
            scoreboard: needs_scoreboard.then(Box::default),
            selective,
            peer_next: 0,
            ecn: false,
            answered_until: isn,
            reduced: false,
            sent_pkts: 0,
            retransmitted_pkts: 0,
            timeouts: 0,
            rtt_samples_ns: Vec::new(),
        }
    }

    /// Sets the variant of loss recovery.
    pub fn set_loss_recovery(&mut self, loss_recovery: LossRecovery) {
        self.loss_recovery = loss_recovery;
    }

    /// Whether the sender understands selective acknowledgements.
    pub fn takes_sack(&self) -> bool {
        self.selective.is_some()
    }

    /// Turns on selective acknowledgements, whatever the congestion control asks for.
    pub fn set_sack(&mut self) {
        self.selective.get_or_insert_default();
        self.scoreboard.get_or_insert_default();
    }

    /// Opens the connection to send `size_bytes`, or without a limit.
    pub fn open(&mut self, size_bytes: Option<u64>) {
        self.state = State::SynSent;
        self.limit = size_bytes.map(|size| self.una.wrapping_add(1).wrapping_add(size.min(1 << 30) as u32));
    }

    /// Closes the connection: the data sent so far is completed, then a FIN is sent. A connection that is not
    /// established yet is abandoned (RFC 9293 Sec. 3.10.4).
    pub fn close(&mut self) {
        if self.state == State::SynSent {
            self.finish();
        } else if self.state == State::Open && self.limit.is_none() {
            self.limit = Some(self.max);
        }
    }

    /// The connection is over: no timer is left.
    fn finish(&mut self) {
        self.state = State::Done;
        self.timer_at = NEVER;
        self.waits_for_pacing = false;
        self.selective = self.selective.map(|_| Selective::default());
    }

    /// The window in use, in segments.
    pub fn window_pkts(&self) -> f64 {
        self.control.window().min(f64::from(self.window_bytes / self.segment_bytes))
    }

    /// The smoothed RTT, if there is one.
    pub fn smoothed_rtt_ns(&self) -> Option<Ns> {
        self.rto.smoothed_ns()
    }

    /// When to call `handle_timeout`, or `NEVER`.
    pub fn timer_at(&self) -> Ns {
        let unfinished = self.state == State::Open && !self.is_finished();
        let waiting = unfinished && self.control.window() < 1.0 && self.next == self.una && self.spaced_until != 0;
        let spaced_at = if waiting || self.waits_for_pacing { self.spaced_until } else { NEVER };
        let selective_at = self.selective.as_ref().map_or(NEVER, Selective::timer_at);
        self.timer_at.min(spaced_at).min(selective_at).min(self.control_deadline())
    }

    fn control_deadline(&self) -> Ns {
        let wanted = self.event_mask & mask::TIMER != 0 && self.state == State::Open;
        if wanted { self.control.deadline() } else { NEVER }
    }

    /// Handles a segment from the peer.
    pub fn handle(&mut self, now: Ns, header: &TcpHeader) {
        if header.flags & flag::ACK == 0 || matches!(self.state, State::Closed | State::Done) {
            return;
        }
        let phantom = u32::from(header.flags & (flag::SYN | flag::FIN) != 0);
        self.peer_next = header.seq.wrapping_add(phantom);
        self.acknowledge |= phantom == 1;
        self.window_bytes = header.window_bytes;
        let opens = self.state == State::SynSent && header.flags & flag::SYN != 0;
        if opens {
            self.state = State::Open;
            self.acknowledge = false; // the first data segment acknowledges
            self.note_connected(now);
        }
        if self.ecn && header.flags & flag::ECE != 0 {
            self.handle_mark(now);
        }
        let acks_new = after(header.ack, self.una) && !after(header.ack, self.max);
        if self.selective.is_some() && !opens && phantom == 0 {
            if acks_new || header.ack == self.una {
                self.handle_selective(now, header);
            }
        } else if acks_new {
            self.note_delivered(now, header.ack);
            self.handle_new_ack(now, header.ack, opens);
        } else if header.ack == self.una && self.una != self.max && phantom == 0 {
            self.handle_duplicate(now);
        }
        if header.flags & flag::FIN != 0 && self.limit.is_some_and(|limit| after(self.una, limit)) {
            self.finish();
        }
    }

    /// Handles an expired timer.
    pub fn handle_timeout(&mut self, now: Ns) {
        if now >= self.control_deadline() {
            self.control.handle_timeout(now);
        }
        if self.selective.is_some() {
            self.handle_selective_timeout(now);
            return;
        }
        if now < self.timer_at {
            return;
        }
        self.timeouts += 1;
        self.control.timed_out(now, self.window_to_halve());
        self.rto.back_off();
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.mark_all_lost();
        }
        self.go_back();
        self.timed_out = true;
        self.timer_at = now + self.rto.timeout_ns();
    }

    /// The next segment to send, or None. Call this until None after each of the calls above.
    pub fn poll_transmit(&mut self, now: Ns) -> Option<TcpHeader> {
        if self.state == State::SynSent {
            return (self.next == self.una).then(|| self.emit(now, self.una, 0, flag::SYN));
        }
        if self.state == State::Open && self.selective.is_some() {
            if let Some((seq, end)) = self.poll_selective(now) {
                return Some(self.emit_data(now, seq, end));
            }
        } else if self.state == State::Open {
            if std::mem::take(&mut self.retransmit) {
                let end = self.una.wrapping_add(self.segment_at(self.una));
                return Some(self.emit_data(now, self.una, end));
            }
            if self.may_send(now) {
                let end = self.next.wrapping_add(self.segment_at(self.next));
                self.burst = self.burst.saturating_sub(1);
                return Some(self.emit_data(now, self.next, end));
            }
        }
        std::mem::take(&mut self.acknowledge).then(|| self.header(self.max, 0, flag::ACK))
    }

    /// The window to be halved, in segments.
    fn window_to_halve(&self) -> f64 {
        let window = self.window_pkts();
        if self.loss_recovery.whole_halves { 2.0 * f64::from(window as u32 / 2) } else { window }
    }

    /// Treats everything from the first unacknowledged octet on as lost.
    fn go_back(&mut self) {
        self.recover = self.max;
        self.in_recovery = false;
        self.inflation = 0.0;
        self.duplicates = 0;
        self.burst = u32::MAX;
        self.timed = None;
        self.next = self.una;
    }

    fn handle_new_ack(&mut self, now: Ns, ack: u32, opens: bool) {
        let timed = self.timed.take_if(|(end, _)| !before(ack, *end));
        let rtt_ns = timed.map(|(_, sent_at)| now - sent_at);
        if let Some((rtt_ns, (_, sent_at))) = rtt_ns.zip(timed) {
            self.rto.sample(sent_at, rtt_ns);
            self.rtt_samples_ns.push(rtt_ns);
        }
        let acked_pkts = f64::from(ack.wrapping_sub(self.una)) / f64::from(self.segment_bytes);
        self.una = ack;
        self.next = later(self.next, ack);
        let ack_info = Ack { now, acked_pkts, rtt_ns };
        self.control.observe(&ack_info);
        let mut restart_timer = true;
        let partial = self.in_recovery && before(ack, self.recover);
        if partial && self.control.recovery() == Recovery::NewReno {
            // Partial ACK: deflate by what was acknowledged, and add back the segment that is retransmitted now.
            restart_timer = !std::mem::replace(&mut self.had_partial, true) || !self.loss_recovery.impatient;
            self.inflation = if self.loss_recovery.deflates {
                (self.inflation - acked_pkts + 1.0).max(1.0 - self.control.window())
            } else {
                0.0
            };
            self.retransmit = true;
            self.burst = RECOVERY_BURST;
            self.report_delivery(now);
        } else {
            if std::mem::replace(&mut self.in_recovery, false) {
                self.control.recovered();
            }
            self.inflation = 0.0;
            self.duplicates = 0;
            self.burst = u32::MAX;
            if !opens {
                self.report_delivery(now);
                self.control.acknowledged(&ack_info); // the SYN's ACK does not open the window (RFC 5681 Sec. 3.1)
            }
        }
        if self.una == self.max {
            self.timer_at = NEVER;
        } else if restart_timer {
            self.timer_at = now + self.rto.timeout_ns();
        }
    }

    /// Handles a mark like a loss, at most once per window, but without a retransmission (RFC 3168 Sec. 6.1.2).
    fn handle_mark(&mut self, now: Ns) {
        if self.in_recovery || !after(self.una, self.answered_until) {
            return;
        }
        self.answered_until = self.max;
        self.reduced = true;
        self.control.lost(now, self.window_to_halve());
        self.control.recovered();
    }

    fn handle_duplicate(&mut self, now: Ns) {
        self.duplicates += 1;
        self.control.duplicate(now);
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.handle_duplicate(now);
        }
        self.react_to_duplicate(now);
        self.report_delivery(now);
    }

    fn react_to_duplicate(&mut self, now: Ns) {
        if self.in_recovery {
            self.inflation += 1.0;
            self.burst = RECOVERY_BURST;
        } else if self.duplicates < DUPLICATE_THRESHOLD {
            self.burst = u32::from(self.loss_recovery.limited_transmit);
        } else if self.duplicates == DUPLICATE_THRESHOLD && after(self.una, self.recover) {
            self.control.lost(now, self.window_to_halve());
            if self.control.recovery() == Recovery::GoBackN {
                if let Some(scoreboard) = &mut self.scoreboard {
                    scoreboard.mark_all_lost();
                }
                self.go_back();
                self.timer_at = now + self.rto.timeout_ns();
                return;
            }
            self.in_recovery = true;
            self.timed_out = false;
            self.had_partial = false;
            self.recover = self.max;
            self.inflation = f64::from(DUPLICATE_THRESHOLD);
            self.retransmit = true;
            self.timed = None;
            self.burst = RECOVERY_BURST;
            if !self.loss_recovery.impatient {
                self.timer_at = now + self.rto.timeout_ns();
            }
        } else if self.loss_recovery.always_inflates {
            self.inflation = f64::from(self.duplicates);
            self.burst = RECOVERY_BURST;
        }
    }

    fn may_send(&mut self, now: Ns) -> bool {
        let paces = self.control.pacing_pps().is_some();
        self.waits_for_pacing = false;
        if self.control.window() < 1.0 && now < self.spaced_until {
            return false;
        }
        let counts = self.loss_recovery.limited_transmit && !self.in_recovery;
        let limited = if counts { f64::from(self.duplicates.min(DUPLICATE_THRESHOLD - 1)) } else { 0.0 };
        let allowed_pkts = (self.control.window().max(1.0) + self.inflation + limited) as u32;
        let allowed = allowed_pkts.saturating_mul(self.segment_bytes).min(self.window_bytes);
        let length = self.segment_at(self.next);
        let fits = self.burst > 0
            && !self.is_finished()
            && !after(self.next.wrapping_add(length), self.una.wrapping_add(allowed));
        self.waits_for_pacing = fits && paces && now < self.spaced_until;
        fits && !self.waits_for_pacing
    }

    /// All data and the FIN have been sent.
    fn is_finished(&self) -> bool {
        self.limit.is_some_and(|limit| after(self.next, limit))
    }

    /// Length of the segment that starts at `seq`; 0 if only the FIN is left.
    fn segment_at(&self, seq: u32) -> u32 {
        let left = self.limit.map_or(u32::MAX, |limit| limit.wrapping_sub(seq));
        left.min(self.segment_bytes)
    }

    fn emit_data(&mut self, now: Ns, seq: u32, end: u32) -> TcpHeader {
        let fin = self.limit == Some(end);
        self.sent_pkts += 1;
        self.retransmitted_pkts += u64::from(before(seq, self.max));
        let new = !before(seq, self.max);
        let reduced = if new && std::mem::take(&mut self.reduced) { flag::CWR } else { 0 };
        let flags = flag::ACK | reduced | if fin { flag::FIN } else { 0 };
        self.note_sent(now, seq, end);
        self.emit(now, seq, end.wrapping_sub(seq), flags)
    }

    /// Tells scoreboard and control of a data segment, if they want to know.
    fn note_sent(&mut self, now: Ns, seq: u32, end: u32) {
        let Some(scoreboard) = &mut self.scoreboard else { return };
        if self.event_mask & mask::SENT != 0 {
            self.control.sent(now, scoreboard.in_flight(), scoreboard.is_app_limited());
        }
        scoreboard.note_sent(now, seq, end);
    }

    fn note_connected(&mut self, now: Ns) {
        let rtt_ns = self.timed.map(|(_, sent_at)| now - sent_at);
        if let Some((scoreboard, rtt_ns)) = self.scoreboard.as_mut().zip(rtt_ns) {
            scoreboard.note_rtt(rtt_ns);
        }
        self.control.connected(now, rtt_ns);
    }

    /// Notes what an ACK without selective reports delivers.
    fn note_delivered(&mut self, now: Ns, ack: u32) {
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.handle_ack(now, ack, &Sack::default());
        }
    }

    /// Gives the control its sample of the delivery rate, if it wants one.
    fn report_delivery(&mut self, now: Ns) {
        if self.event_mask & mask::DELIVERED == 0 {
            return;
        }
        let phase = if self.in_recovery { Phase::Recovery } else { self.phase_after_timeout() };
        let Some(scoreboard) = &mut self.scoreboard else { return };
        let mut sample = scoreboard.sample(now, phase);
        sample.smoothed_rtt_ns = self.rto.smoothed_ns();
        sample.next_send_at = self.spaced_until;
        self.control.delivered(&sample);
        if self.control.limits_itself() {
            scoreboard.limit_by_application();
        }
    }

    /// Until everything that was in flight at a timeout is acknowledged, the sender repairs losses.
    fn phase_after_timeout(&self) -> Phase {
        if self.timed_out && before(self.una, self.recover) { Phase::Loss } else { Phase::Open }
    }

    fn emit(&mut self, now: Ns, seq: u32, payload_bytes: u32, flags: u8) -> TcpHeader {
        let phantom = u32::from(flags & (flag::SYN | flag::FIN) != 0);
        let end = seq.wrapping_add(payload_bytes + phantom);
        if !before(seq, self.max) {
            if self.timed.is_none() {
                self.timed = Some((end, now));
            }
        } else if self.timed.is_some_and(|(timed_end, _)| !before(timed_end, seq)) {
            self.timed = None; // Karn: retransmitted segments and those after them are not timed
        }
        self.next = later(self.next, end);
        self.max = later(self.max, end);
        if self.timer_at == NEVER {
            self.timer_at = now + self.rto.timeout_ns();
        }
        self.acknowledge = false;
        self.space(now, payload_bytes);
        self.header(seq, payload_bytes, flags)
    }

    /// Sets when the next segment may be sent: 1/W round trips later if the window W is below one segment; at the
    /// control's rate if it has one. A segment that left late lets the next one leave up to half a gap early, as in
    /// Linux, so that the mean rate holds.
    fn space(&mut self, now: Ns, payload_bytes: u32) {
        let window = self.control.window();
        if window < 1.0 {
            let rtt_ns = self.rto.smoothed_ns().unwrap_or_else(|| self.rto.timeout_ns());
            self.spaced_until = now + (rtt_ns as f64 / window) as Ns;
        } else if let Some(rate_pps) = self.control.pacing_pps().filter(|_| payload_bytes > 0) {
            let share = f64::from(payload_bytes) / f64::from(self.segment_bytes);
            let gap_ns = (share * 1e9 / rate_pps) as Ns;
            let late_ns = now.saturating_sub(self.spaced_until);
            self.spaced_until = now.max(self.spaced_until) + gap_ns - (gap_ns / 2).min(late_ns);
        }
    }

    fn header(&self, seq: u32, payload_bytes: u32, flags: u8) -> TcpHeader {
        let ack = if flags & flag::ACK != 0 { self.peer_next } else { 0 };
        TcpHeader { seq, ack, flags, payload_bytes, window_bytes: 65_535, rtt_wired_ns: None, sack: Sack::default() }
    }
}
