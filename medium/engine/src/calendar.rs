//! What is due later: a ring of short days, and a heap for all that comes after the last of them.
//!
//! In a heap alone an entry costs the more, the more there are; here most cost the same among a thousand stations as
//! among a hundred.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A day lasts 2^11 ns: 2 us, in which few of two thousand busy stations have a moment.
const DAY_BITS: u32 = 11;
/// Together 34 ms: backoffs and frames end within them.
const DAYS: usize = 16_384;
const WORD: usize = u64::BITS as usize;

/// No place.
const NONE: u32 = u32::MAX;

/// Keys whose upper 64 bits are a time, the least first.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// Place of some entry of each day, by number modulo `DAYS`; none before the first key. Those of a day are a chain, in
    /// any order, and all lie together: so what is in use fits the processor's caches.
    days: Vec<u32>,
    entries: Vec<Entry>,
    /// The chain of those that are free.
    free: u32,
    /// A bit for each of the days that has keys.
    used: [u64; DAYS / WORD],
    /// Number of the first day.
    today: u64,
    /// Where a day's keys are put in order.
    desk: Vec<u128>,
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
            desk: Vec::new(),
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

    /// Takes the least into `row`, in order, and as many as it holds at most; how many. No key has a time before
    /// `now_ns`, or will have.
    pub fn take(&mut self, now_ns: u64, row: &mut [u128]) -> usize {
        self.today = self.today.max(now_ns >> DAY_BITS);
        while let Some(&Reverse(key)) = self.beyond.peek().filter(|&&Reverse(key)| self.is_within(key)) {
            self.beyond.pop();
            self.note(key);
        }
        let mut taken = 0;
        while let Some(day) = self.first_used().filter(|_| taken < row.len()) {
            self.clear(day);
            self.desk.sort_unstable_by_key(|&key| Reverse(key));
            while let Some(key) = (taken < row.len()).then(|| self.desk.pop()).flatten() {
                row[taken] = key;
                taken += 1;
            }
            while let Some(key) = self.desk.pop() {
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

    /// Puts all keys of a day on the desk.
    fn clear(&mut self, day: usize) {
        self.desk.clear();
        let mut place = std::mem::replace(&mut self.days[day], NONE);
        while let Some(entry) = self.entries.get_mut(place as usize) {
            self.desk.push(entry.key);
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
