//! The event queue, ordered by (time, sequence): events at equal times leave in the order in which they were added.
//!
//! Most new events are due soon: after a SIFS, a slot or a frame. The next events are therefore kept in a short sorted
//! row, in which an insertion moves a few entries and a removal none. Later events wait in a calendar queue: a ring of
//! short days, and a heap for events beyond the last day. In a heap alone the cost of an event grows with the number of
//! events. Here most events cost the same with a thousand stations as with a hundred.
//!
//! Source of the calendar queue: R. Brown, Commun. ACM 31(10), 1988.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Virtual time in nanoseconds.
pub type Ns = u64;

/// Later than every event.
pub const NEVER: Ns = Ns::MAX;

/// Times this close count as the same instant. Propagation delays are rounded to whole ns; without this tolerance the
/// rounding of three distances would decide whether stations on a line hear each other.
pub(crate) const SAME_MOMENT_NS: Ns = 2;

/// Size of the row. Half of it moves to the calendar when it is full. Larger rows than 64 do not help; with 16 a run of
/// 100 nodes takes 4 % longer.
const ROW: usize = 64;

/// A queue of (time, event), first in first out among equal times.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// The next events, the first one last. Empty only if there are no events. Each entry has the time in its upper 64
    /// bits, then 32 bits of sequence and 32 bits of payload, so that one comparison orders two entries.
    row: [u128; ROW],
    /// Entries of the row in use; fewer than all.
    count: usize,
    /// The events after those in the row.
    later: Calendar,
    sequence: u32,
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue { row: [0; ROW], count: 0, later: Calendar::default(), sequence: 0 }
    }
}

impl EventQueue {
    /// Adds `what` at time `at`.
    #[inline]
    pub fn push(&mut self, at: Ns, what: u32) {
        let key = (u128::from(at) << 64) | (u128::from(self.sequence) << 32) | u128::from(what);
        self.sequence = self.sequence.wrapping_add(1);
        if !self.later.is_empty() && key > self.row[0] {
            self.later.add(key);
            return;
        }
        // `count` is less than ROW. The modulo shows that to the compiler, which then omits the bounds checks.
        let mut place = self.count % ROW;
        while place > 0 {
            let before = self.row[place - 1];
            if (before >> 64) as Ns > at {
                break;
            }
            self.row[place] = before;
            place -= 1;
        }
        self.row[place] = key;
        self.count += 1;
        if self.count == ROW {
            self.cut();
        }
    }

    /// Time of the first event, or `NEVER`.
    #[inline]
    pub fn next_at(&self) -> Ns {
        if self.count == 0 { NEVER } else { (self.row[self.count - 1] >> 64) as Ns }
    }

    /// Takes the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ns, u32)> {
        self.pop_before(NEVER)
    }

    /// Takes the first event if it is due before `limit`.
    #[inline]
    pub fn pop_before(&mut self, limit: Ns) -> Option<(Ns, u32)> {
        let last = self.count.checked_sub(1)?;
        let key = self.row[last];
        if (key >> 64) as Ns >= limit {
            return None;
        }
        self.count = last;
        if self.count == 0 {
            self.refill();
        }
        Some(((key >> 64) as Ns, key as u32))
    }

    // The rare cases are not inlined.

    /// Moves the later half of the row to the calendar.
    #[inline(never)]
    fn cut(&mut self) {
        self.row[..ROW / 2].iter().for_each(|&key| self.later.add(key));
        self.row.copy_within(ROW / 2.., 0);
        self.count = ROW / 2;
    }

    /// Refills the empty row with the first events of the calendar.
    #[inline(never)]
    fn refill(&mut self) {
        if !self.later.is_empty() {
            let now = (self.row[0] >> 64) as Ns;
            self.count = self.later.take(now, &mut self.row[..ROW / 2]);
            self.row[..self.count].reverse();
        }
    }
}

/// A day lasts 2^11 ns, about 2 us. Few of two thousand busy stations have an event in one day.
const DAY_BITS: u32 = 11;
/// Together 34 ms, longer than backoffs and frames.
const DAYS: usize = 16_384;
const WORD: usize = u64::BITS as usize;

/// No entry.
const NONE: u32 = u32::MAX;

/// The later events: keys whose upper 64 bits are a time, smallest first.
#[derive(Clone, Debug)]
struct Calendar {
    /// First entry of each day, by day number modulo `DAYS`; allocated with the first key. The entries of a day are a
    /// linked list in any order. All entries are in one vector, so that those in use fit the cache.
    days: Vec<u32>,
    entries: Vec<Entry>,
    /// The linked list of free entries.
    free: u32,
    /// One bit for each day; set if the day has keys.
    used: [u64; DAYS / WORD],
    /// Number of the first day.
    today: u64,
    /// Scratch space in which the keys of a day are sorted.
    scratch: Vec<u128>,
    beyond: BinaryHeap<Reverse<u128>>,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u128,
    next: u32,
}

impl Default for Calendar {
    fn default() -> Self {
        Calendar {
            days: Vec::new(),
            entries: Vec::new(),
            free: NONE,
            used: [0; DAYS / WORD],
            today: 0,
            scratch: Vec::new(),
            beyond: BinaryHeap::new(),
            count: 0,
        }
    }
}

impl Calendar {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline(never)]
    pub fn add(&mut self, key: u128) {
        self.count += 1;
        if self.is_within(key) { self.note(key) } else { self.beyond.push(Reverse(key)) }
    }

    /// Moves the smallest keys into `row`, in order, until it is full. Returns their number. No present or future key
    /// has a time before `now_ns`.
    pub fn take(&mut self, now_ns: u64, row: &mut [u128]) -> usize {
        self.today = self.today.max(now_ns >> DAY_BITS);
        while let Some(&Reverse(key)) = self.beyond.peek().filter(|&&Reverse(key)| self.is_within(key)) {
            self.beyond.pop();
            self.note(key);
        }
        let mut taken = 0;
        while let Some(day) = self.first_used().filter(|_| taken < row.len()) {
            self.clear(day);
            self.scratch.sort_unstable_by_key(|&key| Reverse(key));
            while let Some(key) = (taken < row.len()).then(|| self.scratch.pop()).flatten() {
                row[taken] = key;
                taken += 1;
            }
            while let Some(key) = self.scratch.pop() {
                self.note_on(day, key);
            }
        }
        if taken == 0 {
            while let Some(Reverse(key)) = (taken < row.len()).then(|| self.beyond.pop()).flatten() {
                row[taken] = key;
                taken += 1;
            }
        }
        self.count -= taken;
        taken
    }

    fn is_within(&self, key: u128) -> bool {
        day_of(key) < self.today + DAYS as u64
    }

    fn note(&mut self, key: u128) {
        if self.days.is_empty() {
            self.days = vec![NONE; DAYS];
        }
        self.note_on(day_of(key).max(self.today) as usize % DAYS, key);
    }

    fn note_on(&mut self, day: usize, key: u128) {
        let entry = Entry { key, next: self.days[day] };
        self.days[day] = self.free;
        if let Some(free) = self.entries.get_mut(self.free as usize) {
            self.free = std::mem::replace(free, entry).next;
        } else {
            self.days[day] = self.entries.len() as u32;
            self.entries.push(entry);
        }
        self.used[day / WORD] |= 1 << (day % WORD);
    }

    /// Moves all keys of a day to the scratch space.
    fn clear(&mut self, day: usize) {
        self.scratch.clear();
        let mut place = std::mem::replace(&mut self.days[day], NONE);
        while let Some(entry) = self.entries.get_mut(place as usize) {
            self.scratch.push(entry.key);
            let next = std::mem::replace(&mut entry.next, self.free);
            self.free = std::mem::replace(&mut place, next);
        }
        self.used[day / WORD] &= !(1 << (day % WORD));
    }

    /// Place of the first day with keys.
    fn first_used(&self) -> Option<usize> {
        let today = self.today as usize % DAYS;
        let (word, bit) = (today / WORD, today % WORD);
        let rest_of_word = self.used[word] & (u64::MAX << bit);
        let words = (word + 1..self.used.len()).chain(0..=word).map(|word| (word, self.used[word]));
        let (word, bits) = std::iter::once((word, rest_of_word)).chain(words).find(|&(_, bits)| bits != 0)?;
        Some(word * WORD + bits.trailing_zeros() as usize)
    }
}

fn day_of(key: u128) -> u64 {
    (key >> 64) as u64 >> DAY_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;
    use std::collections::BTreeSet;

    #[test]
    fn equal_times_leave_in_order_of_arrival() {
        let mut event_queue = EventQueue::default();
        event_queue.push(20, 1);
        event_queue.push(10, 2);
        event_queue.push(20, 3);
        event_queue.push(10, 4);
        let order: Vec<_> = std::iter::from_fn(|| event_queue.pop()).collect();
        assert_eq!(order, [(10, 2), (10, 4), (20, 1), (20, 3)]);
        assert_eq!(event_queue.next_at(), NEVER);
    }

    #[test]
    fn more_than_a_row_leave_in_the_same_order() {
        let mut event_queue = EventQueue::default();
        // 0, 7, 14, ... modulo 100 is each of 0..100 once; three of each time
        let times = (0..300).map(|i| i * 7 % 100);
        times.clone().enumerate().for_each(|(what, at)| event_queue.push(at, what as u32));
        let mut expected: Vec<(Ns, u32)> = times.enumerate().map(|(what, at)| (at, what as u32)).collect();
        expected.sort_unstable();
        let first: Vec<_> = (0..150).filter_map(|_| event_queue.pop()).collect();
        assert_eq!(first, expected[..150]);
        // before, between and after the others
        event_queue.push(60, 1000);
        event_queue.push(50, 1001);
        event_queue.push(1000, 1002);
        let rest: Vec<_> = std::iter::from_fn(|| event_queue.pop()).collect();
        let mut late = expected.split_off(150);
        late.extend([(60, 1000), (50, 1001), (1000, 1002)]);
        late.sort_by_key(|&(at, _)| at);
        assert_eq!(rest, late);
    }

    #[test]
    fn events_added_between_removals_leave_in_order() {
        // times within a day and far beyond the calendar's last day; 2,000 at a time
        let mut random = Stream::new(1, 0);
        let mut event_queue = EventQueue::default();
        let mut expected = BTreeSet::new();
        let mut now = 0;
        for what in 0..20_000 {
            let longest = [3, 10_000, 3_000_000, 200_000_000][random.below(4) as usize];
            let wait = random.below(longest);
            event_queue.push(now + Ns::from(wait), what);
            expected.insert((now + Ns::from(wait), what));
            if what >= 2_000 {
                let first = event_queue.pop();
                assert_eq!(first, expected.pop_first());
                now = first.map_or(now, |(at, _)| at);
            }
        }
        let rest: Vec<_> = std::iter::from_fn(|| event_queue.pop()).collect();
        assert_eq!(rest, expected.into_iter().collect::<Vec<_>>());
        assert_eq!(event_queue.next_at(), NEVER);
    }
}
