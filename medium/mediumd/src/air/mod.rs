//! The interface of the air thread: commands and replies, the ring of events, and the handle of the thread. `pump` is
//! the thread itself, `lateness` measures its lateness.

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
use crate::config::Mac;
use crate::frames::{DropCause, Event, Traffic};
use crate::syscalls;

// Commands and replies.

/// A command to the air thread.
#[derive(Debug)]
pub enum AirCommand {
    /// A change. The reply comes when it is in force.
    Change(Change, SyncSender<()>),
    /// A request for the present state.
    Snapshot(SyncSender<Snapshot>),
    /// A request to stop.
    Stop,
}

/// A change of the air.
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
    /// Requested only through wmediumd's socket.
    Mesh(Mesh),
    /// The radios that have a monitor interface.
    Monitors(Vec<Monitor>),
}

/// A monitor interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monitor {
    /// The permanent address of its radio, if the kernel tells it.
    pub radio: Option<Mac>,
    /// Its own address.
    pub address: Mac,
}

/// The state of the air at one time.
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

/// The state of one station.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct StationSnapshot {
    pub position_m: [f64; 2],
    pub data_rate_bps: u32,
    pub queue_pkts: usize,
    pub traffic: Traffic,
    pub counters: Counters,
}

// The ring of events between the air thread and the listeners. If it is full, events are dropped and counted, so that
// the air never waits.

/// Capacity of the ring: three seconds at 5,000 events per second.
const RING_EVENTS: usize = 16_384;

/// Counters shared by both sides of the ring.
#[derive(Debug, Default)]
pub struct Shared {
    /// Kinds of events with a listener.
    pub wanted: AtomicU32,
    /// Events that went into the ring.
    pub reported: AtomicU64,
    /// Events that were dropped.
    pub lost: AtomicU64,
}

/// The sending side of the ring.
#[derive(Debug)]
pub struct EventSender {
    ring: SyncSender<Event>,
    shared: Arc<Shared>,
    wakeup: Arc<EventFd>,
    rings: bool,
}

/// Both sides of a new ring. `wakeup` is signalled when there is something to read.
pub fn ring(shared: Arc<Shared>, wakeup: Arc<EventFd>) -> (EventSender, Receiver<Event>) {
    let (ring, reader) = sync_channel(RING_EVENTS);
    (EventSender { ring, shared, wakeup, rings: false }, reader)
}

impl EventSender {
    /// Whether this kind has a listener.
    pub fn listens(&self, kind: u32) -> bool {
        self.shared.wanted.load(Relaxed) & kind != 0
    }

    /// Puts an event into the ring.
    pub fn send(&mut self, event: Event) {
        let count = if self.ring.try_send(event).is_ok() { &self.shared.reported } else { &self.shared.lost };
        count.fetch_add(1, Relaxed);
        self.rings = true;
    }

    /// Signals the reader if there are new events. One signal serves many events, because it costs a system call.
    pub fn notify_reader(&mut self) {
        if std::mem::take(&mut self.rings) {
            let _ = self.wakeup.write(1); // fails only if the counter reaches 2^64 - 1
        }
    }
}

// The handle that the server holds.

/// Above all ordinary threads, below the kernel's own (50 and more).
const FIFO_PRIORITY: i32 = 20;
const TIMER_SLACK_NS: u64 = 1;

/// Real-time settings that are in force for the thread.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Realtime {
    pub sched_fifo: bool,
    pub timer_slack_ns: i32,
}

/// The work of the thread until it must stop. An error is a bug.
pub type Work = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Sends commands to the thread.
#[derive(Clone, Debug)]
pub struct AirRemote {
    commands: Sender<AirCommand>,
    wakeup: Arc<EventFd>,
}

impl AirRemote {
    /// Changes the air and waits until the change is in force. None if the air thread has ended.
    pub fn change(&self, change: Change) -> Option<()> {
        let (to, from) = sync_channel(1);
        self.command(AirCommand::Change(change, to))?;
        from.recv().ok()
    }

    fn command(&self, command: AirCommand) -> Option<()> {
        self.commands.send(command).ok()?;
        self.wakeup.write(1).ok()?;
        Some(())
    }
}

/// The running thread.
#[derive(Debug)]
pub struct AirHandle {
    remote: AirRemote,
    thread: JoinHandle<io::Result<()>>,
    /// The real-time settings that it obtained.
    pub realtime: Realtime,
}

/// Signals the server when the thread ends, also after a panic, so that the server does not wait for it.
struct NotifyOnDrop(Arc<EventFd>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        let _ = self.0.write(1);
    }
}

impl AirHandle {
    /// Starts the thread for `work`. `wakeup` announces commands to it; `end_wakeup` is signalled when it ends.
    ///
    /// # Errors
    /// The kernel cannot create a thread.
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
        Ok(AirHandle { remote: AirRemote { commands, wakeup }, thread, realtime })
    }

    /// The present state, or None if the air thread has ended.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let (to, from) = sync_channel(1);
        self.remote.command(AirCommand::Snapshot(to))?;
        from.recv().ok()
    }

    /// Changes the air and waits until the change is in force. None if the air thread has ended.
    pub fn change(&self, change: Change) -> Option<()> {
        self.remote.change(change)
    }

    /// Commands for another thread.
    pub fn remote(&self) -> AirRemote {
        self.remote.clone()
    }

    /// Whether the thread has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Stops the air.
    ///
    /// # Errors
    /// The air thread had ended before, which is a bug.
    pub fn stop(self) -> Result<(), String> {
        self.remote.command(AirCommand::Stop);
        match self.thread.join() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("the air has ended: {error}")),
            Err(_) => Err("the air has ended: a panic, see above".into()),
        }
    }
}

/// Requests real-time scheduling for the calling thread.
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
        assert_eq!((shared.reported.load(Relaxed), shared.lost.load(Relaxed)), (RING_EVENTS as u64, 5));
        assert_eq!(reader.try_iter().count(), RING_EVENTS);
        event_sender.send(event);
        assert_eq!(reader.try_iter().count(), 1);
    }
}
