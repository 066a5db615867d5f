//! The event heap, ordered by (time, sequence): equal times leave in the order they came.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Virtual time in nanoseconds.
pub type Ns = u64;

/// Later than every event.
pub const NEVER: Ns = Ns::MAX;

/// Moments this close are the same moment: propagation delays are rounded to whole ns, and stations on a line would
/// otherwise hear each other or not by the rounding of three distances.
pub(crate) const SAME_MOMENT_NS: Ns = 2;

/// A heap of (time, what), first in first out among equal times.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    /// time in the upper 64 bits, then 32 bits of sequence, then 32 of payload: one comparison orders it all.
    heap: BinaryHeap<Reverse<u128>>,
    sequence: u32,
}

impl Agenda {
    /// Adds `what` at time `at`.
    #[inline]
    pub fn push(&mut self, at: Ns, what: u32) {
        let key = (u128::from(at) << 64) | (u128::from(self.sequence) << 32) | u128::from(what);
        self.sequence = self.sequence.wrapping_add(1);
        self.heap.push(Reverse(key));
    }

    /// Time of the first event, or `NEVER`.
    #[inline]
    pub fn next_at(&self) -> Ns {
        self.heap.peek().map_or(NEVER, |Reverse(key)| (key >> 64) as Ns)
    }

    /// Takes the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ns, u32)> {
        self.heap.pop().map(|Reverse(key)| ((key >> 64) as Ns, key as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_leave_in_order_of_arrival() {
        let mut agenda = Agenda::default();
        agenda.push(20, 1);
        agenda.push(10, 2);
        agenda.push(20, 3);
        agenda.push(10, 4);
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [(10, 2), (10, 4), (20, 1), (20, 3)]);
        assert_eq!(agenda.next_at(), NEVER);
    }
}
