//! FQ-CoDel: each flow has its own queue under CoDel, and flows take turns by bytes. A flow that sends less than its
//! turn allows goes first.
//!
//! Source: RFC 8290. Deviates: each flow has a queue of its own, where the RFC hashes flows to 1024 queues.

use pacelab_engine::Ns;

use super::codel::CodelQueue;
use super::discipline::{Change, Discipline, FRAME_BYTES, Item};
use super::flows::{FlowQueue, Flows};

/// FQ-CoDel on one interface.
#[derive(Clone, Debug)]
pub struct FqCodel {
    flows: Flows<CodelQueue>,
    limit_pkts: usize,
}

impl FqCodel {
    /// An empty queue in which at most `limit_pkts` packets wait.
    pub fn new(limit_pkts: usize) -> Self {
        FqCodel { flows: Flows::new(FRAME_BYTES), limit_pkts }
    }
}

impl FlowQueue for CodelQueue {
    fn push(&mut self, item: Item) {
        self.push(item);
    }

    fn pop(&mut self, now: Ns, changes: &mut Vec<Change>) -> Option<Item> {
        self.pop(now, changes)
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn take_back(&mut self, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item> {
        self.take_back(wanted)
    }
}

impl Discipline for FqCodel {
    /// If the queue is full, the flow with the most bytes loses its oldest packet (RFC 8290 Sec. 4.1.3).
    fn push(&mut self, item: Item, changes: &mut Vec<Change>) {
        self.flows.push(item, |_| FRAME_BYTES.into());
        if self.flows.len() > self.limit_pkts {
            let dropped = self.flows.remove_from_largest(CodelQueue::bytes, CodelQueue::pop_oldest);
            changes.extend(dropped.map(|item| Change::Dropped(item, "full")));
        }
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

    /// Pops `count` packets at `now` and returns their numbers.
    fn leave(queue: &mut FqCodel, now: Ns, count: usize) -> Vec<u32> {
        (0..count).filter_map(|_| pop(queue, now).0).collect()
    }

    #[test]
    fn two_full_flows_take_turns_by_bytes() {
        // A turn is 1514 B. Flow 1 sends packets of 1500 B and has 14 B left, so it sends a second one in its first
        // turn; flow 2 sends packets of 500 B, four in its first turn. Each turn after that gives 1514 B again.
        let mut queue = FqCodel::new(1000);
        for id in 0..10 {
            push(&mut queue, item(id, 1, 0));
        }
        for id in 100..130 {
            push(&mut queue, Item { bytes: 500, ..item(id, 2, 0) });
        }
        // credits: flow 1: 1514, 14, -1486; flow 2: 1514, 1014, 514, 14, -486; then flow 1: 28, -1472; flow 2: 1028,
        // 528, 28, -472; flow 1: 42, ...
        assert_eq!(leave(&mut queue, 0, 2), [0, 1]);
        assert_eq!(leave(&mut queue, 0, 4), [100, 101, 102, 103]);
        assert_eq!(leave(&mut queue, 0, 1), [2]);
        assert_eq!(leave(&mut queue, 0, 3), [104, 105, 106]);
        assert_eq!(leave(&mut queue, 0, 1), [3]);
    }

    #[test]
    fn a_flow_that_appears_goes_before_those_that_wait() {
        let mut queue = FqCodel::new(1000);
        for id in 0..10 {
            push(&mut queue, item(id, 1, 0));
        }
        leave(&mut queue, 0, 3); // flow 1 is an old flow now
        push(&mut queue, Item { bytes: 60, ..item(100, 2, 0) });
        assert_eq!(leave(&mut queue, 0, 2), [100, 3]);
    }

    #[test]
    fn a_flow_that_was_new_cannot_stay_first_by_sending_again_at_once() {
        // RFC 8290 Sec. 4.2: an empty new flow becomes an old one, so that its next packet waits for its turn. Flow 1
        // sends 16 packets of 100 B in a turn of 1514 B. Its second turn has 1428 B, 1228 B of them after packet 17: 13
        // packets more.
        let mut queue = FqCodel::new(1000);
        for id in 0..40 {
            push(&mut queue, Item { bytes: 100, ..item(id, 1, 0) });
        }
        leave(&mut queue, 0, 17);
        push(&mut queue, Item { bytes: 60, ..item(100, 2, 0) });
        assert_eq!(leave(&mut queue, 0, 2), [100, 17]);
        push(&mut queue, Item { bytes: 60, ..item(101, 2, 0) });
        assert_eq!(leave(&mut queue, 0, 13), (18..31).collect::<Vec<_>>());
        assert_eq!(leave(&mut queue, 0, 1), [101]);
    }

    #[test]
    fn a_full_queue_drops_the_oldest_packet_of_the_largest_flow() {
        let mut queue = FqCodel::new(5);
        for id in 0..4 {
            push(&mut queue, item(id, 1, 0));
        }
        assert!(push(&mut queue, Item { bytes: 60, ..item(100, 2, 0) }).is_empty());
        assert_eq!(push(&mut queue, Item { bytes: 60, ..item(101, 2, 0) }), [(0, "full")]);
        assert_eq!(queue.len(), 5);
    }

    #[test]
    fn codel_acts_on_each_flow_alone() {
        // Flow 1 has a standing queue, flow 2 a packet every 10 ms that leaves at once.
        let mut queue = FqCodel::new(1000);
        for id in 0..60 {
            push(&mut queue, item(id, 1, 0));
        }
        let (mut dropped, mut sparse) = (Vec::new(), 0);
        for step in 1..40 {
            push(&mut queue, item(1000 + step, 2, Ns::from(step) * 10 * MS));
            for _ in 0..2 {
                let (sent, lost, _) = pop(&mut queue, Ns::from(step) * 10 * MS);
                dropped.extend(lost);
                sparse += u32::from(sent.is_some_and(|id| id >= 1000));
            }
        }
        assert_eq!(sparse, 39);
        // the law of flow 1 alone: 110, 210, 290, 340, 390 ms (see `codel`)
        assert_eq!(dropped.len(), 5);
        assert!(dropped.iter().all(|&id| id < 1000));
    }

    #[test]
    fn packets_for_a_broken_link_are_taken_back_from_every_flow() {
        use crate::ids::NodeId;
        let mut queue = FqCodel::new(1000);
        for id in 0..6 {
            push(&mut queue, Item { next_hop: Some(NodeId(id % 3)), ..item(id, id % 2, 0) });
        }
        let taken = queue.take_back(&|item| item.next_hop == Some(NodeId(0)));
        assert_eq!(taken.iter().map(|item| item.id.0).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(queue.len(), 4);
        assert_eq!(leave(&mut queue, 0, 10).len(), 4);
    }
}
