//! fq: flows take turns, and no packet is dropped or marked for its delay.
//!
//! Source: Linux 6.1, `net/sched/sch_fq.c`, with its default parameters. Deviates: it does not hold packets back until
//! the time at which their sender wants them to leave, because senders here space their packets themselves.

use std::collections::VecDeque;

use pacelab_engine::Ns;

use super::discipline::{Change, Discipline, FRAME_BYTES, Item, split_off};
use super::flows::{FlowQueue, Flows};

/// Packets of one flow that may wait.
const FLOW_LIMIT_PKTS: usize = 100;
/// Credit of a turn, and of the first turn of a flow.
const QUANTUM_BYTES: u32 = 2 * FRAME_BYTES;
const INITIAL_BYTES: u32 = 10 * FRAME_BYTES;
/// A flow that was idle for this long has the credit of a turn at least.
const REFILL_NS: Ns = 40_000_000;

/// The queue of one flow, first in, first out.
#[derive(Clone, Debug, Default)]
struct Fifo(VecDeque<Item>);

impl FlowQueue for Fifo {
    fn push(&mut self, item: Item) {
        self.0.push_back(item);
    }

    fn pop(&mut self, _now: Ns, _changes: &mut Vec<Change>) -> Option<Item> {
        self.0.pop_front()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn take_back(&mut self, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item> {
        split_off(&mut self.0, wanted)
    }
}

/// fq on one interface.
#[derive(Clone, Debug)]
pub struct Fq {
    flows: Flows<Fifo>,
    limit_pkts: usize,
}

impl Fq {
    /// An empty queue in which at most `limit_pkts` packets wait.
    pub fn new(limit_pkts: usize) -> Self {
        Fq { flows: Flows::new(QUANTUM_BYTES), limit_pkts }
    }
}

impl Discipline for Fq {
    fn push(&mut self, item: Item, changes: &mut Vec<Change>) {
        if self.flows.len() >= self.limit_pkts {
            changes.push(Change::Dropped(item, "full"));
            return;
        }
        if self.flows.queue_of(&item).is_some_and(|queue| queue.len() >= FLOW_LIMIT_PKTS) {
            changes.push(Change::Dropped(item, "flow-full"));
            return;
        }
        self.flows.push(item, |former| match former {
            None => INITIAL_BYTES.into(),
            Some((credit_bytes, idle_ns)) if idle_ns > REFILL_NS => credit_bytes.max(QUANTUM_BYTES.into()),
            Some((credit_bytes, _)) => credit_bytes,
        });
    }

    fn pop(&mut self, now: Ns, changes: &mut Vec<Change>) -> Option<Item> {
        self.flows.pop(now, changes)
    }

    fn len(&self) -> usize {
        self.flows.len()
    }

    fn take_back(&mut self, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item> {
        self.flows.take_back(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::super::discipline::testing::{MS, item, pop, push};
    use super::*;

    fn leave(queue: &mut Fq, count: usize) -> Vec<u32> {
        (0..count).filter_map(|_| pop(queue, 1000 * MS).0).collect()
    }

    #[test]
    fn flows_take_turns_after_a_longer_first_turn() {
        // First turn: 15140 B, so eleven packets of 1500 B (credit 140 B before the last one). Then 3028 B a turn: the
        // debt of 1360 B leaves 1668 B, two packets; then 1696 B (3028 - 1332), two packets.
        let mut queue = Fq::new(1000);
        for id in 0..50 {
            push(&mut queue, item(id, 1, 0));
            push(&mut queue, item(100 + id, 2, 0));
        }
        assert_eq!(leave(&mut queue, 11), (0..11).collect::<Vec<_>>());
        assert_eq!(leave(&mut queue, 11), (100..111).collect::<Vec<_>>());
        assert_eq!(leave(&mut queue, 6), [11, 12, 111, 112, 13, 14]);
    }

    #[test]
    fn packets_that_wait_for_long_are_not_dropped() {
        let mut queue = Fq::new(1000);
        for id in 0..60 {
            push(&mut queue, item(id, 1, 0));
        }
        assert_eq!(leave(&mut queue, 60).len(), 60);
    }

    #[test]
    fn a_flow_has_a_limit_of_its_own() {
        let mut queue = Fq::new(150);
        for id in 0..100 {
            assert!(push(&mut queue, item(id, 1, 0)).is_empty());
        }
        assert_eq!(push(&mut queue, item(100, 1, 0)), [(100, "flow-full")]);
        for id in 200..250 {
            assert!(push(&mut queue, item(id, 2, 0)).is_empty());
        }
        assert_eq!(push(&mut queue, item(250, 2, 0)), [(250, "full")]);
    }
}
