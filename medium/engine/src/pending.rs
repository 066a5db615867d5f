//! The frames under way to a station, by start.
//!
//! Mostly it is one, which lies in the station itself: so hundreds of stations are told of a frame and little memory is
//! touched.

use crate::agenda::Ns;
use crate::frame::Arrival;

#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    first: Option<Arrival>,
    /// None if there is no first.
    others: Vec<Arrival>,
}

impl Pending {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub fn first(&self) -> Option<&Arrival> {
        self.first.as_ref()
    }

    /// Another one begins before `end`.
    #[inline]
    pub fn meets_another(&self, end: Ns) -> bool {
        self.others.first().is_some_and(|next| next.start < end)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arrival> {
        self.first.iter().chain(&self.others)
    }

    /// One more is on its way; behind those that begin in the same moment. It is made where it is to lie.
    #[inline]
    pub fn add(&mut self, arrival: impl FnOnce() -> Arrival) {
        if self.first.is_none() {
            self.first = Some(arrival());
        } else {
            self.add_to_others(arrival());
        }
    }

    #[inline(never)]
    fn add_to_others(&mut self, arrival: Arrival) {
        if let Some(first) = self.first.as_mut().filter(|first| arrival.start < first.start) {
            self.others.insert(0, std::mem::replace(first, arrival));
        } else {
            let place = self.others.partition_point(|other| other.start <= arrival.start);
            self.others.insert(place, arrival);
        }
    }

    /// The first is here.
    #[inline]
    pub fn drop_first(&mut self) {
        self.first = None;
        if !self.others.is_empty() {
            self.move_up();
        }
    }

    #[inline(never)]
    fn move_up(&mut self) {
        self.first = Some(self.others.remove(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Header, Kind};

    fn arrival(start: Ns, from: u32) -> Arrival {
        let header = Header {
            kind: Kind::Data,
            from,
            to: 9,
            duration_ns: 0,
            packet: 0,
            number: 0,
            protected: false,
            rate_bps: 1,
        };
        Arrival { start, end: start + 10, power_w: 1.0, decodable: true, addressed: false, loss: 0.0, header }
    }

    #[test]
    fn frames_leave_by_start_and_equal_ones_as_they_came() {
        let mut pending = Pending::default();
        for (start, from) in [(20, 1), (30, 2), (20, 3), (10, 4), (20, 5), (10, 6)] {
            pending.add(|| arrival(start, from));
        }
        let mut order = Vec::new();
        while let Some(first) = pending.first() {
            order.push((first.start, first.header.from));
            pending.drop_first();
        }
        assert_eq!(order, [(10, 4), (10, 6), (20, 1), (20, 3), (20, 5), (30, 2)]);
        assert!(pending.is_empty());
    }

    #[test]
    fn the_first_meets_what_begins_before_its_end() {
        let mut pending = Pending::default();
        pending.add(|| arrival(10, 1));
        assert!(!pending.meets_another(20));
        pending.add(|| arrival(20, 2));
        assert!(!pending.meets_another(20));
        assert!(pending.meets_another(21));
    }
}
