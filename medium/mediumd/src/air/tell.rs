//! The ring between the air and those who listen: when it is full, what happens is not told, and that is counted.
//! The air never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use nix::sys::eventfd::EventFd;

use crate::frames::event::Event;

/// Events under way; at 5,000 a second three seconds' worth.
const RING_EVENTS: usize = 16_384;

/// What both sides see.
#[derive(Debug, Default)]
pub struct Shared {
    /// Kinds that anyone wants.
    pub wanted: AtomicU32,
    /// Events that went into the ring.
    pub told: AtomicU64,
    /// Events that did not.
    pub lost: AtomicU64,
}

/// The air's side.
#[derive(Debug)]
pub struct Teller {
    ring: SyncSender<Event>,
    shared: Arc<Shared>,
    bell: Arc<EventFd>,
    rings: bool,
}

/// Both ends of a new ring; `bell` is rung when there is something to read.
pub fn ring(shared: Arc<Shared>, bell: Arc<EventFd>) -> (Teller, Receiver<Event>) {
    let (ring, reader) = sync_channel(RING_EVENTS);
    (Teller { ring, shared, bell, rings: false }, reader)
}

impl Teller {
    /// Whether anyone wants this kind.
    pub fn listens(&self, kind: u32) -> bool {
        self.shared.wanted.load(Relaxed) & kind != 0
    }

    /// Puts an event into the ring.
    pub fn tell(&mut self, event: Event) {
        let count = if self.ring.try_send(event).is_ok() { &self.shared.told } else { &self.shared.lost };
        count.fetch_add(1, Relaxed);
        self.rings = true;
    }

    /// Rings the bell if there is anything new. Once for many events: it costs a system call.
    pub fn ring_bell(&mut self) {
        if std::mem::take(&mut self.rings) {
            let _ = self.bell.write(1); // fails only when the bell has been ringing for 2^64 - 1 times
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::event::{Cause, What};
    use crate::frames::head::Head;

    #[test]
    fn a_full_ring_drops_and_counts_and_never_waits() {
        let shared = Arc::new(Shared::default());
        let bell = Arc::new(EventFd::new().expect("an eventfd"));
        let (mut teller, reader) = ring(shared.clone(), bell);
        let event = Event { at: 0, station: 0, to: None, what: What::Drop(Cause::Queue), head: Head::of(&[]) };
        (0..RING_EVENTS + 5).for_each(|_| teller.tell(event));
        assert_eq!((shared.told.load(Relaxed), shared.lost.load(Relaxed)), (RING_EVENTS as u64, 5));
        assert_eq!(reader.try_iter().count(), RING_EVENTS);
        teller.tell(event);
        assert_eq!(reader.try_iter().count(), 1);
    }
}
