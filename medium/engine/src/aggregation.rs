//! Aggregates (A-MPDU) of 802.11n, ac and ax: which packets go into one, what its Block Ack confirms, and what happens if
//! the Block Ack is missing.
//!
//! An aggregate is put together when its station wins the medium, before an RTS. After a missing Block Ack the station
//! contends again and sends a Block Ack Request, as ns-3 does: the answer says which MPDUs were received. An MPDU is
//! given up after as many data frames as a single packet (the short retry limit, or the long one after RTS), or if no
//! Block Ack comes for half a second.
//!
//! Source: IEEE 802.11-2016 Sec. 10.13 (A-MPDU), 10.24.7 (HT-immediate Block Ack).

use pacelab_air_config::{Band, Category};

use crate::access::{Backoff, ExtraBackoff, FrameInService};
use crate::air::{Air, Failure, MacEvent};
use crate::block_ack::{Next, Originator, SentAggregate, Subframe, Verdict, block_ack_bytes};
use crate::event_queue::Ns;
use crate::exchange::response_timeout_at;
use crate::frame::{Header, Kind, Packet};
use crate::ids::{PacketId, StationId};
use crate::mcs::{Mcs, bit_rate_bps};
use crate::mpdu_set::MpduSet;
use crate::phy::frame_bytes;
use crate::station::{Phase, Response};
use crate::trace::TraceEvent;

/// After a missing Block Ack the station asks again until its packets are this old, as ns-3 does (MaxDelay of its
/// queue; dot11EDCATableMSDULifetime of the standard is 500 TU).
const LIFETIME_NS: Ns = 500_000_000;

/// Padding makes each subframe but the last a multiple of this many bytes.
const SUBFRAME_ALIGNMENT: u32 = 4;

impl Air {
    fn originator(&mut self, id: StationId, index: usize) -> Option<&mut Originator> {
        self.stations[id].categories[index].block_ack.as_deref_mut()
    }

    /// Takes the next frame of a category with Block Ack agreements into service.
    pub(crate) fn take_next_under_block_ack(&mut self, id: StationId, index: usize) {
        let (now, overhead_bytes) = (self.now, self.rules.overhead_bytes);
        let category = &mut self.stations[id].categories[index];
        let Some(originator) = category.block_ack.as_deref_mut() else { return };
        // A packet outside of the agreements is sent alone, as a broadcast is.
        let waiting = category.queue.front().map(|packet| packet.to.filter(|_| packet.in_agreement()));
        let packet = match originator.choose(waiting) {
            Next::Nothing => return,
            Next::Request(to) => return self.serve_request(id, index, to),
            Next::Repeat => originator.mpdus[0].packet,
            Next::Fresh => {
                let Some(packet) = category.queue.pop_front() else { return };
                if let Some(to) = packet.to.filter(|_| packet.in_agreement()) {
                    originator.add(now, to, packet, packet.bytes + overhead_bytes);
                }
                packet
            }
        };
        let must_request = packet.in_agreement() && packet.to.is_some_and(|to| originator.must_request(to));
        match packet.to {
            Some(to) if must_request => self.serve_request(id, index, to),
            _ => self.serve(id, index, packet),
        }
    }

    fn serve(&mut self, id: StationId, index: usize, packet: Packet) {
        let bytes = packet.bytes + self.rules.overhead_bytes;
        let mpdu = self.originator(id, index).and_then(|originator| originator.mpdus.first()).copied();
        let alone_and_unicast = mpdu.is_none() && packet.to.is_some();
        self.stations[id].next_number += u32::from(alone_and_unicast);
        let number = if alone_and_unicast { self.stations[id].next_number } else { 0 };
        let rate_bps = match packet.rates {
            Some(chain) => chain.rate_bps(mpdu.map_or(0, |mpdu| mpdu.attempts)),
            None => self.data_rate_bps(id, packet.to),
        };
        let frame = FrameInService {
            packet,
            frame_bytes: if packet.to.is_some() { self.phy(id).psdu_bytes(bytes, rate_bps) } else { bytes },
            rate_bps,
            number: mpdu.map_or(number, |mpdu| mpdu.number),
            uses_rts: packet.to.is_some() && bytes >= self.config.radio.rts_threshold_bytes,
            cts_received: false,
            kind: Kind::Data,
            attempts: 0,
        };
        self.put_into_service(id, index, frame);
    }

    fn serve_request(&mut self, id: StationId, index: usize, to: StationId) {
        let frame = self.request(id, index, to);
        self.put_into_service(id, index, frame);
    }

    /// A Block Ack Request for the MPDUs in service, or for those that the receiver holds.
    fn request(&mut self, id: StationId, index: usize, to: StationId) -> FrameInService {
        let chosen = self.originator(id, index).and_then(|originator| originator.chosen_rate(to));
        let rate_bps = self.ack_rate_bps(id, chosen.unwrap_or_else(|| self.data_rate_bps(id, Some(to))));
        let number = self.originator(id, index).map_or(0, |originator| originator.starting_number(to));
        let one = self.stations[id].categories.len() == 1;
        let category = if one { Category::default() } else { Category::ALL[index] };
        FrameInService {
            packet: Packet { id: PacketId(u32::MAX), to: Some(to), bytes: 0, category, rates: None },
            frame_bytes: frame_bytes::BLOCK_ACK_REQUEST,
            rate_bps,
            number,
            uses_rts: false,
            cts_received: false,
            kind: Kind::BlockAckRequest,
            attempts: 0,
        }
    }

    fn put_into_service(&mut self, id: StationId, index: usize, frame: FrameInService) {
        let now = self.now;
        let station = &mut self.stations[id];
        let idle = self.rules.immediate_access && station.is_idle(now);
        station.categories[index].in_service = Some(frame);
        if station.categories[index].backoff().is_some() {
            return;
        }
        if idle {
            station.set_backoff(index, Some(Backoff { slots: 0, started: 0 }));
        } else {
            let slots = station.draw_backoff(index, now, ExtraBackoff::default());
            self.tracer.note(now, id, TraceEvent::Backoff, None, u64::from(slots));
        }
    }

    /// Completes the frame in service when its station has won the medium: adds waiting packets for the same receiver
    /// as far as they fit. Returns the frame to send.
    pub(crate) fn aggregate(&mut self, id: StationId, index: usize, frame: FrameInService) -> FrameInService {
        let Some(to) = frame.packet.to.filter(|_| frame.kind != Kind::BlockAckRequest) else { return frame };
        let now = self.now;
        let overhead_bytes = self.rules.overhead_bytes;
        let ht = self.config.radio.high_throughput();
        let standard_bytes = |mcs: Mcs| mcs.mode().format.most_ampdu_bytes(Band::Ghz5);
        let ampdu_bytes = Mcs::from_code(frame.rate_bps).map_or(self.config.radio.most_ampdu_bytes(), standard_bytes);
        let most_bytes = ampdu_bytes.min(self.phy(id).longest_psdu_bytes(frame.rate_bps));
        // The spacing is kept by empty delimiters after a short MPDU.
        let rate_bps = bit_rate_bps(frame.rate_bps);
        let least_bytes = (u64::from(ht.ampdu_spacing_ns) * u64::from(rate_bps)).div_ceil(8_000_000_000) as u32;
        let room = |bytes: u32| (frame_bytes::DELIMITER + bytes).max(least_bytes).next_multiple_of(SUBFRAME_ALIGNMENT);
        let station = &mut self.stations[id];
        station.note_queue(now);
        let category = &mut station.categories[index];
        let Some(originator) = category.block_ack.as_deref_mut() else { return frame };
        if frame.packet.rates.is_some() {
            originator.note_chosen_rate(to, frame.rate_bps);
        }
        // All MPDUs of a frame have one rate. A packet for which the host chose another rate begins the next frame.
        let has_rate = |packet: &Packet, attempts: u32| {
            packet.rates.is_none_or(|chain| chain.aggregates && chain.rate_bps(attempts) == frame.rate_bps)
                && packet.category == frame.packet.category
        };
        let mut subframes = Vec::with_capacity(originator.mpdus.len());
        let mut begins = 0;
        let mut psdu_bytes = 0;
        loop {
            let place = subframes.len();
            if place == ht.ampdu_frames as usize {
                break;
            }
            if place == originator.mpdus.len() {
                let waiting = category.queue.iter().position(|packet| packet.to == Some(to));
                let Some(waiting) = waiting.filter(|_| originator.window_is_open(to, ht.window())) else { break };
                let bytes = category.queue[waiting].bytes + overhead_bytes;
                if !has_rate(&category.queue[waiting], 0) {
                    break;
                }
                if begins + frame_bytes::DELIMITER + bytes > most_bytes {
                    break;
                }
                if let Some(packet) = category.queue.remove(waiting) {
                    originator.add(now, to, packet, bytes);
                }
            }
            let mpdu = &originator.mpdus[place];
            if place > 0 && !has_rate(&mpdu.packet, mpdu.attempts) {
                break;
            }
            let end = begins + frame_bytes::DELIMITER + mpdu.bytes;
            if end > most_bytes && place > 0 {
                break;
            }
            let offset = begins + frame_bytes::DELIMITER;
            subframes.push(Subframe { packet: mpdu.packet.id, number: mpdu.number, offset, bytes: mpdu.bytes });
            psdu_bytes = end;
            begins += room(mpdu.bytes);
        }
        // MPDUs that no longer fit, or that have another rate, wait behind those of this frame.
        let rest = originator.mpdus.split_off(subframes.len());
        originator.repeat_later(rest);
        let first = originator.mpdus[0];
        let alone = subframes.len() == 1;
        let lone_bytes = station.rules.phy.psdu_bytes(first.bytes, frame.rate_bps);
        let frame = FrameInService {
            packet: first.packet,
            number: first.number,
            kind: if alone { Kind::Data } else { Kind::Aggregate },
            frame_bytes: if alone { lone_bytes } else { psdu_bytes },
            uses_rts: psdu_bytes >= self.config.radio.rts_threshold_bytes,
            ..frame
        };
        category.in_service = Some(frame);
        if !alone {
            station.sent_aggregates.keep(SentAggregate { subframes, psdu_bytes });
        }
        frame
    }

    /// Sends an aggregate or a Block Ack Request.
    pub(crate) fn send_under_block_ack(&mut self, id: StationId, frame: &FrameInService) {
        let block_ack_ns =
            self.phy(id).airtime_ns(block_ack_bytes(&self.config.radio), self.ack_rate_bps(id, frame.rate_bps));
        let duration_ns = self.rules.duration_field_ns(self.phy(id).sifs_ns + block_ack_ns);
        let station = &mut self.stations[id];
        station.phase = Phase::WaitBlockAck;
        let mut number = frame.number;
        if frame.kind == Kind::Aggregate {
            let mpdus = station.category().block_ack.as_mut().map_or(0, |originator| {
                originator.mpdus.iter_mut().for_each(|mpdu| mpdu.sent += 1);
                originator.mpdus.len()
            });
            station.counters.data_sent += mpdus as u64;
            number = station.sent_aggregates.newest();
            if !frame.cts_received {
                self.count_attempt(id);
            }
        }
        let end = self.send(
            id,
            frame.kind,
            &FrameInService { number, ..*frame },
            duration_ns,
            frame.frame_bytes,
            frame.rate_bps,
        );
        let timeout_at = response_timeout_at(self.rules_of(id), end, Kind::BlockAck, block_ack_ns);
        self.stations[id].timeout_at = timeout_at;
    }

    /// Handles an aggregate for this station, of which at least one MPDU was decoded.
    pub(crate) fn receive_aggregate(&mut self, id: StationId, now: Ns, header: Header, power_w: f64, decoded: MpduSet) {
        self.end_wait_for_another(id, header.kind);
        let station = &mut self.stations[id];
        if header.uses_rts {
            if station.phase != Phase::WaitData {
                return;
            }
            station.stop_waiting(now);
        } else if station.response.is_some() {
            return;
        }
        let aggregate = self.stations[header.from].sent_aggregates.get(header.number).clone();
        let first = aggregate.subframes.first().map_or(0, |subframe| subframe.number);
        self.respond_with_block_ack(id, now, &header, first);
        for (place, subframe) in (0..).zip(&aggregate.subframes) {
            if decoded.contains(place) {
                self.accept_mpdu(id, header.from, subframe.packet, subframe.number, power_w);
            }
        }
        let lost = aggregate.subframes.len() as u64 - u64::from(decoded.len());
        if lost > 0 {
            self.tracer.note(now, id, TraceEvent::LostMpdus, Some(header.from), lost);
        }
    }

    /// Handles a Block Ack Request: the recipient's window moves, and a Block Ack follows.
    pub(crate) fn receive_block_ack_request(&mut self, id: StationId, now: Ns, header: Header) {
        if self.stations[id].response.is_some() {
            return;
        }
        self.respond_with_block_ack(id, now, &header, header.number);
        for number in self.stations[id].recipient(header.from, header.number).move_to(header.number) {
            self.mac_events.push_back(MacEvent::Released { station: id, from: header.from, number });
        }
    }

    fn respond_with_block_ack(&mut self, id: StationId, now: Ns, header: &Header, start: u32) {
        let rate_bps = self.ack_rate_bps(id, header.rate_bps);
        let at = now + self.phy(id).sifs_ns;
        let station = &mut self.stations[id];
        station.block_ack_start = start;
        station.response = Some(Response { kind: Kind::BlockAck, to: header.from, duration_ns: 0, rate_bps, at });
    }

    /// Handles an MPDU under a Block Ack agreement: delivers it in order, or holds it.
    pub(crate) fn accept_mpdu(&mut self, id: StationId, from: StationId, packet: PacketId, number: u32, power_w: f64) {
        match self.stations[id].recipient(from, number).accept(number) {
            Verdict::Duplicate => {}
            Verdict::Hold => {
                self.mac_events.push_back(MacEvent::Held { station: id, from, packet, number, power_w });
            }
            Verdict::Deliver { until } => {
                self.mac_events.push_back(MacEvent::Received { station: id, from, packet, power_w });
                for number in number + 1..until {
                    self.mac_events.push_back(MacEvent::Released { station: id, from, number });
                }
            }
        }
    }

    /// Handles a Block Ack: MPDUs that it confirms are done, and the others are repeated or given up.
    pub(crate) fn receive_block_ack(&mut self, id: StationId, now: Ns, header: Header) {
        let station = &mut self.stations[id];
        if station.phase != Phase::WaitBlockAck {
            return;
        }
        station.stop_waiting(now);
        let Some(frame) = station.frame_in_service() else { return };
        let radio = &self.config.radio;
        let limit = if frame.uses_rts { radio.long_retry_limit } else { radio.short_retry_limit };
        let index = station.serving;
        let category = station.category();
        category.short_retries = 0;
        category.long_retries = 0;
        category.reset_cw();
        category.in_service = None;
        category.wants_refill = true;
        self.refills.push((id, index));
        let to = header.from;
        let mpdus =
            self.originator(id, index).map(|originator| std::mem::take(&mut originator.mpdus)).unwrap_or_default();
        if frame.kind == Kind::BlockAckRequest {
            self.originator(id, index)
                .into_iter()
                .for_each(|originator| originator.note_window_moved(to, frame.number));
        }
        let mut repeats = Vec::new();
        let mut given_up = Vec::new();
        for mpdu in mpdus {
            if self.stations[to].recipient(id, mpdu.number).has(mpdu.number) {
                self.stations[id].counters.delivered_frames += 1;
                self.end_mpdu(id, &mpdu.packet, mpdu.attempts, None);
            } else if mpdu.sent >= limit {
                given_up.push(mpdu);
            } else {
                let counters = &mut self.stations[id].counters;
                if mpdu.sent > 0 {
                    counters.data_failures += 1;
                    counters.retries += 1;
                }
                repeats.push(mpdu);
            }
        }
        if !repeats.is_empty() {
            let most = repeats.iter().map(|mpdu| mpdu.sent).max().unwrap_or(0);
            self.tracer.note(now, id, TraceEvent::Retry, Some(to), u64::from(most));
        }
        for mpdu in given_up {
            let counters = &mut self.stations[id].counters;
            counters.data_failures += 1;
            counters.drops_data += 1;
            self.tracer.note(now, id, TraceEvent::DropData, Some(to), u64::from(mpdu.packet.id.0));
            self.originator(id, index)
                .into_iter()
                .for_each(|originator| originator.note_given_up(to, mpdu.number, true));
            self.end_mpdu(id, &mpdu.packet, mpdu.attempts, Some(Failure::Data));
        }
        self.originator(id, index)
            .into_iter()
            .for_each(|originator| originator.repeat_later(std::mem::take(&mut repeats)));
        let extra = self.stations[id].extra_backoff;
        self.draw_longer(id, now, extra);
    }

    fn end_mpdu(&mut self, id: StationId, packet: &Packet, attempts: u32, failure: Option<Failure>) {
        self.mac_events.push_back(MacEvent::Done { station: id, packet: *packet, attempts, failure });
    }

    /// Handles a missing Block Ack: a Block Ack Request follows, or all MPDUs in service are given up.
    pub(crate) fn miss_block_ack(&mut self, id: StationId, now: Ns, frame: FrameInService) {
        let limit = self.config.radio.short_retry_limit;
        let station = &mut self.stations[id];
        let index = station.serving;
        let category = station.category();
        category.short_retries += 1;
        let mpdus = category.block_ack.as_ref().map_or(&[][..], |originator| &originator.mpdus);
        let expired = match mpdus.iter().map(|mpdu| mpdu.since).min() {
            Some(since) => now >= since + LIFETIME_NS,
            None => category.short_retries >= limit,
        };
        if expired {
            category.short_retries = 0;
            let lost = mpdus.len() as u64;
            station.counters.data_failures += lost;
            self.give_up(id, now, frame, Failure::Data);
            return;
        }
        if let Some(to) = frame.packet.to {
            let request = self.request(id, index, to);
            self.retry(id, now, request);
        }
    }

    /// Gives up all MPDUs in service, or ends the frame of one that was acknowledged by an ACK. Returns whether the
    /// frame in service was one under a Block Ack agreement.
    pub(crate) fn finish_under_block_ack(
        &mut self,
        id: StationId,
        frame: &FrameInService,
        failure: Option<Failure>,
    ) -> bool {
        let (now, index) = (self.now, self.stations[id].serving);
        let Some(originator) = self.originator(id, index) else { return false };
        let Some(to) = frame.packet.to else { return false };
        let mpdus = std::mem::take(&mut originator.mpdus);
        if frame.kind == Kind::BlockAckRequest {
            originator.note_request_failed(to);
        }
        let Some(failure) = failure else {
            // An ACK confirms a packet sent alone.
            mpdus.iter().for_each(|mpdu| self.end_mpdu(id, &mpdu.packet, mpdu.attempts, None));
            return true;
        };
        for mpdu in &mpdus {
            let was_sent = mpdu.sent > 0;
            self.originator(id, index)
                .into_iter()
                .for_each(|originator| originator.note_given_up(to, mpdu.number, was_sent));
            let counters = &mut self.stations[id].counters;
            let (counter, event) = match failure {
                Failure::Rts => (&mut counters.drops_rts, TraceEvent::DropRts),
                Failure::Data => (&mut counters.drops_data, TraceEvent::DropData),
            };
            *counter += 1;
            self.tracer.note(now, id, event, Some(to), u64::from(mpdu.packet.id.0));
            self.end_mpdu(id, &mpdu.packet, mpdu.attempts, Some(failure));
        }
        true
    }
}
