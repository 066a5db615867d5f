//! How the server speaks to the thread of the air: orders, and their answers.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use nix::sys::eventfd::EventFd;
use nix::sys::prctl;
use pacelab_engine::{Counters, Ns};

use crate::event::Cause;
use crate::histogram::Histogram;
use crate::lateness::Fidelity;
use crate::pump::Run;
use crate::request::Change;
use crate::syscalls;
use crate::wire::Traffic;

/// Above all ordinary threads, below the kernel's own (50 and more).
const FIFO_PRIORITY: i32 = 20;
const TIMER_SLACK_NS: u64 = 1;

/// What the air is asked to do.
#[derive(Debug)]
pub enum Order {
    /// A change; answered when it is in force.
    Change(Change, SyncSender<()>),
    /// How things stand.
    Snapshot(SyncSender<Snapshot>),
    /// The end.
    Stop,
}

/// How things stand at one moment.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // PROTOCOL.md documents them under "Statistics"
pub struct Snapshot {
    pub at: Ns,
    pub stations: Vec<StationSnapshot>,
    pub in_air: usize,
    pub drops: [u64; Cause::ALL.len()],
    pub delivery: Histogram,
    pub wakeup: Histogram,
    pub fidelity: Fidelity,
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

/// What real-time help the thread got.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Realtime {
    pub sched_fifo: bool,
    pub timer_slack_ns: i32,
}

/// The running thread.
#[derive(Debug)]
pub struct AirHandle {
    orders: Sender<Order>,
    bell: Arc<EventFd>,
    thread: JoinHandle<io::Result<()>>,
    /// What help it got.
    pub realtime: Realtime,
}

/// Rings when the thread ends, however it does: the server must not wait for it.
struct EndBell(Arc<EventFd>);

impl Drop for EndBell {
    fn drop(&mut self) {
        let _ = self.0.write(1);
    }
}

impl AirHandle {
    /// Starts the thread. It hears `bell` for `orders`, and rings `end_bell` when it ends.
    ///
    /// # Errors
    /// When the kernel has no more threads.
    pub fn start(
        mut pump: Box<dyn Run>,
        orders: Sender<Order>,
        bell: Arc<EventFd>,
        end_bell: Arc<EventFd>,
        realtime: bool,
    ) -> io::Result<Self> {
        let (report, reported) = sync_channel(1);
        let thread = thread::Builder::new().name("air".into()).spawn(move || {
            let _rings_at_the_end = EndBell(end_bell);
            let _ = report.send(prepare(realtime));
            pump.run()
        })?;
        let realtime = reported.recv().map_err(|_| io::Error::other("the thread of the air has ended at once"))?;
        Ok(AirHandle { orders, bell, thread, realtime })
    }

    /// How things stand; None when the air has ended.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let (to, from) = sync_channel(1);
        self.order(Order::Snapshot(to))?;
        from.recv().ok()
    }

    /// Changes the air, and waits until that is done; None when the air has ended.
    pub fn change(&self, change: Change) -> Option<()> {
        let (to, from) = sync_channel(1);
        self.order(Order::Change(change, to))?;
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
        self.order(Order::Stop);
        match self.thread.join() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("the air has ended: {error}")),
            Err(_) => Err("the air has ended: a panic, see above".into()),
        }
    }

    fn order(&self, order: Order) -> Option<()> {
        self.orders.send(order).ok()?;
        self.bell.write(1).ok()?;
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
