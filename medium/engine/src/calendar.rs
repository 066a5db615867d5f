//! What is due later: a ring of short days, and a heap for all that comes after the last of them.
//!
//! In a heap alone an entry costs the more, the more there are; here most cost the same among a thousand stations as
//! among a hundred.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A day lasts 2^14 ns: 16 us, in which few of a thousand busy stations have a moment.
const DAY_BITS: u32 = 14;
/// Together 34 ms: backoffs and frames end within them.
const DAYS: usize = 2048;
const WORD: usize = u64::BITS as usize;

/// Keys whose upper 64 bits are a time, the least first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    /// By number modulo `DAYS`, in any order within one; none before the first key.
    days: Vec<Vec<u128>>,
    /// A bit for each of these that has keys.
    used: [u64; DAYS / WORD],
    /// Number of the first day.
    today: u64,
    beyond: BinaryHeap<Reverse<u128>>,
    count: usize,
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
            let keys = &mut self.days[day];
            keys.sort_unstable_by_key(|&key| Reverse(key));
            let rest = keys.len().saturating_sub(row.len() - taken);
            for key in keys.drain(rest..).rev() {
                row[taken] = key;
                taken += 1;
            }
            if rest == 0 {
                self.used[day / WORD] &= !(1 << (day % WORD));
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
            self.days = vec![Vec::new(); DAYS];
        }
        let day = day_of(key).max(self.today) as usize % DAYS;
        self.days[day].push(key);
        self.used[day / WORD] |= 1 << (day % WORD);
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
