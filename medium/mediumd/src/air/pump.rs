//! The air thread: it waits for frames, commands and the next event.
//!
//! The carrier has its own modelled time; the clock only says up to which time it may advance. A pump that wakes up
//! late therefore executes the events at their own times, and only deliveries to hosts are late.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, clock_gettime};
use pacelab_engine::{NEVER, Ns};
use pacelab_hwsim::mesh::Mesh;

use crate::air::lateness::Lateness;
use crate::air::{AirCommand, Change, EventSender, Monitor, Snapshot, StationSnapshot};
use crate::frames::carrier::Carrier;
use crate::frames::{CarrierHandler, DropCause, FrameFormat};

/// Tokens of epoll beside the stations' numbers.
const TIMER: u64 = u64::MAX;
const WAKEUP: u64 = u64::MAX - 1;

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn clock_ns() -> Ns {
    timespec_ns(clock_gettime(ClockId::CLOCK_MONOTONIC))
}

fn timespec_ns(time: nix::Result<TimeSpec>) -> Ns {
    // These clocks exist on every Linux. If one failed, the returned 0 would be visible in the results.
    time.map_or(0, |time| time.tv_sec() as Ns * 1_000_000_000 + time.tv_nsec() as Ns)
}

/// Clock, lateness and event ring of the air thread.
pub struct Telemetry {
    /// The start of the air by the clock.
    pub t0: Ns,
    /// Lateness of deliveries and wake-ups.
    pub lateness: Lateness,
    /// The event ring.
    pub event_sender: EventSender,
}

impl Telemetry {
    /// Telemetry of an air that starts at `t0` of the clock.
    pub fn new(t0: Ns, event_sender: EventSender) -> Self {
        Telemetry { t0, lateness: Lateness::default(), event_sender }
    }

    /// Time of the air.
    pub fn now(&self) -> Ns {
        clock_ns() - self.t0
    }

    /// Records a delivery that was due at `due`, and whether the host accepted it.
    pub fn delivered(&mut self, due: Ns, taken: bool) {
        let now = self.now();
        if taken {
            self.lateness.delivered(due, now);
        } else {
            self.lateness.lost(now);
        }
    }
}

/// The hosts on the air, and how they are read.
pub trait Hosts: CarrierHandler<<Self::FrameFormat as FrameFormat>::Tag> + Sized {
    /// The format of their frames.
    type FrameFormat: FrameFormat;

    /// Registers the descriptors of the hosts with `epoll`.
    ///
    /// # Errors
    /// The kernel has no room left.
    fn watch(&self, epoll: &Epoll) -> io::Result<()>;
    /// When to call `on_timer` next, or `NEVER`.
    fn wanted_at(&self) -> Ns;
    /// Reads from the descriptor of `token`.
    ///
    /// # Errors
    /// A bug.
    fn read(&mut self, token: u64, carrier: &mut Carrier<Self::FrameFormat>, epoll: &Epoll) -> io::Result<()>;
    /// Handles expired timers.
    ///
    /// # Errors
    /// A bug.
    fn on_timer(&mut self, carrier: &mut Carrier<Self::FrameFormat>, epoll: &Epoll) -> io::Result<()>;
    /// Replaces the mesh of wmediumd's network.
    fn set_mesh(&mut self, carrier: &mut Carrier<Self::FrameFormat>, mesh: Mesh);
    /// Replaces the list of monitor interfaces.
    fn set_monitors(&mut self, carrier: &mut Carrier<Self::FrameFormat>, monitors: &[Monitor]);
    /// Clock, lateness and event ring.
    fn telemetry(&mut self) -> &mut Telemetry;
}

/// The air between the hosts.
pub struct Pump<H: Hosts> {
    carrier: Carrier<H::FrameFormat>,
    hosts: H,
    t0: Ns,
    commands: Receiver<AirCommand>,
    epoll: Epoll,
    timer: TimerFd,
    armed: Ns,
    wakeup: Arc<EventFd>,
}

impl<H: Hosts> Pump<H> {
    /// The air between `hosts`. `wakeup` is signalled when there are commands.
    ///
    /// # Errors
    /// The kernel has no descriptor left.
    pub fn new(
        carrier: Carrier<H::FrameFormat>,
        mut hosts: H,
        commands: Receiver<AirCommand>,
        wakeup: Arc<EventFd>,
    ) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(TimerClock::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)?;
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        epoll.add(wakeup.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, WAKEUP))?;
        hosts.watch(&epoll)?;
        let t0 = hosts.telemetry().t0;
        Ok(Pump { carrier, hosts, t0, commands, epoll, timer, armed: NEVER, wakeup })
    }

    /// Runs until a command to stop.
    ///
    /// # Errors
    /// Waiting fails, which is a bug.
    pub fn run(&mut self) -> io::Result<()> {
        let mut ready = [EpollEvent::empty(); 32];
        loop {
            self.arm()?;
            let count = match self.epoll.wait(&mut ready, EpollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                result => result?,
            };
            let now = self.now();
            let tokens = ready[..count].iter().map(EpollEvent::data);
            if tokens.clone().any(|token| token == TIMER) {
                self.hosts.telemetry().lateness.woken(self.armed, now);
            }
            self.carrier.advance(now, &mut self.hosts);
            for token in tokens {
                match token {
                    TIMER => {}
                    WAKEUP => {
                        let _ = self.wakeup.read(); // it was signalled, so there is something to read
                        if self.handle_commands().is_break() {
                            self.carrier.capture(now, true);
                            return Ok(());
                        }
                    }
                    token => self.hosts.read(token, &mut self.carrier, &self.epoll)?,
                }
            }
            self.hosts.on_timer(&mut self.carrier, &self.epoll)?;
            self.hosts.telemetry().event_sender.notify_reader();
        }
    }

    fn now(&self) -> Ns {
        clock_ns() - self.t0
    }

    /// Sets the timer to the next event.
    fn arm(&mut self) -> io::Result<()> {
        let due = self.carrier.wanted_at().min(self.hosts.wanted_at());
        if due == self.armed {
            return Ok(());
        }
        self.armed = due;
        if due == NEVER {
            self.timer.unset()?;
        } else {
            let at = TimeSpec::from(Duration::from_nanos(self.t0 + due));
            self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        }
        Ok(())
    }

    /// Executes the pending commands.
    fn handle_commands(&mut self) -> std::ops::ControlFlow<()> {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                AirCommand::Change(change, done) => {
                    self.change(change);
                    let _ = done.send(()); // the caller may be gone
                }
                AirCommand::Snapshot(to) => {
                    let _ = to.send(self.snapshot());
                }
                AirCommand::Stop => return std::ops::ControlFlow::Break(()),
            }
        }
        std::ops::ControlFlow::Continue(())
    }

    fn change(&mut self, change: Change) {
        let carrier = &mut self.carrier;
        match change {
            Change::Position { station, position_m } => carrier.set_position(station, position_m),
            Change::Rate { station, to, data_rate_bps } => carrier.set_rate(station, to, data_rate_bps),
            Change::RtsThreshold { bytes } => carrier.set_rts_threshold(bytes),
            Change::Propagation(propagation) => carrier.set_propagation(propagation),
            Change::ExtraBackoff { station, slots, wall_clock } => {
                carrier.set_extra_backoff(station, slots, wall_clock);
            }
            Change::Mesh(mesh) => self.hosts.set_mesh(carrier, mesh),
            Change::Monitors(monitors) => self.hosts.set_monitors(carrier, &monitors),
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        let now = self.now();
        self.carrier.advance(now, &mut self.hosts);
        let carrier = &mut self.carrier;
        let stations = carrier.stations().map(|station| StationSnapshot {
            position_m: carrier.position_m(station),
            data_rate_bps: carrier.data_rate_bps(station),
            queue_pkts: carrier.queue_pkts(station),
            traffic: carrier.traffic(station),
            counters: carrier.counters(now, station),
        });
        let stations = stations.collect();
        let lateness = &mut self.hosts.telemetry().lateness;
        Snapshot {
            at: now,
            stations,
            in_air: carrier.in_air(),
            drops: DropCause::ALL.map(|cause| carrier.drops(cause)),
            delivery: lateness.delivery.clone(),
            wakeup: lateness.wakeup.clone(),
            fidelity: lateness.fidelity(now),
            since_start: lateness.since_start(),
            lost: lateness.lost,
            seconds: lateness.seconds,
            cpu_ns: timespec_ns(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)),
        }
    }
}
