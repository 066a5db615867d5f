//! Reception: which frame a station locks on to, collisions, capture, and the effect of a frame's end on NAV and EIFS.

use crate::air::{Air, MacEvent};
use crate::error_model::log_success;
use crate::event_queue::{Ns, SAME_MOMENT_NS};
use crate::frame::{Arrival, Header, Kind};
use crate::ids::StationId;
use crate::mcs::bit_rate_bps;
use crate::mpdu_set::MpduSet;
use crate::random::Stream;
use crate::rules::{Overlap, Rules};
use crate::station::{Interference, Lock, Station};
use crate::trace::TraceEvent;

impl Air {
    /// Brings a station up to `now`: applies the frames that arrived before, and the end of a lock that is over.
    #[inline]
    pub(crate) fn catch_up(&mut self, id: StationId, now: Ns) {
        let station = &self.stations[id];
        if station.lock.is_some() | !station.pending.is_empty() {
            self.catch_up_on(id, now);
        }
    }

    #[inline(never)]
    fn catch_up_on(&mut self, id: StationId, now: Ns) {
        let station = &mut self.stations[id];
        if let Some(&frame) =
            station.pending.first().filter(|first| self.overhears && station.is_first_over(first, now))
        {
            if overhear(station) && frame.addressed {
                self.receive(id, frame.end(), frame.header, frame.power_w);
            }
        }
        let station = &mut self.stations[id];
        if !overhear_all(station, self.overhears, now) {
            self.apply(id, now);
        }
        let ended = self.stations[id].lock.as_ref().is_some_and(|lock| lock.arrival.end() <= now);
        if ended {
            self.end_lock(id);
        }
    }

    /// Applies the frames that began to arrive before `now`, but not those that began at the same instant.
    #[inline(never)]
    pub(crate) fn apply(&mut self, id: StationId, now: Ns) {
        loop {
            let station = &mut self.stations[id];
            let Some(first) = station.pending.first().filter(|first| first.start + SAME_MOMENT_NS < now) else {
                return;
            };
            if station.lock.as_ref().is_some_and(|lock| lock.arrival.end() <= first.start) {
                self.end_lock(id);
                continue;
            }
            if self.overhears && !first.addressed && station.is_first_over(first, now) {
                overhear(station);
                continue;
            }
            match self.rules.overlap {
                Overlap::PairwiseFirstLock => self.arrive_pairwise(id),
                Overlap::CumulativeSinr | Overlap::ErrorModel => {
                    let first = *first;
                    station.pending.drop_first();
                    self.arrive_cumulative(id, first);
                }
            }
        }
    }

    /// Applies the first pending frame. An `Arrival` has the size of a cache line, so it is copied only if necessary.
    fn arrive_pairwise(&mut self, id: StationId) {
        let station = &mut self.stations[id];
        let Some(arrival) = station.pending.first() else { return };
        let (end, &Arrival { start, power_w, header: Header { from, .. }, .. }) = (arrival.end(), arrival);
        let Some(lock) = &mut station.lock else {
            station.freeze(start);
            let spoiled = station.is_sending(start + SAME_MOMENT_NS);
            let Some(&arrival) = station.pending.first() else { return };
            station.lock = Some(Lock::new(arrival, false, spoiled));
            station.pending.drop_first();
            self.tracer.note(start, id, TraceEvent::Lock, Some(from), end);
            return;
        };
        if lock.arrival.power_w >= self.capture_ratio * power_w {
            station.pending.drop_first();
            let nav = start + self.rules.nav_ns(station.eifs_ns + (end - start));
            station.nav = station.nav.max(nav);
            self.tracer.note(start, id, TraceEvent::Capture, Some(from), 0);
            self.tracer.note(start, id, TraceEvent::Nav, None, nav);
            return;
        }
        lock.collided = true;
        if end > lock.arrival.end() {
            lock.arrival = *arrival;
        }
        station.pending.drop_first();
        self.tracer.note(start, id, TraceEvent::Collide, Some(from), 0);
        if station.is_contending() {
            // The scheduled wake-up assumed the NAV of the locked frame, and may now be too late.
            self.reschedule(id);
        }
    }

    fn arrive_cumulative(&mut self, id: StationId, arrival: Arrival) {
        let ratio = self.capture_ratio;
        let station = &mut self.stations[id];
        let rules = *station.rules;
        let by_model = rules.overlap == Overlap::ErrorModel;
        let from = arrival.header.from;
        station.freeze(arrival.start);
        if station.lock.as_ref().is_some_and(Lock::is_aggregate) {
            note_interference(station, &rules, arrival.start);
        } else if by_model {
            judge(station, &rules, arrival.start);
        }
        station.signals.retain(|&(end, _)| end > arrival.start);
        let others_w: f64 = station.signals.iter().map(|&(_, power_w)| power_w).sum();
        station.signals.push((arrival.end(), arrival.power_w));
        station.energy_until = station.energy_until.max(arrival.end());
        let sending = station.is_sending(arrival.start + SAME_MOMENT_NS);
        let what = match station.lock {
            Some(lock) if by_model && arrival.decodable && takes_over(&rules, &lock, &arrival, ratio) => {
                station.lock_on(arrival, false);
                TraceEvent::Lock
            }
            Some(mut lock) => {
                let interference_w = others_w - lock.arrival.power_w + arrival.power_w;
                let survives = lock.arrival.power_w >= ratio * interference_w;
                // An aggregate is lost as a whole only if its preamble is.
                let whole = !lock.is_aggregate() || arrival.start < lock.body_starts(&rules);
                lock.collided |= !survives && !by_model && whole;
                station.lock = Some(lock);
                if survives { TraceEvent::Capture } else { TraceEvent::Collide }
            }
            // The station sends, or the frame is too weak for its preamble to be found: the frame is energy only.
            None if sending || (by_model && !arrival.decodable) => return,
            None => {
                let collided = arrival.power_w < ratio * others_w && !by_model;
                station.lock_on(arrival, collided);
                TraceEvent::Lock
            }
        };
        let value = if what == TraceEvent::Lock { arrival.end() } else { 0 };
        self.tracer.note(arrival.start, id, what, Some(from), value);
        if self.stations[id].is_contending() {
            self.reschedule(id);
        }
    }

    /// Handles the end of the locked frame.
    #[inline(always)]
    fn end_lock(&mut self, id: StationId) {
        let station = &mut self.stations[id];
        let by_model = self.rules.overlap == Overlap::ErrorModel;
        let sums = self.rules.overlap != Overlap::PairwiseFirstLock; // only presets with 802.11n
        if sums && station.lock.as_ref().is_some_and(Lock::is_aggregate) {
            self.end_aggregate(id);
            return;
        }
        if by_model {
            let end = station.lock.as_ref().map_or(0, |lock| lock.arrival.end());
            let rules = *station.rules;
            judge(station, &rules, end);
        }
        let Some(lock) = &station.lock else { return };
        let (end, Arrival { decodable, header, power_w, loss, .. }) = (lock.arrival.end(), lock.arrival);
        let ruined = lock.collided || lock.spoiled;
        let readable = if by_model { station.random.unit() < libm::exp(lock.log_success) } else { decodable };
        let readable = readable && station.gets_through(loss);
        station.lock = None;
        station.idle_since = station.idle_since.max(end);
        if station.is_sending(end) {
            return; // the station was sending and heard nothing
        }
        if ruined || !readable {
            self.tracer.note(end, id, TraceEvent::Garbled, Some(header.from), 0);
            self.hold_eifs(id, end);
            return;
        }
        station.garbled_at = 0;
        self.tracer.note(end, id, TraceEvent::Decode, Some(header.from), 0);
        if header.is_for(id) {
            self.receive(id, end, header, power_w);
            return;
        }
        if header.kind == Kind::Data && self.monitors.contains(&id) {
            let overheard = MacEvent::Overheard { station: id, from: header.from, packet: header.packet, power_w };
            self.mac_events.push_back(overheard);
        }
        let duration_ns = self.rules.nav_ns(header.duration_ns.into());
        if duration_ns > 0 && end + duration_ns > station.nav {
            station.nav = end + duration_ns;
            self.tracer.note(end, id, TraceEvent::Nav, None, end + duration_ns);
        }
    }

    /// Handles the end of the locked frame if it is an aggregate: some of its MPDUs may have been decoded.
    #[inline(never)]
    fn end_aggregate(&mut self, id: StationId) {
        let rules = *self.stations[id].rules;
        let Some(lock) = self.stations[id].lock else { return };
        let (end, header) = (lock.arrival.end(), lock.arrival.header);
        note_interference(&mut self.stations[id], &rules, end);
        let decoded = self.decoded_mpdus(id, &lock);
        let station = &mut self.stations[id];
        station.lock = None;
        station.idle_since = station.idle_since.max(end);
        if station.is_sending(end) {
            return;
        }
        if decoded.is_empty() {
            self.tracer.note(end, id, TraceEvent::Garbled, Some(header.from), 0);
            self.hold_eifs(id, end);
            return;
        }
        station.garbled_at = 0;
        let [first, further @ ..] = decoded.words() else { return };
        if self.config.radio.high_throughput().window() > u64::BITS {
            further
                .iter()
                .for_each(|&word| self.tracer.note(end, id, TraceEvent::DecodeFurther, Some(header.from), word));
        }
        self.tracer.note(end, id, TraceEvent::Decode, Some(header.from), *first);
        if header.is_for(id) {
            self.receive_aggregate(id, end, header, lock.arrival.power_w, decoded);
            return;
        }
        if self.monitors.contains(&id) {
            self.overhear_aggregate(id, header, lock.arrival.power_w, decoded);
        }
        let until = end + self.rules.nav_ns(header.duration_ns.into());
        if until > self.stations[id].nav.max(end) {
            self.stations[id].nav = until;
            self.tracer.note(end, id, TraceEvent::Nav, None, until);
        }
    }

    /// Reports the decoded MPDUs of an aggregate for another station.
    fn overhear_aggregate(&mut self, id: StationId, header: Header, power_w: f64, decoded: MpduSet) {
        let subframes = &self.stations[header.from].sent_aggregates.get(header.number).subframes;
        for (_, subframe) in (0..).zip(subframes).filter(|&(place, _)| decoded.contains(place)) {
            let packet = subframe.packet;
            self.mac_events.push_back(MacEvent::Overheard { station: id, from: header.from, packet, power_w });
        }
    }

    /// The MPDUs of the aggregate that were decoded.
    fn decoded_mpdus(&mut self, id: StationId, lock: &Lock) -> MpduSet {
        let Arrival { start, airtime_ns, decodable, header, power_w, loss, .. } = lock.arrival;
        let by_model = self.rules.overlap == Overlap::ErrorModel;
        let mut decoded = MpduSet::default();
        if lock.collided || lock.spoiled || !(decodable || by_model) {
            return decoded;
        }
        let aggregate = std::mem::take(self.stations[header.from].sent_aggregates.get_mut(header.number));
        let ratio = self.capture_ratio;
        let station = &mut self.stations[id];
        let parts = std::mem::take(&mut station.interference);
        let rules = &*station.rules.clone();
        let phy = &rules.phy;
        let survives = |from: Ns, to: Ns, rate_bps: u32, random: &mut Stream| {
            if by_model {
                let log_success = success_over(&parts, lock, rules, from, to, rate_bps);
                return random.unit() < libm::exp(log_success);
            }
            overlapping(&parts, start, from, to).all(|(_, part)| power_w >= ratio * part.power_w)
        };
        let body_starts = lock.body_starts(rules);
        if survives(start, body_starts, phy.preamble_rate_bps(header.rate_bps), &mut station.random) {
            let at = |byte| start + phy.byte_begins_ns(byte, aggregate.psdu_bytes, airtime_ns.into(), header.rate_bps);
            for (place, subframe) in (0..).zip(&aggregate.subframes) {
                let (from, to) = (at(subframe.offset), at(subframe.offset + subframe.bytes));
                let intact = survives(from, to, header.rate_bps, &mut station.random) && station.gets_through(loss);
                if intact {
                    decoded.insert(place);
                }
            }
        }
        station.interference = parts;
        *self.stations[header.from].sent_aggregates.get_mut(header.number) = aggregate;
        decoded
    }

    fn hold_eifs(&mut self, id: StationId, end: Ns) {
        let station = &mut self.stations[id];
        let until = end + station.eifs_nav_ns;
        if self.rules.eifs_as_nav {
            station.nav = station.nav.max(until);
        } else {
            station.garbled_at = end;
        }
        self.tracer.note(end, id, TraceEvent::Eifs, None, until);
    }
}

/// The fast path of `Air::apply` for the common case of no pending frame or one that is only overheard. Returns false
/// if frames remain for `Air::apply`.
#[inline(always)]
pub(crate) fn overhear_all(station: &mut Station, overhears: bool, now: Ns) -> bool {
    let Some(first) = station.pending.first().filter(|first| first.start + SAME_MOMENT_NS < now) else { return true };
    if !overhears || first.addressed || !station.is_first_over(first, now) {
        return false;
    }
    overhear(station);
    station.pending.is_empty()
}

/// Applies the first pending frame, which is over and met no other frame: the effects of `arrive_pairwise` and
/// `end_lock` in one step. Returns whether it was decoded. Only valid if `Air::overhears` is set.
#[inline(always)]
fn overhear(station: &mut Station) -> bool {
    let Some(&frame) = station.pending.first() else { return false };
    station.freeze(frame.start);
    station.idle_since = station.idle_since.max(frame.end());
    let decoded = if station.send_end > frame.start || frame.loss > 0.0 {
        overhear_or_not(station)
    } else {
        station.nav = station.nav.max(frame.end() + Ns::from(frame.hold_ns));
        frame.decodable
    };
    station.pending.drop_first();
    decoded
}

/// The part of `overhear` for a station that has sent since the frame began, and for links with losses of their own.
#[cold]
#[inline(never)]
fn overhear_or_not(station: &mut Station) -> bool {
    let Some(&frame) = station.pending.first() else { return false };
    let intact =
        frame.decodable && station.gets_through(frame.loss) && !station.is_sending(frame.start + SAME_MOMENT_NS);
    if station.is_sending(frame.end()) {
        return false;
    }
    let hold_ns = if intact { frame.hold_ns.into() } else { station.eifs_nav_ns };
    station.nav = station.nav.max(frame.end() + hold_ns);
    intact
}

/// Preamble capture: the newcomer is stronger by `ratio`, and the locked frame is still in its preamble.
fn takes_over(rules: &Rules, lock: &Lock, newcomer: &Arrival, ratio: f64) -> bool {
    newcomer.start < lock.arrival.start + rules.phy.preamble_of_ns(lock.arrival.header.rate_bps)
        && newcomer.power_w >= ratio * lock.arrival.power_w
}

/// Notes the interference that the locked aggregate has met up to `until`, one interval of constant power at a time.
fn note_interference(station: &mut Station, rules: &Rules, until: Ns) {
    let Some(mut lock) = station.lock else { return };
    let frame = lock.arrival;
    while lock.judged_until < until.min(frame.end()) {
        let from = lock.judged_until;
        let others = station.signals.iter().filter(|&&(end, _)| end > from);
        let change = others.clone().map(|&(end, _)| end).min().unwrap_or(Ns::MAX);
        let to = until.min(frame.end()).min(change);
        let sum_w: f64 = others.map(|&(_, power_w)| power_w).sum();
        let power_w = (sum_w - frame.power_w).max(0.0);
        station.interference.push(Interference { until: to, power_w });
        lock.judged_until = to;
    }
    debug_assert!(rules.overlap != Overlap::PairwiseFirstLock);
    station.lock = Some(lock);
}

/// The parts of a frame that lie between `from` and `to`, with the duration of the common time in ns.
fn overlapping(parts: &[Interference], start: Ns, from: Ns, to: Ns) -> impl Iterator<Item = (Ns, Interference)> + '_ {
    let begins = std::iter::once(start).chain(parts.iter().map(|part| part.until));
    let both = begins.zip(parts).map(move |(begin, &part)| {
        let common_ns = part.until.min(to).saturating_sub(begin.max(from));
        (common_ns, part)
    });
    both.filter(|&(common_ns, _)| common_ns > 0)
}

/// Natural logarithm of the probability that the bits between `from` and `to` survive.
fn success_over(parts: &[Interference], lock: &Lock, rules: &Rules, from: Ns, to: Ns, rate_bps: u32) -> f64 {
    let noise_w = rules.phy.noise_w();
    let logarithms = overlapping(parts, lock.arrival.start, from, to).map(|(common_ns, part)| {
        let bits = common_ns as f64 * f64::from(bit_rate_bps(rate_bps)) / 1e9;
        log_success(&rules.phy, rate_bps, lock.arrival.power_w / (noise_w + part.power_w), bits)
    });
    logarithms.sum()
}

/// Updates the success probability of the locked frame up to `until`, one interval of constant interference at a time.
fn judge(station: &mut Station, rules: &Rules, until: Ns) {
    let Some(mut lock) = station.lock else { return };
    let (frame, rate_bps) = (lock.arrival, lock.arrival.header.rate_bps);
    let noise_w = rules.phy.noise_w();
    // The preamble and the header count as sent at the lowest rate.
    let body_starts = frame.start + rules.phy.preamble_of_ns(rate_bps);
    while lock.judged_until < until.min(frame.end()) {
        let from = lock.judged_until;
        let others = station.signals.iter().filter(|&&(end, _)| end > from);
        let change = others.clone().map(|&(end, _)| end).min().unwrap_or(Ns::MAX);
        let in_preamble = from < body_starts;
        let border = if in_preamble { body_starts } else { Ns::MAX };
        let to = until.min(frame.end()).min(change).min(border);
        let sum_w: f64 = others.map(|&(_, power_w)| power_w).sum();
        let sinr = frame.power_w / (noise_w + (sum_w - frame.power_w).max(0.0));
        let rate_bps = if in_preamble { rules.phy.preamble_rate_bps(rate_bps) } else { rate_bps };
        let bits = (to - from) as f64 * f64::from(bit_rate_bps(rate_bps)) / 1e9;
        lock.log_success += log_success(&rules.phy, rate_bps, sinr, bits);
        lock.judged_until = to;
    }
    station.lock = Some(lock);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::air::contentions;
    use crate::frame::Kind;
    use crate::ids::PacketId;
    use crate::phy::Phy;

    const MS: Ns = 1_000_000;

    /// 1000 bytes at this rate, whose power is 1e-10 W.
    fn locked(rate_bps: u32) -> Lock {
        let header = Header {
            kind: Kind::Data,
            from: StationId(1),
            to: StationId(0),
            duration_ns: 0,
            packet: PacketId(0),
            number: 0,
            uses_rts: false,
            in_agreement: false,
            rate_bps,
        };
        let airtime_ns = 192_000 + (8_000_000_000_000_u64 / u64::from(rate_bps)) as u32;
        let (power_w, loss) = (1e-10, 0.0);
        let arrival =
            Arrival { start: 0, airtime_ns, hold_ns: 0, power_w, decodable: true, addressed: true, loss, header };
        Lock::new(arrival, false, false)
    }

    #[test]
    fn each_interval_of_a_frame_is_judged_by_its_own_interference() {
        // 2e-10 W from 1 to 3 ms: SINR 1e-10 / (2e-10 + 4.39e-13) = 0.498_905; error of 1 Mbit/s exp(-22 SINR) / 2 =
        // 8.554_46e-6, of 2 Mbit/s 6.942_83e-3 (the curve above). The noise alone (SINR 228) destroys no bit.
        for (rate_bps, bits, error) in [(1_000_000, 2000.0, 8.554_46e-6), (2_000_000, 4000.0, 6.942_83e-3)] {
            let rules = Rules::sinr(Phy::dsss(true));
            let mut station = Station::new(rules.into(), &contentions(&rules.phy, false), Stream::new(1, 0));
            let lock = locked(rate_bps);
            let end = lock.arrival.end();
            station.lock = Some(lock);
            station.signals = vec![(end, 1e-10)];
            judge(&mut station, &rules, MS);
            assert!(station.lock.unwrap().log_success.abs() < 1e-9);
            station.signals.push((3 * MS, 2e-10));
            judge(&mut station, &rules, end);
            let expected = bits * libm::log1p(-error);
            let log_success = station.lock.unwrap().log_success;
            assert!((log_success / expected - 1.0).abs() < 1e-3, "{rate_bps}: {log_success} {expected}");
            assert_eq!(station.lock.unwrap().judged_until, end);
        }
    }

    #[test]
    fn a_part_of_an_aggregate_is_judged_by_the_interference_during_it() {
        // 2e-10 W from 1 to 3 ms; the errors are those above. Each part has 1000 bits during this time.
        let rules = Rules::sinr(Phy::dsss(true));
        let interval = |until, power_w| Interference { until, power_w };
        let parts = [interval(MS, 0.0), interval(3 * MS, 2e-10), interval(8 * MS, 0.0)];
        for (from, to, rate_bps, error) in
            [(MS / 2, 2 * MS, 1_000_000, 8.554_46e-6), (5 * MS / 2, 4 * MS, 2_000_000, 6.942_83e-3)]
        {
            let expected = 1000.0 * libm::log1p(-error);
            let log_success = success_over(&parts, &locked(rate_bps), &rules, from, to, rate_bps);
            assert!((log_success / expected - 1.0).abs() < 1e-3, "{rate_bps}: {log_success} {expected}");
        }
        let without = success_over(&parts, &locked(1_000_000), &rules, 3 * MS, 8 * MS, 1_000_000);
        assert!(without.abs() < 1e-9, "{without}");
    }

    #[test]
    fn a_preamble_counts_as_sent_at_the_lowest_rate() {
        // 2e-10 W during the whole frame of 2 Mbit/s: 192 bits at 1 Mbit/s, then 8000 bits at 2 Mbit/s
        let rules = Rules::sinr(Phy::dsss(true));
        let mut station = Station::new(rules.into(), &contentions(&rules.phy, false), Stream::new(1, 0));
        let lock = locked(2_000_000);
        let end = lock.arrival.end();
        station.lock = Some(lock);
        station.signals = vec![(end, 1e-10), (end, 2e-10)];
        judge(&mut station, &rules, 192_000);
        let preamble = station.lock.unwrap().log_success;
        assert!((preamble / (192.0 * libm::log1p(-8.554_46e-6)) - 1.0).abs() < 1e-3, "{preamble}");
        judge(&mut station, &rules, end);
        let body = station.lock.unwrap().log_success - preamble;
        assert!((body / (8000.0 * libm::log1p(-6.942_83e-3)) - 1.0).abs() < 1e-3, "{body}");
    }
}
