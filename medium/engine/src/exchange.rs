//! The frame exchange of the DCF: RTS, CTS, data, ACK, and what happens if one of them is missing. Aggregates and their
//! Block Acks are in `aggregation`.
//!
//! Source: IEEE 802.11-2016 Sec. 10.3. `Rules` has the differences of ns-2.

use pacelab_air_config::MacAckRate;

use crate::access::{ExtraBackoff, FrameInService};
use crate::air::{Air, Failure, MacEvent};
use crate::block_ack::block_ack_bytes;
use crate::event_queue::{NEVER, Ns};
use crate::frame::{Arrival, Header, Kind};
use crate::ids::{PacketId, StationId};
use crate::mpdu_set::MpduSet;
use crate::phy::frame_bytes;
use crate::reception::overhear_all;
use crate::rules::{Overlap, ResponseTimeout, Rules};
use crate::station::{Phase, Response};
use crate::trace::TraceEvent;

impl Air {
    /// Handles a wake-up of the station: a frame for it ends, or one of its timers is due.
    pub(crate) fn on_wakeup(&mut self, id: StationId) {
        let now = self.now;
        self.catch_up(id, now);
        let station = &self.stations[id];
        if station.response.as_ref().is_some_and(|response| response.at <= now) {
            self.respond(id);
        } else if station.data_at <= now {
            self.follow_cts(id);
        } else if station.timeout_at <= now {
            self.time_out(id);
        } else if station.defer_at <= now {
            self.end_defer(id);
        } else {
            let backoff_ends = station.first_backoff_ends();
            if backoff_ends > now {
                // The countdown may have been frozen since this wake-up was scheduled. We reschedule here, not when it
                // froze: wake-up order breaks ties between stations whose countdowns end at the same instant.
                self.await_next(id, backoff_ends);
                return;
            }
            self.contend(id);
        }
        self.reschedule(id);
    }

    /// Handles a frame for this station, or a broadcast, that was decoded.
    pub(crate) fn receive(&mut self, id: StationId, now: Ns, header: Header, power_w: f64) {
        debug_assert_eq!(now, self.now, "a frame for a station is received at its end");
        self.end_wait_for_another(id, header.kind);
        match header.kind {
            Kind::Rts => self.receive_rts(id, now, header),
            Kind::Cts => self.receive_cts(id, now),
            Kind::Data => self.receive_data(id, now, header, power_w),
            Kind::Ack => self.receive_ack(id, now),
            Kind::BlockAckRequest => self.receive_block_ack_request(id, now, header),
            Kind::BlockAck => self.receive_block_ack(id, now, header),
            Kind::Aggregate => {} // see `receive_aggregate`
        }
    }

    /// A frame of another kind than the awaited one ends the wait.
    #[inline]
    pub(crate) fn end_wait_for_another(&mut self, id: StationId, kind: Kind) {
        if self.rules.response_timeout == ResponseTimeout::ReceptionStart {
            let awaited = self.stations[id].phase.awaited();
            if awaited.is_some_and(|awaited| !kind.answers(awaited)) {
                self.time_out(id);
            }
        }
    }

    fn receive_rts(&mut self, id: StationId, now: Ns, header: Header) {
        let station = &mut self.stations[id];
        if station.phase != Phase::Idle || station.response.is_some() {
            return;
        }
        let phy = &station.rules.phy;
        let cts_ns = phy.airtime_ns(frame_bytes::CTS, header.rate_bps);
        station.defer_at = NEVER;
        station.response = Some(Response {
            kind: Kind::Cts,
            to: header.from,
            duration_ns: station.rules.duration_field_ns(Ns::from(header.duration_ns) - phy.sifs_ns - cts_ns),
            rate_bps: header.rate_bps,
            at: now + phy.sifs_ns,
        });
    }

    fn receive_cts(&mut self, id: StationId, now: Ns) {
        let wait_ns = self.rules.data_after_cts_ns.unwrap_or(self.phy(id).sifs_ns);
        let station = &mut self.stations[id];
        if station.phase != Phase::WaitCts {
            return;
        }
        let category = station.category();
        category.short_retries = 0;
        if self.rules.early_reset {
            category.reset_cw();
        }
        if let Some(frame) = category.in_service.as_mut() {
            frame.cts_received = true;
        }
        station.stop_waiting(now);
        station.data_at = now + wait_ns;
    }

    fn receive_data(&mut self, id: StationId, now: Ns, header: Header, power_w: f64) {
        let at = now + self.phy(id).sifs_ns;
        let station = &mut self.stations[id];
        if header.to != StationId::BROADCAST {
            if header.uses_rts {
                if station.phase != Phase::WaitData {
                    return;
                }
                station.stop_waiting(now);
                if self.rules.early_reset {
                    station.category().short_retries = 0;
                    station.category().reset_cw();
                }
            } else if station.response.is_some() {
                return;
            }
            let rate_bps = self.ack_rate_bps(id, header.rate_bps);
            let station = &mut self.stations[id];
            // If ns-2 itself waits for an ACK, it sends this ACK only after that wait.
            let behind_wait = self.rules.response_needs_idle && station.phase != Phase::Idle;
            station.response = Some(Response {
                kind: Kind::Ack,
                to: header.from,
                duration_ns: 0,
                rate_bps,
                at: if behind_wait { NEVER } else { at },
            });
            if header.in_agreement {
                self.accept_mpdu(id, header.from, header.packet, header.number, power_w);
                return;
            }
            match station.last_numbers.iter_mut().find(|(from, _)| *from == header.from) {
                Some((_, number)) if *number == header.number => return,
                Some((_, number)) => *number = header.number,
                None => station.last_numbers.push((header.from, header.number)),
            }
        }
        self.mac_events.push_back(MacEvent::Received {
            station: id,
            from: header.from,
            packet: header.packet,
            power_w,
        });
    }

    fn receive_ack(&mut self, id: StationId, now: Ns) {
        let station = &mut self.stations[id];
        if station.phase != Phase::WaitAck {
            return;
        }
        station.stop_waiting(now);
        let Some(frame) = station.frame_in_service() else { return };
        if frame.uses_rts {
            station.category().long_retries = 0;
        } else {
            station.category().short_retries = 0;
        }
        station.counters.delivered_frames += 1;
        self.finish(id, frame, None);
        let extra = self.stations[id].extra_backoff;
        self.draw_longer(id, now, extra);
    }

    /// Handles the end of at least one countdown. The most urgent category with a packet sends. Other categories whose
    /// countdown ended at the same instant treat that as a collision (IEEE 802.11-2016 Sec. 10.22.2.4).
    fn contend(&mut self, id: StationId) {
        let now = self.now;
        let mut winner = None;
        for index in (0..self.stations[id].categories.len()).rev() {
            let station = &mut self.stations[id];
            if station.backoff_ends(&station.categories[index]) > now {
                continue;
            }
            station.set_backoff(index, None);
            let Some(frame) = station.categories[index].in_service else { continue };
            if winner.is_none() {
                winner = Some(index);
            } else {
                station.serving = index;
                if frame.uses_rts {
                    self.fail_rts(id, now, frame);
                } else {
                    self.fail_data(id, now, frame);
                }
            }
        }
        let Some(index) = winner else { return };
        let station = &mut self.stations[id];
        station.serving = index;
        station.freeze(now);
        let category = &station.categories[index];
        let Some(mut frame) = category.in_service else { return };
        if category.serves_agreement() {
            frame = self.aggregate(id, index, frame);
        }
        if frame.uses_rts && !frame.cts_received {
            self.send_rts(id, &frame);
        } else {
            self.send_data(id, &frame);
        }
    }

    fn send_rts(&mut self, id: StationId, frame: &FrameInService) {
        let phy = self.phy(id);
        let control = self.control_rate_bps(id, frame.rate_bps);
        let cts_ns = phy.airtime_ns(frame_bytes::CTS, control);
        let data_ns = phy.airtime_ns(frame.frame_bytes, frame.rate_bps);
        let ack_bytes =
            if frame.kind == Kind::Aggregate { block_ack_bytes(&self.config.radio) } else { frame_bytes::ACK };
        let ack_ns = phy.airtime_ns(ack_bytes, self.ack_rate_bps(id, frame.rate_bps));
        let duration_ns = self.rules.duration_field_ns(3 * phy.sifs_ns + cts_ns + data_ns + ack_ns);
        self.stations[id].phase = Phase::WaitCts;
        self.count_attempt(id);
        self.stations[id].counters.rts_sent += 1;
        let end = self.send(id, Kind::Rts, frame, duration_ns, frame_bytes::RTS, control);
        let response_timeout_at = response_timeout_at(self.rules_of(id), end, Kind::Cts, cts_ns);
        self.stations[id].timeout_at = response_timeout_at;
    }

    fn send_data(&mut self, id: StationId, frame: &FrameInService) {
        if frame.kind != Kind::Data {
            self.send_under_block_ack(id, frame);
            return;
        }
        let phy = self.phy(id);
        let ack_ns = phy.airtime_ns(frame_bytes::ACK, self.ack_rate_bps(id, frame.rate_bps));
        let unicast = frame.packet.to.is_some();
        let duration_ns = if unicast { self.rules.duration_field_ns(phy.sifs_ns + ack_ns) } else { 0 };
        let station = &mut self.stations[id];
        station.phase = if unicast { Phase::WaitAck } else { Phase::Broadcast };
        station.counters.data_sent += 1;
        if let Some(originator) = &mut station.category().block_ack {
            originator.mpdus.iter_mut().for_each(|mpdu| mpdu.sent += 1);
        }
        if !frame.cts_received {
            self.count_attempt(id);
        }
        let end = self.send(id, Kind::Data, frame, duration_ns, frame.frame_bytes, frame.rate_bps);
        let timeout_at = if unicast { response_timeout_at(self.rules_of(id), end, Kind::Ack, ack_ns) } else { end };
        self.stations[id].timeout_at = timeout_at;
    }

    /// Handles the end of the DIFS timer (`Rules::defer_timer`): the packet is sent if the medium is idle now.
    fn end_defer(&mut self, id: StationId) {
        let now = self.now;
        let station = &mut self.stations[id];
        station.defer_at = NEVER;
        let Some(frame) = station.frame_in_service() else { return };
        if !station.is_idle(now) {
            station.category().widen_cw();
            self.draw(id, now);
        } else if frame.uses_rts {
            self.send_rts(id, &frame);
        } else {
            self.send_data(id, &frame);
        }
    }

    /// Sends the data after the CTS, if the preset allows it.
    fn follow_cts(&mut self, id: StationId) {
        let now = self.now;
        let station = &mut self.stations[id];
        station.data_at = NEVER;
        let Some(frame) = station.frame_in_service() else { return };
        if self.rules.response_needs_idle && !station.is_idle(now) {
            // ns-2 sends a new RTS with the window doubled, and counts no retry.
            let category = station.category();
            category.in_service = Some(FrameInService { cts_received: false, ..frame });
            category.widen_cw();
            self.tracer.note(now, id, TraceEvent::HoldData, frame.packet.to, 0);
            self.draw(id, now);
            return;
        }
        self.send_data(id, &frame);
    }

    /// Sends the CTS or ACK a SIFS after an RTS or data, if the preset allows it.
    fn respond(&mut self, id: StationId) {
        let now = self.now;
        let station = &mut self.stations[id];
        let Some(response) = station.response.take() else { return };
        if response.kind == Kind::Cts {
            let allowed = if self.rules.response_needs_idle { station.is_idle(now) } else { station.nav <= now };
            if !allowed {
                self.tracer.note(now, id, TraceEvent::RefuseCts, Some(response.to), 0);
                return;
            }
        }
        station.freeze(now);
        let rules = &station.rules;
        let kind = response.kind;
        let bytes = match kind {
            Kind::Cts => frame_bytes::CTS,
            Kind::BlockAck => block_ack_bytes(&self.config.radio),
            _ => frame_bytes::ACK,
        };
        let airtime_ns = rules.phy.airtime_ns(bytes, response.rate_bps);
        let header = Header {
            kind,
            from: id,
            to: response.to,
            duration_ns: response.duration_ns as u32,
            packet: PacketId(0),
            number: if kind == Kind::BlockAck { station.block_ack_start } else { 0 },
            uses_rts: false,
            in_agreement: false,
            rate_bps: response.rate_bps,
        };
        if kind == Kind::Cts {
            station.phase = Phase::WaitData;
            station.counters.cts_sent += 1;
            // The rate of the ACK depends on the rate of the data, which is not known yet. The fastest ACK leaves the
            // data the most time.
            let ack_rate_bps = match self.config.radio.mac_ack_rate {
                MacAckRate::Basic => self.config.radio.basic_rate_bps,
                _ => *rules.phy.rates_bps().last().unwrap_or(&self.config.radio.basic_rate_bps),
            };
            let ack_ns = rules.phy.airtime_ns(frame_bytes::ACK, ack_rate_bps);
            // ns-2 takes the data's airtime from the announced duration: without two SIFSs and the ACK.
            let data_ns = match rules.response_timeout {
                ResponseTimeout::Announced { .. } => response.duration_ns,
                _ => response.duration_ns.saturating_sub(2 * rules.phy.sifs_ns + ack_ns),
            };
            station.timeout_at = response_timeout_at(rules, now + airtime_ns, Kind::Data, data_ns);
        } else {
            station.phase = Phase::SendAck;
            station.counters.ack_sent += 1;
            station.timeout_at = now + airtime_ns;
        }
        self.start_transmission(id, header, airtime_ns);
    }

    fn time_out(&mut self, id: StationId) {
        let now = self.now;
        let station = &mut self.stations[id];
        if station.phase.awaited().is_some() && self.rules.response_timeout == ResponseTimeout::ReceptionStart {
            if let Some(lock) = station.lock.filter(|lock| !lock.spoiled) {
                station.timeout_at = lock.arrival.end(); // a frame is being received: decide when it ends
                return;
            }
        }
        station.timeout_at = NEVER;
        let phase = std::mem::replace(&mut station.phase, Phase::Idle);
        station.idle_since = station.idle_since.max(now);
        match (phase, station.frame_in_service()) {
            (Phase::WaitCts, Some(frame)) => self.fail_rts(id, now, frame),
            (Phase::WaitAck, Some(frame)) => self.fail_data(id, now, frame),
            (Phase::WaitBlockAck, Some(frame)) => self.miss_block_ack(id, now, frame),
            (Phase::Broadcast, Some(frame)) => {
                self.finish(id, frame, None);
                self.draw(id, now);
            }
            _ => {}
        }
        let sifs_ns = self.phy(id).sifs_ns;
        let station = &mut self.stations[id];
        if let Some(response) = station.response.as_mut().filter(|response| response.at == NEVER) {
            response.at = now + sifs_ns;
        }
        let lost =
            station.frame_in_service().is_some() && station.category().backoff().is_none() && station.data_at == NEVER;
        if lost && self.rules.defer_timer {
            station.defer_at = now + self.rules.phy.difs_ns();
        } else if lost {
            self.draw(id, now);
        }
    }

    fn fail_rts(&mut self, id: StationId, now: Ns, frame: FrameInService) {
        let limit = self.config.radio.short_retry_limit;
        let rules = self.rules;
        let station = &mut self.stations[id];
        station.counters.rts_failures += 1;
        let category = station.category();
        category.short_retries += 1;
        if category.short_retries >= limit {
            category.short_retries = 0;
            if !rules.long_retries_survive {
                category.long_retries = 0;
            }
            self.give_up(id, now, frame, Failure::Rts);
        } else {
            self.retry(id, now, frame);
        }
    }

    fn fail_data(&mut self, id: StationId, now: Ns, frame: FrameInService) {
        let radio = &self.config.radio;
        let more = self.rules.more_data_attempts;
        let (short, long) = (radio.short_retry_limit + more, radio.long_retry_limit + more);
        let station = &mut self.stations[id];
        station.counters.data_failures += 1;
        let category = station.category();
        let (retries, limit) =
            if frame.uses_rts { (&mut category.long_retries, long) } else { (&mut category.short_retries, short) };
        *retries += 1;
        if *retries >= limit {
            *retries = 0;
            self.give_up(id, now, frame, Failure::Data);
        } else {
            self.retry(id, now, frame);
        }
    }

    pub(crate) fn retry(&mut self, id: StationId, now: Ns, frame: FrameInService) {
        let station = &mut self.stations[id];
        station.counters.retries += 1;
        let category = station.category();
        let mpdu = category.block_ack.as_ref().and_then(|originator| originator.mpdus.first());
        let attempts = mpdu.map_or(frame.attempts, |mpdu| mpdu.attempts);
        let chain = frame.packet.rates.filter(|_| frame.kind != Kind::BlockAckRequest);
        let rate_bps = chain.map_or(frame.rate_bps, |chain| chain.rate_bps(attempts));
        category.in_service = Some(FrameInService { cts_received: false, rate_bps, ..frame });
        category.widen_cw();
        let count = category.short_retries.max(category.long_retries);
        self.tracer.note(now, id, TraceEvent::Retry, frame.packet.to, u64::from(count));
        self.draw(id, now);
    }

    pub(crate) fn give_up(&mut self, id: StationId, now: Ns, frame: FrameInService, failure: Failure) {
        let station = &mut self.stations[id];
        if !station.category().serves_agreement() {
            let (counter, event) = match failure {
                Failure::Rts => (&mut station.counters.drops_rts, TraceEvent::DropRts),
                Failure::Data => (&mut station.counters.drops_data, TraceEvent::DropData),
            };
            *counter += 1;
            self.tracer.note(now, id, event, frame.packet.to, u64::from(frame.packet.id.0));
        }
        self.finish(id, frame, Some(failure));
        if self.rules.immediate_access {
            self.draw(id, now); // the standard requires a backoff here; ns-2 draws one for the next packet
        }
    }

    fn finish(&mut self, id: StationId, frame: FrameInService, failure: Option<Failure>) {
        let station = &mut self.stations[id];
        let index = station.serving;
        let category = station.category();
        category.reset_cw();
        let under_block_ack = category.serves_agreement();
        category.in_service = None;
        category.wants_refill = true;
        self.refills.push((id, index));
        if under_block_ack && self.finish_under_block_ack(id, &frame, failure) {
            return;
        }
        self.mac_events.push_back(MacEvent::Done {
            station: id,
            packet: frame.packet,
            attempts: frame.attempts,
            failure,
        });
    }

    fn draw(&mut self, id: StationId, now: Ns) {
        self.draw_longer(id, now, ExtraBackoff::default());
    }

    pub(crate) fn draw_longer(&mut self, id: StationId, now: Ns, extra: ExtraBackoff) {
        let station = &mut self.stations[id];
        let slots = station.draw_backoff(station.serving, now, extra);
        self.tracer.note(now, id, TraceEvent::Backoff, None, u64::from(slots));
    }

    pub(crate) fn count_attempt(&mut self, id: StationId) {
        let category = self.stations[id].category();
        if let Some(frame) = category.in_service.as_mut() {
            frame.attempts += 1;
        }
        if let Some(originator) = &mut category.block_ack {
            originator.mpdus.iter_mut().for_each(|mpdu| mpdu.attempts += 1);
        }
    }

    pub(crate) fn ack_rate_bps(&self, id: StationId, data_rate_bps: u32) -> u32 {
        match self.config.radio.mac_ack_rate {
            MacAckRate::Basic => self.config.radio.basic_rate_bps,
            MacAckRate::Data => data_rate_bps,
            MacAckRate::Mandatory | MacAckRate::MandatoryAck => self.phy(id).mandatory_rate_bps(data_rate_bps),
        }
    }

    /// Rate of the RTS and CTS before data at this rate.
    pub(crate) fn control_rate_bps(&self, id: StationId, data_rate_bps: u32) -> u32 {
        match self.config.radio.mac_ack_rate {
            MacAckRate::Mandatory => self.phy(id).mandatory_rate_bps(data_rate_bps),
            _ => self.config.radio.basic_rate_bps,
        }
    }

    /// Sends a frame of the packet in service. Returns when the frame ends.
    pub(crate) fn send(
        &mut self,
        id: StationId,
        kind: Kind,
        frame: &FrameInService,
        duration_ns: Ns,
        bytes: u32,
        rate_bps: u32,
    ) -> Ns {
        let header = Header {
            kind,
            from: id,
            to: frame.packet.to.unwrap_or(StationId::BROADCAST),
            duration_ns: duration_ns as u32,
            packet: frame.packet.id,
            number: frame.number,
            uses_rts: frame.uses_rts,
            in_agreement: self.stations[id].category().serves_agreement(),
            rate_bps,
        };
        let airtime_ns = self.phy(id).airtime_ns(bytes, rate_bps);
        self.start_transmission(id, header, airtime_ns);
        self.now + airtime_ns
    }

    /// Puts a frame on the air: adds it to the pending frames of every station that senses it.
    fn start_transmission(&mut self, id: StationId, header: Header, airtime_ns: Ns) {
        let now = self.now;
        let station = &mut self.stations[id];
        station.send_start = now;
        station.send_end = now + airtime_ns;
        station.counters.airtime_ns += airtime_ns;
        match self.rules.overlap {
            Overlap::PairwiseFirstLock => station.lock.iter_mut().for_each(|lock| lock.spoiled = true),
            _ => station.lock = None, // the reception is abandoned; the energy stays on the medium
        }
        let what = match header.kind {
            Kind::Rts => TraceEvent::SendRts,
            Kind::Cts => TraceEvent::SendCts,
            Kind::Data => TraceEvent::SendData,
            Kind::Ack => TraceEvent::SendAck,
            Kind::Aggregate => TraceEvent::SendAggregate,
            Kind::BlockAckRequest => TraceEvent::SendBlockAckRequest,
            Kind::BlockAck => TraceEvent::SendBlockAck,
        };
        let peer = (header.to != StationId::BROADCAST).then_some(header.to);
        self.tracer.note(now, id, what, peer, airtime_ns);
        if self.tracer.on {
            self.trace_frame(id, &header, airtime_ns);
        }
        let monitored = matches!(header.kind, Kind::Data | Kind::Aggregate) && !self.monitors.is_empty();
        if self.phys_differ || monitored || self.rows[id].fades() || !self.overhears {
            self.reach::<true>(id, &header, airtime_ns as u32, monitored);
        } else {
            self.reach::<false>(id, &header, airtime_ns as u32, false);
        }
    }

    /// Adds a frame to the pending frames of each hearer. Compiled twice, because most networks need none of the four:
    /// `VARIED` if links fade, if the physical layers differ, if the frame is `monitored`, or without `Air::overhears`.
    #[inline(always)]
    fn reach<const VARIED: bool>(&mut self, id: StationId, header: &Header, airtime_ns: u32, monitored: bool) {
        let now = self.now;
        // The NAV of a station that cannot decode the frame, of one that can, and of its receiver.
        let eifs_nav_ns = self.stations[id].eifs_nav_ns as u32;
        let mut holds_ns = [eifs_nav_ns, self.rules.nav_ns(header.duration_ns.into()) as u32, 0];
        let hearers = self.rows[id].lend();
        for (place, hearer) in hearers.iter().enumerate() {
            let start = now + hearer.delay_ns;
            // Draw only for links that fade, so that runs without fading keep their draws.
            let drawn = if VARIED && hearer.fades { self.draw_fading(id, place) } else { None };
            if VARIED && hearer.fades && drawn.is_none() {
                continue;
            }
            let mut receiver = &mut self.stations[hearer.to];
            if !overhear_all(receiver, !VARIED || self.overhears, now) {
                self.apply(hearer.to, now);
                receiver = &mut self.stations[hearer.to];
            }
            let (power_w, mut decodable) = drawn.unwrap_or((hearer.power_w, hearer.decodable));
            if VARIED && self.phys_differ {
                let modulation = self.stations[id].rules.phy.modulation;
                receiver = &mut self.stations[hearer.to];
                holds_ns[0] = receiver.eifs_nav_ns as u32;
                decodable &= receiver.understands(modulation, header.rate_bps);
            }
            // Avoid branches on common paths: which stations a frame reaches is hard to predict.
            let addressed = decodable & header.is_for(hearer.to);
            let hold_ns = holds_ns[usize::from(decodable) + usize::from(addressed)];
            let loss = hearer.loss;
            // A monitor is woken at the end of the frame, while the sender still has the packet.
            let addressed = addressed | (VARIED && monitored && decodable && self.monitors.contains(&hearer.to));
            receiver.pending.add(|| Arrival {
                start,
                airtime_ns,
                hold_ns,
                power_w,
                decodable,
                addressed,
                loss,
                header: *header,
            });
            if addressed {
                self.ensure(hearer.to, start + Ns::from(airtime_ns));
            }
        }
        self.rows[id].give_back(hearers);
    }

    #[inline(never)]
    fn trace_frame(&mut self, id: StationId, header: &Header, airtime_ns: Ns) {
        let bitmap = match header.kind {
            Kind::BlockAck => self.stations[id]
                .recipient(header.to, header.number)
                .bitmap(header.number, self.config.radio.high_throughput().window()),
            _ => MpduSet::default(),
        };
        self.tracer.sent(self.now, airtime_ns, header, bitmap);
        if header.kind == Kind::Aggregate {
            self.tracer.split(self.stations[id].sent_aggregates.get(header.number));
        }
    }

    /// The power of one frame over a link that fades, and whether the frame can be decoded. None: it is not sensed.
    #[inline(never)]
    fn draw_fading(&mut self, id: StationId, place: usize) -> Option<(f64, bool)> {
        let link = &self.rows[id].links()[place];
        link.fading.as_ref()?.draw(link.power_w, &mut self.fading)
    }
}

/// When to stop waiting for a response of `response_ns` to a frame that ends at `end`. For data see
/// `ResponseTimeout::Announced`.
pub(crate) fn response_timeout_at(rules: &Rules, end: Ns, awaited: Kind, response_ns: Ns) -> Ns {
    let phy = &rules.phy;
    match rules.response_timeout {
        ResponseTimeout::Announced { cts_ns, .. } if awaited == Kind::Cts => end + phy.sifs_ns + response_ns + cts_ns,
        ResponseTimeout::Announced { ack_ns, .. } if awaited == Kind::Ack => end + phy.sifs_ns + response_ns + ack_ns,
        ResponseTimeout::Announced { .. } => end + response_ns,
        ResponseTimeout::WholeResponse(slack_ns) => end + phy.sifs_ns + response_ns + slack_ns,
        ResponseTimeout::ReceptionStart => end + phy.sifs_ns + phy.slot_ns + phy.preamble_ns,
    }
}
