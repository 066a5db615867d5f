//! Receiving: who locks on what, what collides, what is captured, and what a frame's end means for NAV and EIFS.

use crate::agenda::{Ns, SAME_MOMENT_NS};
use crate::air::Air;
use crate::frame::{Arrival, BROADCAST};
use crate::rules::Overlap;
use crate::station::{Lock, Station};
use crate::tap::Happening;

impl Air {
    /// Brings a station up to `now`: frames that arrived before, and the end of a lock that has passed.
    pub(crate) fn catch_up(&mut self, station: u32, now: Ns) {
        self.apply_pending(station, now);
        let ended = self.stations[station as usize].lock.is_some_and(|lock| lock.arrival.end <= now);
        if ended {
            self.end_lock(station);
        }
    }

    /// Applies the frames that began to arrive before `now`, and not in the same moment.
    pub(crate) fn apply_pending(&mut self, station: u32, now: Ns) {
        while let Some(&first) = self.stations[station as usize].pending.first() {
            if first.start + SAME_MOMENT_NS >= now {
                return;
            }
            self.stations[station as usize].pending.remove(0);
            let here = &self.stations[station as usize];
            if here.lock.is_some_and(|lock| lock.arrival.end <= first.start) {
                self.end_lock(station);
            }
            match self.rules.overlap {
                Overlap::PairwiseFirstLock => self.arrive_pairwise(station, first),
                Overlap::CumulativeSinr => self.arrive_cumulative(station, first),
            }
        }
    }

    fn arrive_pairwise(&mut self, station: u32, arrival: Arrival) {
        let rules = self.rules;
        let here = &mut self.stations[station as usize];
        let from = arrival.header.from;
        let Some(lock) = here.lock else {
            here.freeze(&rules, arrival.start);
            let spoiled = here.is_sending(arrival.start + SAME_MOMENT_NS);
            here.lock = Some(Lock { arrival, collided: false, spoiled });
            self.tap.note(arrival.start, station, Happening::Lock, Some(from), arrival.end);
            return;
        };
        let airtime_ns = arrival.end - arrival.start;
        if lock.arrival.power_w >= self.config.capture_ratio * arrival.power_w {
            let hold_ns = rules.phy.eifs_ns() + airtime_ns;
            let nav = arrival.start + if rules.nav_whole_us { round_to_us(hold_ns) } else { hold_ns };
            here.nav = here.nav.max(nav);
            self.tap.note(arrival.start, station, Happening::Capture, Some(from), 0);
            self.tap.note(arrival.start, station, Happening::Nav, None, nav);
            return;
        }
        let longer = arrival.end > lock.arrival.end;
        here.lock =
            Some(Lock { arrival: if longer { arrival } else { lock.arrival }, collided: true, spoiled: lock.spoiled });
        self.tap.note(arrival.start, station, Happening::Collide, Some(from), 0);
        if self.stations[station as usize].backoff.is_some() {
            // What was projected from the lock's NAV no longer holds and may have been too late.
            self.reschedule(station);
        }
    }

    fn arrive_cumulative(&mut self, station: u32, arrival: Arrival) {
        let rules = self.rules;
        let ratio = self.config.capture_ratio;
        let here = &mut self.stations[station as usize];
        let from = arrival.header.from;
        here.freeze(&rules, arrival.start);
        here.signals.retain(|&(end, _)| end > arrival.start);
        let others_w: f64 = here.signals.iter().map(|&(_, power_w)| power_w).sum();
        here.signals.push((arrival.end, arrival.power_w));
        here.energy_until = here.energy_until.max(arrival.end);
        if let Some(mut lock) = here.lock {
            let interference_w = others_w - lock.arrival.power_w + arrival.power_w;
            let survives = lock.arrival.power_w >= ratio * interference_w;
            let what = if survives { Happening::Capture } else { Happening::Collide };
            self.tap.note(arrival.start, station, what, Some(from), 0);
            lock.collided |= !survives;
            here.lock = Some(lock);
        } else if !here.is_sending(arrival.start + SAME_MOMENT_NS) {
            let collided = arrival.power_w < ratio * others_w;
            here.lock = Some(Lock { arrival, collided, spoiled: false });
            self.tap.note(arrival.start, station, Happening::Lock, Some(from), arrival.end);
        }
        if self.stations[station as usize].backoff.is_some() {
            self.reschedule(station);
        }
    }

    /// The locked frame has ended: what the station learns from it.
    fn end_lock(&mut self, station: u32) {
        let rules = self.rules;
        let here = &mut self.stations[station as usize];
        let Some(lock) = here.lock.take() else { return };
        let Arrival { end, decodable, header, .. } = lock.arrival;
        here.idle_since = here.idle_since.max(end);
        if here.is_sending(end) {
            return; // never heard
        }
        if lock.collided || lock.spoiled || !decodable {
            self.tap.note(end, station, Happening::Garbled, Some(header.from), 0);
            self.hold_eifs(station, end);
            return;
        }
        here.garbled_at = 0;
        self.tap.note(end, station, Happening::Decode, Some(header.from), 0);
        if header.to == station || header.to == BROADCAST {
            self.receive(station, end, header);
            return;
        }
        let duration_ns = if rules.nav_whole_us { round_to_us(header.duration_ns) } else { header.duration_ns };
        if duration_ns > 0 && end + duration_ns > here.nav {
            here.nav = end + duration_ns;
            self.tap.note(end, station, Happening::Nav, None, end + duration_ns);
        }
    }

    fn hold_eifs(&mut self, station: u32, end: Ns) {
        let until = end + self.rules.phy.eifs_ns();
        let here: &mut Station = &mut self.stations[station as usize];
        if self.rules.eifs_as_nav {
            here.nav = here.nav.max(until);
        } else {
            here.garbled_at = end;
        }
        self.tap.note(end, station, Happening::Eifs, None, until);
    }
}

fn round_to_us(ns: Ns) -> Ns {
    (ns + 500) / 1_000 * 1_000
}
