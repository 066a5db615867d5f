//! The frame exchange of the DCF: RTS, CTS, data, ACK, and what happens when one of them does not come.
//!
//! IEEE 802.11-2016 Sec. 10.3; where ns-2 differs, `Rules` says so.

use pacelab_air_config::MacAckRate;

use crate::access::{Current, ExtraBackoff};
use crate::agenda::{NEVER, Ns};
use crate::air::{Air, Failure, Notice};
use crate::frame::{Arrival, BROADCAST, Header, Kind};
use crate::phy::frame_bytes;
use crate::reception::overhear_all;
use crate::rules::{Overlap, Patience, Rules};
use crate::station::{Phase, Response};
use crate::tap::Happening;

impl Air {
    /// The station's moment has come: a frame for it ends, or one of its timers is due.
    pub(crate) fn attend(&mut self, station: u32) {
        let now = self.now;
        self.catch_up(station, now);
        let here = &self.stations[station as usize];
        if here.response.as_ref().is_some_and(|response| response.at <= now) {
            self.respond(station);
        } else if here.data_at <= now {
            self.follow_cts(station);
        } else if here.timeout_at <= now {
            self.time_out(station);
        } else if here.defer_at <= now {
            self.end_defer(station);
        } else {
            let backoff_ends = here.first_backoff_ends();
            if backoff_ends > now {
                // Often a countdown was held up since it was given this moment. It is not put off before: the order of
                // these looks is that of stations that come to send in the same moment.
                self.await_next(station, backoff_ends);
                return;
            }
            self.contend(station);
        }
        self.reschedule(station);
    }

    /// A frame for this station, or a broadcast, was decoded.
    pub(crate) fn receive(&mut self, station: u32, now: Ns, header: Header, power_w: f64) {
        debug_assert_eq!(now, self.now, "a frame for a station is received at its end");
        if self.rules.patience == Patience::ReceptionStart {
            let awaited = self.stations[station as usize].phase.awaited();
            if awaited.is_some_and(|kind| kind != header.kind) {
                self.time_out(station);
            }
        }
        match header.kind {
            Kind::Rts => self.receive_rts(station, now, header),
            Kind::Cts => self.receive_cts(station, now),
            Kind::Data => self.receive_data(station, now, header, power_w),
            Kind::Ack => self.receive_ack(station, now),
        }
    }

    fn receive_rts(&mut self, station: u32, now: Ns, header: Header) {
        let here = &mut self.stations[station as usize];
        if here.phase != Phase::Idle || here.response.is_some() {
            return;
        }
        let phy = &here.rules.phy;
        let cts_ns = phy.airtime_ns(frame_bytes::CTS, header.rate_bps);
        here.defer_at = NEVER;
        here.response = Some(Response {
            is_cts: true,
            to: header.from,
            duration_ns: here.rules.written_ns(Ns::from(header.duration_ns) - phy.sifs_ns - cts_ns),
            rate_bps: header.rate_bps,
            at: now + phy.sifs_ns,
        });
    }

    fn receive_cts(&mut self, station: u32, now: Ns) {
        let wait_ns = self.rules.data_after_cts_ns.unwrap_or(self.phy(station).sifs_ns);
        let here = &mut self.stations[station as usize];
        if here.phase != Phase::WaitCts {
            return;
        }
        let access = here.access();
        access.short_retries = 0;
        if self.rules.early_reset {
            access.reset_cw();
        }
        if let Some(current) = access.current.as_mut() {
            current.cleared = true;
        }
        here.stop_waiting(now);
        here.data_at = now + wait_ns;
    }

    fn receive_data(&mut self, station: u32, now: Ns, header: Header, power_w: f64) {
        let at = now + self.phy(station).sifs_ns;
        let here = &mut self.stations[station as usize];
        if header.to != BROADCAST {
            if header.protected {
                if here.phase != Phase::WaitData {
                    return;
                }
                here.stop_waiting(now);
                if self.rules.early_reset {
                    here.access().short_retries = 0;
                    here.access().reset_cw();
                }
            } else if here.response.is_some() {
                return;
            }
            let rate_bps = self.ack_rate_bps(station, header.rate_bps);
            let here = &mut self.stations[station as usize];
            // ns-2 sends an ACK that falls into its own wait for an ACK only after that.
            let behind_wait = self.rules.response_needs_idle && here.phase != Phase::Idle;
            here.response = Some(Response {
                is_cts: false,
                to: header.from,
                duration_ns: 0,
                rate_bps,
                at: if behind_wait { NEVER } else { at },
            });
            match here.last_numbers.iter_mut().find(|(from, _)| *from == header.from) {
                Some((_, number)) if *number == header.number => return,
                Some((_, number)) => *number = header.number,
                None => here.last_numbers.push((header.from, header.number)),
            }
        }
        self.notices.push_back(Notice::Received { station, from: header.from, packet: header.packet, power_w });
    }

    fn receive_ack(&mut self, station: u32, now: Ns) {
        let here = &mut self.stations[station as usize];
        if here.phase != Phase::WaitAck {
            return;
        }
        here.stop_waiting(now);
        let Some(current) = here.current() else { return };
        if current.protected {
            here.access().long_retries = 0;
        } else {
            here.access().short_retries = 0;
        }
        here.counters.delivered_frames += 1;
        self.finish(station, current, None);
        let extra = self.stations[station as usize].extra_backoff;
        self.draw_longer(station, now, extra);
    }

    /// At least one countdown has ended: the most urgent category with a packet sends; others that ended in the same
    /// moment take it for a collision (IEEE 802.11-2016 Sec. 10.22.2.4).
    fn contend(&mut self, station: u32) {
        let now = self.now;
        let mut winner = None;
        for index in (0..self.stations[station as usize].accesses.len()).rev() {
            let here = &mut self.stations[station as usize];
            if here.backoff_ends(&here.accesses[index]) > now {
                continue;
            }
            here.set_backoff(index, None);
            let Some(current) = here.accesses[index].current else { continue };
            if winner.is_none() {
                winner = Some((index, current));
            } else {
                here.serving = index;
                if current.protected {
                    self.fail_rts(station, now, current);
                } else {
                    self.fail_data(station, now, current);
                }
            }
        }
        let Some((index, current)) = winner else { return };
        let here = &mut self.stations[station as usize];
        here.serving = index;
        here.freeze(now);
        if current.protected && !current.cleared {
            self.send_rts(station, current);
        } else {
            self.send_data(station, current);
        }
    }

    fn send_rts(&mut self, station: u32, current: Current) {
        let phy = self.phy(station);
        let control = self.control_rate_bps(station, current.rate_bps);
        let cts_ns = phy.airtime_ns(frame_bytes::CTS, control);
        let data_ns = phy.airtime_ns(current.frame_bytes, current.rate_bps);
        let ack_ns = phy.airtime_ns(frame_bytes::ACK, self.ack_rate_bps(station, current.rate_bps));
        let duration_ns = self.rules.written_ns(3 * phy.sifs_ns + cts_ns + data_ns + ack_ns);
        self.stations[station as usize].phase = Phase::WaitCts;
        self.count_attempt(station);
        self.stations[station as usize].counters.rts_sent += 1;
        let end = self.send(station, Kind::Rts, current, duration_ns, frame_bytes::RTS, control);
        let give_up_at = give_up_at(self.rules_of(station), end, Kind::Cts, cts_ns);
        self.stations[station as usize].timeout_at = give_up_at;
    }

    fn send_data(&mut self, station: u32, current: Current) {
        let phy = self.phy(station);
        let ack_ns = phy.airtime_ns(frame_bytes::ACK, self.ack_rate_bps(station, current.rate_bps));
        let unicast = current.packet.to.is_some();
        let duration_ns = if unicast { self.rules.written_ns(phy.sifs_ns + ack_ns) } else { 0 };
        let here = &mut self.stations[station as usize];
        here.phase = if unicast { Phase::WaitAck } else { Phase::Broadcast };
        here.counters.data_sent += 1;
        if !current.cleared {
            self.count_attempt(station);
        }
        let end = self.send(station, Kind::Data, current, duration_ns, current.frame_bytes, current.rate_bps);
        let timeout_at = if unicast { give_up_at(self.rules_of(station), end, Kind::Ack, ack_ns) } else { end };
        self.stations[station as usize].timeout_at = timeout_at;
    }

    /// The wait of a packet that found the medium idle is over: it leaves if the medium is idle now.
    fn end_defer(&mut self, station: u32) {
        let now = self.now;
        let here = &mut self.stations[station as usize];
        here.defer_at = NEVER;
        let Some(current) = here.current() else { return };
        if !here.is_idle(now) {
            here.access().widen_cw();
            self.draw(station, now);
        } else if current.protected {
            self.send_rts(station, current);
        } else {
            self.send_data(station, current);
        }
    }

    /// A SIFS after the CTS: the data, if the preset lets it go.
    fn follow_cts(&mut self, station: u32) {
        let now = self.now;
        let here = &mut self.stations[station as usize];
        here.data_at = NEVER;
        let Some(current) = here.current() else { return };
        if self.rules.response_needs_idle && !here.is_idle(now) {
            // ns-2: a new RTS with the window doubled; no retry is counted.
            let access = here.access();
            access.current = Some(Current { cleared: false, ..current });
            access.widen_cw();
            self.tap.note(now, station, Happening::HoldData, current.packet.to, 0);
            self.draw(station, now);
            return;
        }
        self.send_data(station, current);
    }

    /// A SIFS after an RTS or data: the CTS or ACK, if the preset lets it go.
    fn respond(&mut self, station: u32) {
        let now = self.now;
        let here = &mut self.stations[station as usize];
        let Some(response) = here.response.take() else { return };
        if response.is_cts {
            let allowed = if self.rules.response_needs_idle { here.is_idle(now) } else { here.nav <= now };
            if !allowed {
                self.tap.note(now, station, Happening::RefuseCts, Some(response.to), 0);
                return;
            }
        }
        here.freeze(now);
        let rules = &here.rules;
        let (kind, bytes) = if response.is_cts { (Kind::Cts, frame_bytes::CTS) } else { (Kind::Ack, frame_bytes::ACK) };
        let airtime_ns = rules.phy.airtime_ns(bytes, response.rate_bps);
        let header = Header {
            kind,
            from: station,
            to: response.to,
            duration_ns: response.duration_ns as u32,
            packet: 0,
            number: 0,
            protected: false,
            rate_bps: response.rate_bps,
        };
        if response.is_cts {
            here.phase = Phase::WaitData;
            here.counters.cts_sent += 1;
            // The ACK's rate is the data's to decide; where that is not known yet, the fastest leaves the most time.
            let ack_rate_bps = match self.config.radio.mac_ack_rate {
                MacAckRate::Basic => self.config.radio.basic_rate_bps,
                _ => *rules.phy.rates_bps().last().unwrap_or(&self.config.radio.basic_rate_bps),
            };
            let ack_ns = rules.phy.airtime_ns(frame_bytes::ACK, ack_rate_bps);
            // ns-2: the announced exchange less its two SIFSs and the ACK must be the data.
            let data_ns = match rules.patience {
                Patience::Announced { .. } => response.duration_ns,
                _ => response.duration_ns.saturating_sub(2 * rules.phy.sifs_ns + ack_ns),
            };
            here.timeout_at = give_up_at(rules, now + airtime_ns, Kind::Data, data_ns);
        } else {
            here.phase = Phase::SendAck;
            here.counters.ack_sent += 1;
            here.timeout_at = now + airtime_ns;
        }
        self.launch(station, header, airtime_ns);
    }

    fn time_out(&mut self, station: u32) {
        let now = self.now;
        let here = &mut self.stations[station as usize];
        if here.phase.awaited().is_some() && self.rules.patience == Patience::ReceptionStart {
            if let Some(lock) = here.lock.filter(|lock| !lock.spoiled) {
                here.timeout_at = lock.arrival.end(); // being received: decided when it ends
                return;
            }
        }
        here.timeout_at = NEVER;
        let phase = std::mem::replace(&mut here.phase, Phase::Idle);
        here.idle_since = here.idle_since.max(now);
        match (phase, here.current()) {
            (Phase::WaitCts, Some(current)) => self.fail_rts(station, now, current),
            (Phase::WaitAck, Some(current)) => self.fail_data(station, now, current),
            (Phase::Broadcast, Some(current)) => {
                self.finish(station, current, None);
                self.draw(station, now);
            }
            _ => {}
        }
        let sifs_ns = self.phy(station).sifs_ns;
        let here = &mut self.stations[station as usize];
        if let Some(response) = here.response.as_mut().filter(|response| response.at == NEVER) {
            response.at = now + sifs_ns;
        }
        let lost = here.current().is_some() && here.access().backoff().is_none() && here.data_at == NEVER;
        if lost && self.rules.defer_timer {
            here.defer_at = now + self.rules.phy.difs_ns();
        } else if lost {
            self.draw(station, now);
        }
    }

    fn fail_rts(&mut self, station: u32, now: Ns, current: Current) {
        let limit = self.config.radio.short_retry_limit;
        let rules = self.rules;
        let here = &mut self.stations[station as usize];
        here.counters.rts_failures += 1;
        let access = here.access();
        access.short_retries += 1;
        if access.short_retries >= limit {
            access.short_retries = 0;
            if !rules.long_retries_survive {
                access.long_retries = 0;
            }
            here.counters.drops_rts += 1;
            self.tap.note(now, station, Happening::DropRts, current.packet.to, u64::from(current.packet.id));
            self.give_up(station, now, current, Failure::Rts);
        } else {
            self.retry(station, now, current);
        }
    }

    fn fail_data(&mut self, station: u32, now: Ns, current: Current) {
        let radio = &self.config.radio;
        let more = self.rules.more_data_attempts;
        let (short, long) = (radio.short_retry_limit + more, radio.long_retry_limit + more);
        let here = &mut self.stations[station as usize];
        here.counters.data_failures += 1;
        let access = here.access();
        let (retries, limit) =
            if current.protected { (&mut access.long_retries, long) } else { (&mut access.short_retries, short) };
        *retries += 1;
        if *retries >= limit {
            *retries = 0;
            here.counters.drops_data += 1;
            self.tap.note(now, station, Happening::DropData, current.packet.to, u64::from(current.packet.id));
            self.give_up(station, now, current, Failure::Data);
        } else {
            self.retry(station, now, current);
        }
    }

    fn retry(&mut self, station: u32, now: Ns, current: Current) {
        let here = &mut self.stations[station as usize];
        here.counters.retries += 1;
        let access = here.access();
        let rate_bps = current.packet.rates.map_or(current.rate_bps, |chain| chain.rate_bps(current.attempts));
        access.current = Some(Current { cleared: false, rate_bps, ..current });
        access.widen_cw();
        let count = access.short_retries.max(access.long_retries);
        self.tap.note(now, station, Happening::Retry, current.packet.to, u64::from(count));
        self.draw(station, now);
    }

    fn give_up(&mut self, station: u32, now: Ns, current: Current, failure: Failure) {
        self.finish(station, current, Some(failure));
        if self.rules.immediate_access {
            self.draw(station, now); // the standard asks for a backoff here too; ns-2 draws with the next packet
        }
    }

    fn finish(&mut self, station: u32, current: Current, failure: Option<Failure>) {
        let here = &mut self.stations[station as usize];
        let index = here.serving;
        let access = here.access();
        access.reset_cw();
        access.current = None;
        access.wants_refill = true;
        self.refills.push((station, index));
        self.notices.push_back(Notice::Done { station, packet: current.packet, attempts: current.attempts, failure });
    }

    fn draw(&mut self, station: u32, now: Ns) {
        self.draw_longer(station, now, ExtraBackoff::default());
    }

    fn draw_longer(&mut self, station: u32, now: Ns, extra: ExtraBackoff) {
        let here = &mut self.stations[station as usize];
        let slots = here.draw_backoff(here.serving, now, extra);
        self.tap.note(now, station, Happening::Backoff, None, u64::from(slots));
    }

    fn count_attempt(&mut self, station: u32) {
        if let Some(current) = self.stations[station as usize].access().current.as_mut() {
            current.attempts += 1;
        }
    }

    fn ack_rate_bps(&self, station: u32, data_rate_bps: u32) -> u32 {
        match self.config.radio.mac_ack_rate {
            MacAckRate::Basic => self.config.radio.basic_rate_bps,
            MacAckRate::Data => data_rate_bps,
            MacAckRate::Mandatory => self.phy(station).mandatory_rate_bps(data_rate_bps),
        }
    }

    /// Rate of RTS and CTS around data of this rate.
    fn control_rate_bps(&self, station: u32, data_rate_bps: u32) -> u32 {
        match self.config.radio.mac_ack_rate {
            MacAckRate::Mandatory => self.phy(station).mandatory_rate_bps(data_rate_bps),
            _ => self.config.radio.basic_rate_bps,
        }
    }

    /// Sends a frame of the current packet; returns when it ends.
    fn send(&mut self, station: u32, kind: Kind, current: Current, duration_ns: Ns, bytes: u32, rate_bps: u32) -> Ns {
        let header = Header {
            kind,
            from: station,
            to: current.packet.to.unwrap_or(BROADCAST),
            duration_ns: duration_ns as u32,
            packet: current.packet.id,
            number: current.number,
            protected: current.protected,
            rate_bps,
        };
        let airtime_ns = self.phy(station).airtime_ns(bytes, rate_bps);
        self.launch(station, header, airtime_ns);
        self.now + airtime_ns
    }

    /// Puts a frame on the air: notes it at every station that senses it.
    fn launch(&mut self, station: u32, header: Header, airtime_ns: Ns) {
        let now = self.now;
        let here = &mut self.stations[station as usize];
        here.send_start = now;
        here.send_end = now + airtime_ns;
        here.counters.airtime_ns += airtime_ns;
        match self.rules.overlap {
            Overlap::PairwiseFirstLock => here.lock.iter_mut().for_each(|lock| lock.spoiled = true),
            _ => here.lock = None, // reception is given up; its energy stays
        }
        let what = match header.kind {
            Kind::Rts => Happening::SendRts,
            Kind::Cts => Happening::SendCts,
            Kind::Data => Happening::SendData,
            Kind::Ack => Happening::SendAck,
        };
        let peer = (header.to != BROADCAST).then_some(header.to);
        self.tap.note(now, station, what, peer, airtime_ns);
        self.tap.sent(now, airtime_ns, &header);
        // The NAV of who cannot decode it, of who can, and of whom it is for.
        let mut holds_ns = [here.eifs_nav_ns as u32, self.rules.nav_ns(header.duration_ns.into()) as u32, 0];
        let airtime_ns = airtime_ns as u32;
        let hearers = self.rows[station as usize].lend();
        for (place, hearer) in hearers.iter().enumerate() {
            let start = now + hearer.delay_ns;
            let end = start + Ns::from(airtime_ns);
            // Drawn only where a link asks for it, so that other runs keep their draws.
            let drawn = if hearer.fades { self.draw_fading(station, place) } else { None };
            if hearer.fades && drawn.is_none() {
                continue;
            }
            let mut there = &mut self.stations[hearer.to as usize];
            if !overhear_all(there, self.overhears, now) {
                self.apply(hearer.to, now);
                there = &mut self.stations[hearer.to as usize];
            }
            let (power_w, mut decodable) = drawn.unwrap_or((hearer.power_w, hearer.decodable));
            if self.phys_differ {
                let modulation = self.stations[station as usize].rules.phy.modulation;
                there = &mut self.stations[hearer.to as usize];
                holds_ns[0] = there.eifs_nav_ns as u32;
                decodable &= there.understands(modulation, header.rate_bps);
            }
            // No branches but where it is rare: whom a frame reaches is hard to predict.
            let addressed = decodable & header.is_for(hearer.to);
            let hold_ns = holds_ns[usize::from(decodable) + usize::from(addressed)];
            let loss = hearer.loss;
            there.pending.add(|| Arrival { start, airtime_ns, hold_ns, power_w, decodable, addressed, loss, header });
            if addressed {
                self.ensure(hearer.to, end);
            }
        }
        self.rows[station as usize].give_back(hearers);
    }

    /// One frame's power over a link that fades, and whether it can be decoded; None: it is not sensed.
    #[inline(never)]
    fn draw_fading(&mut self, station: u32, place: usize) -> Option<(f64, bool)> {
        let link = &self.rows[station as usize].links()[place];
        link.fading.as_ref()?.draw(link.power_w, &mut self.fading)
    }
}

/// When to stop waiting for a response of `response_ns` to a frame that ends at `end`. Data: see `Patience::Announced`.
fn give_up_at(rules: &Rules, end: Ns, awaited: Kind, response_ns: Ns) -> Ns {
    let phy = &rules.phy;
    match rules.patience {
        Patience::Announced { cts_ns, .. } if awaited == Kind::Cts => end + phy.sifs_ns + response_ns + cts_ns,
        Patience::Announced { ack_ns, .. } if awaited == Kind::Ack => end + phy.sifs_ns + response_ns + ack_ns,
        Patience::Announced { .. } => end + response_ns,
        Patience::WholeResponse(slack_ns) => end + phy.sifs_ns + response_ns + slack_ns,
        Patience::ReceptionStart => end + phy.sifs_ns + phy.slot_ns + phy.preamble_ns,
    }
}
