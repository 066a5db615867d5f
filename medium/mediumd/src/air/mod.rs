//! The thread of the air as others see it: what it is asked and answers, the ring of what it tells, the handle of it.
//! `pump` is what it does, `lateness` how late it is.

pub mod lateness;
pub mod pump;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use nix::sys::eventfd::EventFd;
use nix::sys::prctl;
use pacelab_air_config::Propagation;
use pacelab_engine::{Counters, Ns, StationId};
use pacelab_hwsim::mesh::Mesh;

use crate::air::lateness::{Fidelity, Histogram};
use crate::frames::{DropCause, Event, Traffic};
use crate::syscalls;

// Orders and answers.

/// What the air is asked to do.
#[derive(Debug)]
pub enum AirCommand {
    /// A change; answered when it is in force.
    Change(Change, SyncSender<()>),
    /// How things stand.
    Snapshot(SyncSender<Snapshot>),
    /// The end.
    Stop,
}

/// A change of the air, for stations by number.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Change {
    Position {
        station: StationId,
        position_m: [f64; 2],
    },
    Rate {
        station: StationId,
        to: Option<StationId>,
        data_rate_bps: u32,
    },
    RtsThreshold {
        bytes: u32,
    },
    Propagation(Propagation),
    ExtraBackoff {
        station: StationId,
        slots: u32,
        wall_clock: bool,
    },
    /// Only wmediumd's socket asks for it.
    Mesh(Mesh),
}

/// How things stand at one moment.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // PROTOCOL.md documents them under "Statistics"
pub struct Snapshot {
    pub at: Ns,
    pub stations: Vec<StationSnapshot>,
    pub in_air: usize,
    pub drops: [u64; DropCause::ALL.len()],
    pub delivery: Histogram,
    pub wakeup: Histogram,
    pub fidelity: Fidelity,
    pub since_start: Fidelity,
    pub lost: u64,
    pub seconds: [u64; 3],
    pub cpu_ns: Ns,
}

/// How things stand at one station.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct StationSnapshot {
    pub position_m: [f64; 2],
    pub data_rate_bps: u32,
    pub queue_pkts: usize,
    pub traffic: Traffic,
    pub counters: Counters,
}

// The ring between the air and those who listen: when it is full, what happens is not told, and that is counted.
// The air never waits.

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
pub struct EventSender {
    ring: SyncSender<Event>,
    shared: Arc<Shared>,
    wakeup: Arc<EventFd>,
    rings: bool,
}

/// Both ends of a new ring; `bell` is rung when there is something to read.
pub fn ring(shared: Arc<Shared>, wakeup: Arc<EventFd>) -> (EventSender, Receiver<Event>) {
    let (ring, reader) = sync_channel(RING_EVENTS);
    (EventSender { ring, shared, wakeup, rings: false }, reader)
}

impl EventSender {
    /// Whether anyone wants this kind.
    pub fn listens(&self, kind: u32) -> bool {
        self.shared.wanted.load(Relaxed) & kind != 0
    }

    /// Puts an event into the ring.
    pub fn send(&mut self, event: Event) {
        let count = if self.ring.try_send(event).is_ok() { &self.shared.told } else { &self.shared.lost };
        count.fetch_add(1, Relaxed);
        self.rings = true;
    }

    /// Rings the bell if there is anything new. Once for many events: it costs a system call.
    pub fn notify_reader(&mut self) {
        if std::mem::take(&mut self.rings) {
            let _ = self.wakeup.write(1); // fails only when the wakeup has been ringing for 2^64 - 1 times
        }
    }
}

// The handle that the server holds.

/// Above all ordinary threads, below the kernel's own (50 and more).
const FIFO_PRIORITY: i32 = 20;
const TIMER_SLACK_NS: u64 = 1;

/// What real-time help the thread got.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Realtime {
    pub sched_fifo: bool,
    pub timer_slack_ns: i32,
}

/// What the thread does until it is told to stop; an error is a bug.
pub type Work = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// The running thread.
#[derive(Debug)]
pub struct AirHandle {
    commands: Sender<AirCommand>,
    wakeup: Arc<EventFd>,
    thread: JoinHandle<io::Result<()>>,
    /// What help it got.
    pub realtime: Realtime,
}

/// Rings when the thread ends, however it does: the server must not wait for it.
struct NotifyOnDrop(Arc<EventFd>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        let _ = self.0.write(1);
    }
}

impl AirHandle {
    /// Starts the thread for `work`, which hears `bell` for `orders`; rings `end_bell` when it ends.
    ///
    /// # Errors
    /// When the kernel has no more threads.
    pub fn start(
        work: Work,
        commands: Sender<AirCommand>,
        wakeup: Arc<EventFd>,
        end_wakeup: Arc<EventFd>,
        realtime: bool,
    ) -> io::Result<Self> {
        let (report, reported) = sync_channel(1);
        let thread = thread::Builder::new().name("air".into()).spawn(move || {
            let _rings_at_the_end = NotifyOnDrop(end_wakeup);
            let _ = report.send(prepare(realtime));
            work()
        })?;
        let realtime = reported.recv().map_err(|_| io::Error::other("the thread of the air has ended at once"))?;
        Ok(AirHandle { commands, wakeup, thread, realtime })
    }

    /// How things stand; None when the air has ended.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let (to, from) = sync_channel(1);
        self.command(AirCommand::Snapshot(to))?;
        from.recv().ok()
    }

    /// Changes the air, and waits until that is done; None when the air has ended.
    pub fn change(&self, change: Change) -> Option<()> {
        let (to, from) = sync_channel(1);
        self.command(AirCommand::Change(change, to))?;
        from.recv().ok()
    }

    /// Whether the thread has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Stops the air.
    ///
    /// # Errors
    /// What ended it before, if anything did: a bug.
    pub fn stop(self) -> Result<(), String> {
        self.command(AirCommand::Stop);
        match self.thread.join() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("the air has ended: {error}")),
            Err(_) => Err("the air has ended: a panic, see above".into()),
        }
    }

    fn command(&self, command: AirCommand) -> Option<()> {
        self.commands.send(command).ok()?;
        self.wakeup.write(1).ok()?;
        Some(())
    }
}

/// Asks for what helps to be punctual, for the calling thread.
fn prepare(realtime: bool) -> Realtime {
    let sched_fifo = realtime && syscalls::schedule_first(FIFO_PRIORITY).is_ok();
    if realtime {
        let _ = prctl::set_timerslack(TIMER_SLACK_NS); // what is in force is read back below
    }
    Realtime { sched_fifo, timer_slack_ns: prctl::get_timerslack().unwrap_or(-1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{DropCause, FrameEvent, FrameHead};

    #[test]
    fn a_full_ring_drops_and_counts_and_never_waits() {
        let shared = Arc::new(Shared::default());
        let wakeup = Arc::new(EventFd::new().expect("an eventfd"));
        let (mut event_sender, reader) = ring(shared.clone(), wakeup);
        let event = Event {
            at: 0,
            station: StationId(0),
            to: None,
            what: FrameEvent::Drop(DropCause::Queue),
            head: FrameHead::of(&[]),
        };
        (0..RING_EVENTS + 5).for_each(|_| event_sender.send(event));
        assert_eq!((shared.told.load(Relaxed), shared.lost.load(Relaxed)), (RING_EVENTS as u64, 5));
        assert_eq!(reader.try_iter().count(), RING_EVENTS);
        event_sender.send(event);
        assert_eq!(reader.try_iter().count(), 1);
    }
}
