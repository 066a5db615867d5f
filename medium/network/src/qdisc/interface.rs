//! The queue of one interface in a network: its disciplines and their measurements.

use std::collections::BTreeMap;

use pacelab_engine::Ns;

use super::discipline::{Change, Discipline, Item, Reason};

/// The queue above a radio or wire: one discipline for each access category.
#[derive(Debug)]
pub(crate) struct Interface {
    disciplines: Vec<Box<dyn Discipline>>,
    pub meter: Meter,
    /// Changes that the network has not handled yet.
    pub changes: Vec<Change>,
}

/// Measurements since the end of the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    /// Dropped packets by reason.
    pub drops: BTreeMap<Reason, u64>,
    pub marked: u64,
    /// Packets that pass at once do not count as waiting.
    pub most_pkts: u64,
    /// Integrals over time of the number of packets and of its square, in packets times ns.
    pub pkt_ns: u128,
    pub pkt2_ns: u128,
    changed_at: Ns,
    /// Waits of the packets that were sent.
    pub sent: u64,
    wait_ns: u128,
    most_wait_ns: Ns,
}

impl Interface {
    pub fn new(disciplines: Vec<Box<dyn Discipline>>) -> Self {
        Interface { disciplines, meter: Meter::default(), changes: Vec::new() }
    }

    /// Packets waiting in all categories.
    pub fn len(&self) -> usize {
        self.disciplines.iter().map(|discipline| discipline.len()).sum()
    }

    /// Whether a packet of this category waits.
    pub fn has(&self, category: usize) -> bool {
        !self.disciplines[category].is_empty()
    }

    pub fn push(&mut self, category: usize, item: Item) {
        self.note_length(item.at);
        let before = self.changes.len();
        self.disciplines[category].push(item, &mut self.changes);
        self.count_changes(before);
    }

    pub fn pop(&mut self, now: Ns, category: usize) -> Option<Item> {
        self.note_length(now);
        let before = self.changes.len();
        let item = self.disciplines[category].pop(now, &mut self.changes);
        self.count_changes(before);
        let item = item?;
        let wait_ns = now - item.at;
        self.meter.sent += 1;
        self.meter.wait_ns += u128::from(wait_ns);
        self.meter.most_wait_ns = self.meter.most_wait_ns.max(wait_ns);
        Some(item)
    }

    pub fn take_back(&mut self, now: Ns, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item> {
        self.note_length(now);
        self.disciplines.iter_mut().flat_map(|discipline| discipline.take_back(wanted)).collect()
    }

    /// Resets all measurements.
    pub fn reset(&mut self, now: Ns) {
        self.meter = Meter { changed_at: now, ..Meter::default() };
    }

    /// Adds the time since the last change at the present length. Call this before the length changes.
    pub fn note_length(&mut self, now: Ns) {
        let (waiting, lasted) = (self.len() as u128, u128::from(now - self.meter.changed_at));
        if lasted > 0 {
            self.meter.most_pkts = self.meter.most_pkts.max(self.len() as u64);
        }
        self.meter.pkt_ns += waiting * lasted;
        self.meter.pkt2_ns += waiting * waiting * lasted;
        self.meter.changed_at = now;
    }

    fn count_changes(&mut self, from: usize) {
        for change in &self.changes[from..] {
            match change {
                Change::Dropped(_, reason) => *self.meter.drops.entry(reason).or_insert(0) += 1,
                Change::Marked(_) => self.meter.marked += 1,
            }
        }
    }
}

impl Meter {
    /// Mean and largest time that the packets waited which were sent, in s. None: no packet was sent.
    pub fn waits_s(&self) -> Option<(f64, f64)> {
        let mean_ns = self.wait_ns as f64 / self.sent as f64;
        (self.sent > 0).then_some((mean_ns / 1e9, self.most_wait_ns as f64 / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::super::discipline::testing::{MS, item};
    use super::super::fq_codel::FqCodel;
    use super::*;

    #[test]
    fn length_waits_and_drops_are_measured() {
        let mut interface = Interface::new(vec![Box::new(FqCodel::new(2))]);
        interface.push(0, item(1, 1, 0));
        interface.push(0, item(2, 1, 10 * MS)); // one packet waited for 10 ms
        interface.push(0, item(3, 1, 20 * MS)); // two for 10 ms; the queue is full and loses packet 1
        interface.pop(30 * MS, 0); // two for 10 ms; packet 2 waited for 20 ms
        interface.note_length(40 * MS); // one for 10 ms
        let meter = &interface.meter;
        assert_eq!(meter.most_pkts, 2);
        assert_eq!(meter.pkt_ns, u128::from(60 * MS));
        assert_eq!(meter.pkt2_ns, u128::from(100 * MS));
        assert_eq!((meter.sent, meter.waits_s()), (1, Some((0.02, 0.02))));
        assert_eq!(meter.drops, BTreeMap::from([("full", 1)]));
        assert_eq!(interface.changes, [Change::Dropped(item(1, 1, 0), "full")]);
    }
}
