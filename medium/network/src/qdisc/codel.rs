//! CoDel: drops packets while each of them has waited longer than the target for a whole interval.
//!
//! Source: RFC 8289, the pseudocode of Sec. 5. Marking instead of dropping follows Linux (`include/net/codel_impl.h`):
//! a marked packet is sent, so one `pop` marks one packet at most.

use std::collections::VecDeque;

use pacelab_engine::Ns;

use super::discipline::{Change, Discipline, Item, MTU_BYTES, split_off};

/// RFC 8289 Sec. 4.3 and 4.4.
const TARGET_NS: Ns = 5_000_000;
const INTERVAL_NS: Ns = 100_000_000;

/// A first-in-first-out queue under CoDel, without a limit of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct CodelQueue {
    items: VecDeque<Item>,
    bytes: u64,
    /// Largest packet so far, at least the MTU. A queue of no more than that is never too long.
    largest_bytes: u32,
    law: Law,
}

/// The variables of RFC 8289 Sec. 5.3.
#[derive(Clone, Copy, Debug, Default)]
struct Law {
    /// When the queue will have been too long for an interval. None: it is short.
    first_above: Option<Ns>,
    drop_next: Ns,
    /// Packets dropped since the dropping state began, and the value of the last time.
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// The time of the next drop: an interval, divided by the square root of the number of drops, after `at`.
fn control_law(at: Ns, count: u32) -> Ns {
    at + (INTERVAL_NS as f64 / f64::from(count).sqrt()) as Ns
}

impl CodelQueue {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn push(&mut self, item: Item) {
        self.bytes += u64::from(item.bytes);
        self.largest_bytes = self.largest_bytes.max(item.bytes).max(MTU_BYTES);
        self.items.push_back(item);
    }

    /// Removes the oldest packet, without CoDel's decision.
    pub fn pop_oldest(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.bytes -= u64::from(item.bytes);
        Some(item)
    }

    pub fn take_back(&mut self, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item> {
        let taken = split_off(&mut self.items, wanted);
        self.bytes -= taken.iter().map(|item| u64::from(item.bytes)).sum::<u64>();
        taken
    }

    /// `dodequeue` of the RFC: the oldest packet, and whether it may be dropped.
    fn next(&mut self, now: Ns) -> (Option<Item>, bool) {
        let Some(item) = self.pop_oldest() else {
            self.law.first_above = None;
            return (None, false);
        };
        if now - item.at < TARGET_NS || self.bytes <= u64::from(self.largest_bytes) {
            self.law.first_above = None;
            return (Some(item), false);
        }
        let since = *self.law.first_above.get_or_insert(now + INTERVAL_NS);
        (Some(item), now >= since)
    }

    /// `dequeue` of the RFC.
    pub fn pop(&mut self, now: Ns, changes: &mut Vec<Change>) -> Option<Item> {
        let (mut next, mut may_drop) = self.next(now);
        if next.is_none() || (self.law.dropping && !may_drop) {
            self.law.dropping = false;
        }
        if self.law.dropping {
            while self.law.dropping && now >= self.law.drop_next {
                let Some(item) = next else { break };
                self.law.count += 1;
                if item.ecn_capable {
                    changes.push(Change::Marked(item.id));
                    self.law.drop_next = control_law(self.law.drop_next, self.law.count);
                    break;
                }
                changes.push(Change::Dropped(item, "codel"));
                (next, may_drop) = self.next(now);
                if may_drop {
                    self.law.drop_next = control_law(self.law.drop_next, self.law.count);
                } else {
                    self.law.dropping = false;
                }
            }
        } else if let Some(item) = next.filter(|_| may_drop) {
            if item.ecn_capable {
                changes.push(Change::Marked(item.id));
            } else {
                changes.push(Change::Dropped(item, "codel"));
                (next, _) = self.next(now);
            }
            self.begin_dropping(now);
        }
        next
    }

    /// Enters the dropping state. Shortly after the last one, it continues at the rate at which that one ended.
    fn begin_dropping(&mut self, now: Ns) {
        let law = &mut self.law;
        let delta = law.count.saturating_sub(law.last_count);
        let recent = now < law.drop_next + 16 * INTERVAL_NS;
        law.count = if delta > 1 && recent { delta } else { 1 };
        law.drop_next = control_law(now, law.count);
        law.last_count = law.count;
        law.dropping = true;
    }
}

/// CoDel on one queue for all flows.
#[derive(Clone, Debug)]
pub struct Codel {
    queue: CodelQueue,
    limit_pkts: usize,
}

impl Codel {
    /// An empty queue in which at most `limit_pkts` packets wait.
    pub fn new(limit_pkts: usize) -> Self {
        Codel { queue: CodelQueue::default(), limit_pkts }
    }
}

impl Discipline for Codel {
    fn push(&mut self, item: Item, changes: &mut Vec<Change>) {
        if self.queue.len() >= self.limit_pkts {
            changes.push(Change::Dropped(item, "full"));
        } else {
            self.queue.push(item);
        }
    }

    fn pop(&mut self, now: Ns, changes: &mut Vec<Change>) -> Option<Item> {
        self.queue.pop(now, changes)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn take_back(&mut self, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item> {
        self.queue.take_back(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::super::discipline::testing::{MS, item, pop, push};
    use super::*;

    /// A queue with `count` packets that were all pushed at 0.
    fn filled(count: u32, ecn_capable: bool) -> Codel {
        let mut queue = Codel::new(1000);
        for id in 0..count {
            assert!(push(&mut queue, Item { ecn_capable, ..item(id, 0, 0) }).is_empty());
        }
        queue
    }

    #[test]
    fn drops_come_at_intervals_divided_by_the_square_root_of_their_number() {
        // A packet leaves each 10 ms. At 10 ms the wait exceeds 5 ms, so the first drop is at 110 ms. The drops that
        // follow are due 100, 70.7, 57.7, 50, 44.7, 40.8 ms after one another: at 210, 280.7, 338.4, 388.4, 433.2 and
        // 474.0 ms; each happens at the next pop.
        let mut queue = filled(100, false);
        let mut drops = Vec::new();
        for step in 1..=50 {
            let (sent, dropped, marked) = pop(&mut queue, step * 10 * MS);
            assert!(sent.is_some() && marked.is_empty());
            drops.extend(dropped.iter().map(|_| step * 10));
        }
        assert_eq!(drops, [110, 210, 290, 340, 390, 440, 480]);
    }

    #[test]
    fn packets_that_wait_less_than_the_target_are_never_dropped() {
        let mut queue = Codel::new(1000);
        for step in 0..1000 {
            for place in 0..5 {
                push(&mut queue, item(step * 5 + place, 0, Ns::from(step) * 5 * MS));
            }
            for place in 0..5 {
                // the last one has waited 4 ms
                let (sent, dropped, _) = pop(&mut queue, Ns::from(step) * 5 * MS + Ns::from(place) * MS);
                assert_eq!((sent, dropped), (Some(step * 5 + place), vec![]));
            }
        }
    }

    #[test]
    fn the_last_packet_is_sent_however_long_it_waited() {
        let mut queue = filled(3, false);
        assert_eq!(pop(&mut queue, 200 * MS), (Some(0), vec![], vec![])); // 3000 B remain: the interval begins
        assert_eq!(pop(&mut queue, 400 * MS), (Some(1), vec![], vec![])); // one packet remains, no more than the MTU
        assert_eq!(pop(&mut queue, 900 * MS), (Some(2), vec![], vec![]));
        assert_eq!(pop(&mut queue, 900 * MS), (None, vec![], vec![]));
    }

    #[test]
    fn several_packets_are_dropped_at_once_when_pops_are_rare() {
        // Pops at 10 and 110 ms enter the dropping state; the next drop is due at 210 ms, then 280.7, 338.4, 388.4 and
        // 433.2 ms. The pop at 400 ms makes up for four of them.
        let mut queue = filled(100, false);
        pop(&mut queue, 10 * MS);
        assert_eq!(pop(&mut queue, 110 * MS).1, [1]);
        assert_eq!(pop(&mut queue, 400 * MS), (Some(7), vec![3, 4, 5, 6], vec![]));
        assert_eq!(pop(&mut queue, 433 * MS).1, [0; 0]);
        assert_eq!(pop(&mut queue, 434 * MS).1, [9]);
    }

    #[test]
    fn ecn_capable_packets_are_marked_and_sent() {
        let mut queue = filled(100, true);
        pop(&mut queue, 10 * MS);
        assert_eq!(pop(&mut queue, 110 * MS), (Some(1), vec![], vec![1]));
        // one mark a pop, although four drops are due
        assert_eq!(pop(&mut queue, 400 * MS), (Some(2), vec![], vec![2]));
        assert_eq!(pop(&mut queue, 400 * MS), (Some(3), vec![], vec![3]));
    }

    #[test]
    fn a_second_dropping_state_soon_after_continues_at_the_rate_of_the_first() {
        // Further drops come at 520, 550, 590, 620, 650, 680 and 700 ms: 14 in all. The law is then due at 725.5 ms.
        let mut queue = filled(90, false);
        let mut drops = 0;
        for step in 1..=70 {
            drops += pop(&mut queue, step * 10 * MS).1.len();
        }
        assert_eq!((drops, queue.len()), (14, 6));
        for _ in 0..6 {
            assert_eq!(pop(&mut queue, 701 * MS).1, [0; 0]); // the last one leaves the dropping state
        }
        for id in 200..300 {
            push(&mut queue, item(id, 0, 702 * MS));
        }
        pop(&mut queue, 710 * MS);
        assert_eq!(pop(&mut queue, 810 * MS).1, [201]);
        // count - last count = 13: the next drop comes 100 ms / sqrt(13) = 27.7 ms later, not 100 ms
        assert_eq!(pop(&mut queue, 837 * MS).1, [0; 0]);
        assert_eq!(pop(&mut queue, 838 * MS).1, [204]);
    }

    #[test]
    fn a_full_queue_refuses_the_packet_that_arrives() {
        let mut queue = Codel::new(2);
        assert!(push(&mut queue, item(0, 0, 0)).is_empty());
        assert!(push(&mut queue, item(1, 0, 0)).is_empty());
        assert_eq!(push(&mut queue, item(2, 0, 0)), [(2, "full")]);
        assert_eq!(queue.len(), 2);
    }
}
