//! Loss recovery with selective acknowledgements.
//!
//! The window limits the segments in flight, not the octets beyond the first unacknowledged one. A loss is found by
//! time (RACK, RFC 8985); lost segments are sent first. A tail loss probe (RFC 8985 Sec. 7) asks for an ACK after two
//! round trips of silence. After a timeout everything that was not delivered counts as lost. In a recovery the window
//! shrinks to the control's window in proportion to what is delivered (PRR, RFC 6937), unless the control gets samples of
//! the delivery rate and decides itself.

use pacelab_engine::{NEVER, Ns};

use crate::packet::TcpHeader;
use crate::tcp::congestion::{Ack, Phase, mask};
use crate::tcp::selective::{Reduction, Selective};
use crate::tcp::{after, before, later};

use super::{Sender, State};

/// Time that a probe waits in addition to two round trips: two ticks of Linux's clock at 100 Hz.
const PROBE_SLACK_NS: Ns = 20_000_000;
/// Further time that a probe waits if only one segment is in flight, because its ACK may be delayed.
const DELAYED_ACK_NS: Ns = 200_000_000;

impl Sender {
    /// Handles an ACK of data.
    pub(super) fn handle_selective(&mut self, now: Ns, header: &TcpHeader) {
        let ack = header.ack;
        let Some(scoreboard) = &mut self.scoreboard else { return };
        let news = scoreboard.handle_ack(now, ack, &header.sack);
        let rtt_ns = if news { self.sample_round_trip(now) } else { None };
        let acked_pkts = f64::from(ack.wrapping_sub(self.una)) / f64::from(self.segment_bytes);
        let advances = after(ack, self.una);
        self.una = ack;
        self.next = later(self.next, ack);
        let ack_info = Ack { now, acked_pkts, rtt_ns };
        if advances {
            self.control.observe(&ack_info);
        } else if news {
            self.control.duplicate(now);
        }
        self.find_losses(now);
        let repairs = before(self.una, self.recover) && (self.in_recovery || self.timed_out);
        if !repairs && (self.in_recovery || self.timed_out) {
            if std::mem::take(&mut self.in_recovery) {
                self.control.recovered();
            }
            self.timed_out = false;
        }
        self.reduce_window(advances);
        self.report_delivery(now);
        if advances && !self.in_recovery {
            self.control.acknowledged(&ack_info);
        }
        let Some(selective) = &mut self.selective else { return };
        selective.probe_end = selective.probe_end.filter(|&end| before(ack, end));
        if advances {
            self.restart_timers(now);
        }
    }

    /// One sample each round trip for the retransmission timer, of a segment that was sent once.
    fn sample_round_trip(&mut self, now: Ns) -> Option<Ns> {
        let rtt_ns = self.scoreboard.as_ref()?.sample(now, Phase::Open).rtt_ns?;
        let selective = self.selective.as_mut()?;
        let sent_at = now - rtt_ns;
        if sent_at < selective.sampled_at {
            return None;
        }
        selective.sampled_at = now;
        self.rto.sample(sent_at, rtt_ns);
        self.rtt_samples_ns.push(rtt_ns);
        Some(rtt_ns)
    }

    /// Marks segments as lost, and enters recovery with the first one.
    fn find_losses(&mut self, now: Ns) {
        let repairs = self.in_recovery || (self.timed_out && before(self.una, self.recover));
        let (prior_pkts, to_halve) = (self.window_pkts() as u32, self.window_to_halve());
        let Some((scoreboard, selective)) = self.scoreboard.as_mut().zip(self.selective.as_mut()) else { return };
        selective.overdue_at = scoreboard.mark_lost(now, repairs).unwrap_or(NEVER);
        if !repairs && scoreboard.has_lost() {
            self.in_recovery = true;
            self.timed_out = false;
            self.recover = self.max;
            selective.probe_at = NEVER;
            self.control.lost(now, to_halve);
            let target_pkts = self.control.window().max(1.0) as u32;
            selective.reduction = (self.event_mask & mask::DELIVERED == 0).then(|| Reduction {
                prior_pkts,
                target_pkts,
                window_pkts: scoreboard.in_flight() + 1,
                ..Reduction::default()
            });
        }
    }

    /// Adapts the window of a recovery to an ACK.
    fn reduce_window(&mut self, advances: bool) {
        let Some((scoreboard, selective)) = self.scoreboard.as_ref().zip(self.selective.as_mut()) else { return };
        if !self.in_recovery {
            selective.reduction = None;
        } else if let Some(reduction) = &mut selective.reduction {
            let is_clean = advances && scoreboard.newly_lost_pkts() == 0;
            reduction.handle_ack(scoreboard.newly_delivered_pkts(), scoreboard.in_flight(), is_clean);
        }
    }

    /// Restarts the retransmission timer and the probe.
    fn restart_timers(&mut self, now: Ns) {
        let Some((scoreboard, selective)) = self.scoreboard.as_ref().zip(self.selective.as_mut()) else { return };
        selective.probe_at = NEVER;
        if self.una == self.max {
            self.timer_at = NEVER;
            return;
        }
        self.timer_at = now + self.rto.timeout_ns();
        let repairs = self.in_recovery || self.timed_out;
        if repairs || scoreboard.has_sacked() || selective.probe_end.is_some() {
            return;
        }
        if let Some(rtt_ns) = self.rto.smoothed_ns() {
            let slack_ns = if scoreboard.in_flight() == 1 { DELAYED_ACK_NS } else { PROBE_SLACK_NS };
            selective.probe_at = (now + 2 * rtt_ns + slack_ns).min(self.timer_at);
        }
    }

    /// Handles an expired timer: of a segment that is overdue, of a probe, or of a retransmission.
    pub(super) fn handle_selective_timeout(&mut self, now: Ns) {
        let Some(mut selective) = self.selective else { return };
        if self.state == State::Open && now >= selective.overdue_at {
            self.find_losses(now);
            self.timer_at = now + self.rto.timeout_ns();
        } else if self.state == State::Open && now >= selective.probe_at {
            selective.probe_at = NEVER;
            selective.probes = true;
            selective.probe_end = Some(self.max);
            self.selective = Some(selective);
            self.timer_at = now + self.rto.timeout_ns();
        } else if now >= self.timer_at {
            self.timeouts += 1;
            self.control.timed_out(now, self.window_to_halve());
            self.rto.back_off();
            self.timer_at = now + self.rto.timeout_ns();
            if self.state != State::Open {
                self.next = self.una; // the SYN again
                self.timed = None;
                return;
            }
            let sampled_at = selective.sampled_at;
            self.selective = Some(Selective { sampled_at, ..Selective::default() });
            if let Some(scoreboard) = &mut self.scoreboard {
                scoreboard.mark_all_lost();
            }
            self.in_recovery = false;
            self.timed_out = true;
            self.recover = self.max;
        }
    }

    /// The next segment to send, as (first octet, end): a lost one, or a new one, or a probe.
    pub(super) fn poll_selective(&mut self, now: Ns) -> Option<(u32, u32)> {
        self.waits_for_pacing = false;
        let scoreboard = self.scoreboard.as_mut()?;
        let reduction = self.selective.as_ref()?.reduction;
        let window_pkts = reduction.map_or(self.control.window().max(1.0) as u32, |reduction| reduction.window_pkts);
        let has_room = scoreboard.in_flight() < window_pkts;
        let lost = scoreboard.next_lost();
        let new = self.new_segment();
        let selective = self.selective.as_mut()?;
        if std::mem::take(&mut selective.probes) {
            return new.or_else(|| self.scoreboard.as_ref()?.last());
        }
        if !has_room {
            return None;
        }
        let found = lost.or(new);
        if found.is_none() && self.is_finished() {
            self.scoreboard.as_mut()?.limit_by_application();
        }
        let is_paced = self.control.pacing_pps().is_some() || self.control.window() < 1.0;
        if found.is_some() && is_paced && now < self.spaced_until {
            self.waits_for_pacing = true;
            return None;
        }
        if found.is_some() {
            if let Some(reduction) = self.selective.as_mut().and_then(|selective| selective.reduction.as_mut()) {
                reduction.sent_pkts += 1;
            }
        }
        if found.is_some() && (lost.is_none() || lost.map(|(seq, _)| seq) == Some(self.una)) {
            self.restarts_on_send(now, lost.is_none());
        }
        found
    }

    /// A new segment, or the first one again, restarts the timers.
    fn restarts_on_send(&mut self, now: Ns, is_new: bool) {
        if !is_new {
            self.timer_at = now + self.rto.timeout_ns();
        } else if self.selective.is_some_and(|selective| selective.probe_at != NEVER) || self.una == self.max {
            self.restart_timers(now);
        }
    }

    /// The next new segment that the receiver's window admits.
    fn new_segment(&self) -> Option<(u32, u32)> {
        let end = self.next.wrapping_add(self.segment_at(self.next));
        let fits = !after(end, self.una.wrapping_add(self.window_bytes));
        (fits && !self.is_finished()).then_some((self.next, end))
    }
}
