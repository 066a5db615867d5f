//! Flows that take turns: the scheduler of FQ-CoDel and of Linux's fq, a deficit round robin with a list of new flows
//! that go first.
//!
//! Source: RFC 8290 Sec. 4.1 and 4.2.

use std::collections::{BTreeMap, VecDeque};

use pacelab_engine::Ns;

use super::discipline::{Change, Item};

/// The queue of one flow.
pub(super) trait FlowQueue: Default {
    fn push(&mut self, item: Item);
    fn pop(&mut self, now: Ns, changes: &mut Vec<Change>) -> Option<Item>;
    fn len(&self) -> usize;
    fn take_back(&mut self, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item>;
}

/// A flow. It stays known when it is empty.
#[derive(Clone, Debug)]
struct Flow<Q> {
    queue: Q,
    /// Bytes that it may still send in this turn.
    credit_bytes: i64,
    /// It is in one of the two lists.
    active: bool,
    /// When it left the lists.
    idle_since: Ns,
}

/// All flows, and the two lists of active ones.
#[derive(Clone, Debug)]
pub(super) struct Flows<Q> {
    flows: Vec<Flow<Q>>,
    /// Number of a packet's flow -> place in `flows`.
    places: BTreeMap<u32, usize>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum_bytes: i64,
    waiting: usize,
}

impl<Q: FlowQueue> Flows<Q> {
    pub fn new(quantum_bytes: u32) -> Self {
        Flows {
            flows: Vec::new(),
            places: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum_bytes: quantum_bytes.into(),
            waiting: 0,
        }
    }

    /// Packets waiting in all flows.
    pub fn len(&self) -> usize {
        self.waiting
    }

    pub fn queue_of(&self, item: &Item) -> Option<&Q> {
        self.places.get(&item.flow).map(|&place| &self.flows[place].queue)
    }

    /// Removes a packet by `remove` from the flow for which `measure` is largest, the first one of equal flows.
    pub fn remove_from_largest(
        &mut self,
        measure: impl Fn(&Q) -> u64,
        remove: impl FnOnce(&mut Q) -> Option<Item>,
    ) -> Option<Item> {
        let largest = self.flows.iter_mut().rev().max_by_key(|flow| measure(&flow.queue))?;
        let item = remove(&mut largest.queue)?;
        self.waiting -= 1;
        Some(item)
    }

    /// Adds a packet to its flow. A flow that was idle joins the new ones, with the credit that `begin` gives for its
    /// former credit and the time for which it was idle (None: it is unknown).
    pub fn push(&mut self, item: Item, begin: impl FnOnce(Option<(i64, Ns)>) -> i64) {
        let place = match self.places.get(&item.flow) {
            Some(&place) => {
                let flow = &mut self.flows[place];
                if !flow.active {
                    flow.credit_bytes = begin(Some((flow.credit_bytes, item.at - flow.idle_since)));
                    flow.active = true;
                    self.new.push_back(place);
                }
                place
            }
            None => {
                let place = self.flows.len();
                self.flows.push(Flow { queue: Q::default(), credit_bytes: begin(None), active: true, idle_since: 0 });
                self.places.insert(item.flow, place);
                self.new.push_back(place);
                place
            }
        };
        self.flows[place].queue.push(item);
        self.waiting += 1;
    }

    /// The next packet: of the first new flow with credit, or else of the first old one.
    pub fn pop(&mut self, now: Ns, changes: &mut Vec<Change>) -> Option<Item> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let flow = &mut self.flows[place];
            if flow.credit_bytes <= 0 {
                flow.credit_bytes += self.quantum_bytes;
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let before = flow.queue.len();
            let item = flow.queue.pop(now, changes);
            self.waiting -= before - flow.queue.len();
            if let Some(item) = item {
                flow.credit_bytes -= i64::from(item.bytes);
                return Some(item);
            }
            list.pop_front();
            if is_new {
                self.old.push_back(place); // otherwise a flow that comes back at once would always go first
            } else {
                flow.active = false;
                flow.idle_since = now;
            }
        }
    }

    pub fn take_back(&mut self, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item> {
        let queues = self.flows.iter_mut().map(|flow| &mut flow.queue);
        let taken: Vec<Item> = queues.flat_map(|queue| queue.take_back(wanted)).collect();
        self.waiting -= taken.len();
        taken
    }
}
