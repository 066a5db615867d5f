//! The frames under way to a station, by start.
//!
//! Mostly it is one, which lies in the station itself: so hundreds of stations are told of a frame and little memory is
//! touched.

use crate::agenda::Ns;
use crate::frame::Arrival;

#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Pending {
    first: Option<Arrival>,
    /// None if there is no first.
    next: Option<Box<Waiting>>,
}

/// A frame behind the first.
#[derive(Clone, Debug)]
struct Waiting {
    arrival: Arrival,
    next: Option<Box<Waiting>>,
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
        self.next.as_ref().is_some_and(|next| next.arrival.start < end)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arrival> {
        let others = std::iter::successors(self.next.as_deref(), |waiting| waiting.next.as_deref());
        self.first.iter().chain(others.map(|waiting| &waiting.arrival))
    }

    /// One more is on its way; behind those that begin in the same moment. It is made where it is to lie.
    #[inline]
    pub fn add(&mut self, arrival: impl FnOnce() -> Arrival) {
        if self.first.is_none() {
            self.first = Some(arrival());
        } else {
            self.add_behind(arrival());
        }
    }

    #[inline(never)]
    fn add_behind(&mut self, arrival: Arrival) {
        if let Some(first) = self.first.as_mut().filter(|first| arrival.start < first.start) {
            let arrival = std::mem::replace(first, arrival);
            self.next = Some(Box::new(Waiting { arrival, next: self.next.take() }));
        } else {
            insert(&mut self.next, arrival);
        }
    }

    /// The first is here.
    #[inline]
    pub fn drop_first(&mut self) {
        self.first = None;
        if self.next.is_some() {
            self.move_up();
        }
    }

    #[inline(never)]
    fn move_up(&mut self) {
        if let Some(waiting) = self.next.take() {
            self.first = Some(waiting.arrival);
            self.next = waiting.next;
        }
    }
}

/// Puts a frame behind those that begin before it or with it.
fn insert(place: &mut Option<Box<Waiting>>, arrival: Arrival) {
    match place {
        Some(waiting) if waiting.arrival.start <= arrival.start => insert(&mut waiting.next, arrival),
        _ => *place = Some(Box::new(Waiting { arrival, next: place.take() })),
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
        Arrival {
            start,
            airtime_ns: 10,
            hold_ns: 0,
            power_w: 1.0,
            decodable: true,
            addressed: false,
            loss: 0.0,
            header,
        }
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
