//! The thread of the air, as the server holds it.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, sync_channel};
use std::thread::{self, JoinHandle};

use nix::sys::eventfd::EventFd;
use nix::sys::prctl;

use crate::air::order::{Change, Order, Snapshot};
use crate::syscalls;

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
    /// Starts the thread for `work`, which hears `bell` for `orders`; rings `end_bell` when it ends.
    ///
    /// # Errors
    /// When the kernel has no more threads.
    pub fn start(
        work: Work,
        orders: Sender<Order>,
        bell: Arc<EventFd>,
        end_bell: Arc<EventFd>,
        realtime: bool,
    ) -> io::Result<Self> {
        let (report, reported) = sync_channel(1);
        let thread = thread::Builder::new().name("air".into()).spawn(move || {
            let _rings_at_the_end = EndBell(end_bell);
            let _ = report.send(prepare(realtime));
            work()
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
