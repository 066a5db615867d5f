//! The agenda, ordered by (time, sequence): equal times leave in the order they came.
//!
//! Most of what is added is due soon: a SIFS, a slot, a frame from now. So the soonest entries stand in a short row, in
//! which an insertion moves a few and a removal none; the others wait in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Virtual time in nanoseconds.
pub type Ns = u64;

/// Later than every event.
pub const NEVER: Ns = Ns::MAX;

/// Moments this close are the same moment: propagation delays are rounded to whole ns, and stations on a line would
/// otherwise hear each other or not by the rounding of three distances.
pub(crate) const SAME_MOMENT_NS: Ns = 2;

/// The row is cut in half when it is longer. Around 8 to 64 the cost is flat.
const ROW: usize = 32;

/// A queue of (time, what), first in first out among equal times.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    /// The soonest entries, the very first at the end; empty only if all is empty.
    /// Of each: time in the upper 64 bits, then 32 bits of sequence, then 32 of payload: one comparison orders it all.
    row: Vec<u128>,
    /// The entries later than those.
    heap: BinaryHeap<Reverse<u128>>,
    sequence: u32,
}

impl Agenda {
    /// Adds `what` at time `at`.
    #[inline]
    pub fn push(&mut self, at: Ns, what: u32) {
        let key = (u128::from(at) << 64) | (u128::from(self.sequence) << 32) | u128::from(what);
        self.sequence = self.sequence.wrapping_add(1);
        if !self.heap.is_empty() && key > self.row[0] {
            self.heap.push(Reverse(key));
            return;
        }
        let mut place = self.row.len();
        self.row.push(key);
        while place > 0 && (self.row[place - 1] >> 64) as Ns <= at {
            self.row[place] = self.row[place - 1];
            place -= 1;
        }
        self.row[place] = key;
        if self.row.len() > ROW {
            self.heap.extend(self.row.drain(..ROW / 2).map(Reverse));
        }
    }

    /// Time of the first event, or `NEVER`.
    #[inline]
    pub fn next_at(&self) -> Ns {
        self.row.last().map_or(NEVER, |key| (key >> 64) as Ns)
    }

    /// Takes the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ns, u32)> {
        let key = self.row.pop()?;
        if self.row.is_empty() {
            self.refill();
        }
        Some(((key >> 64) as Ns, key as u32))
    }

    #[cold]
    fn refill(&mut self) {
        while self.row.len() < ROW / 2 {
            let Some(Reverse(key)) = self.heap.pop() else { break };
            self.row.push(key);
        }
        self.row.reverse();
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
