//! The thread of the air: it waits for frames, orders and the next thing due, and for nothing else.
//!
//! The time that counts is the carrier's (modelled); the clock only says how far it has come. So a pump that wakes late
//! catches up at the proper moments, and its lateness shows in deliveries alone.

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

use crate::air_handle::{Order, Snapshot, StationSnapshot};
use crate::carrier::{Carrier, Surroundings, Verdict};
use crate::event::{Cause, Event};
use crate::lateness::Lateness;
use crate::request::Change;
use crate::tap::Tap;
use crate::tell::Teller;

/// Frames read of one TAP in a row, before the others and the air have their turn.
const BATCH: usize = 16;
/// A host whose frames are dropped so many times in a row is not read for a while: a flood must not cost the daemon
/// more than the air does.
const REFUSALS: u32 = 8;
const PAUSE_NS: Ns = 1_000_000;
/// A TAP that cannot be read (its interface is down, or gone) is tried again after this.
const ERROR_PAUSE_NS: Ns = 100_000_000;

/// Tokens of epoll beside the stations' numbers.
const TIMER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn clock_ns() -> Ns {
    timespec_ns(clock_gettime(ClockId::CLOCK_MONOTONIC))
}

fn timespec_ns(time: nix::Result<TimeSpec>) -> Ns {
    // The clocks asked for exist on every Linux; a clock that stands still would show as such.
    time.map_or(0, |time| time.tv_sec() as Ns * 1_000_000_000 + time.tv_nsec() as Ns)
}

/// The hosts, and who listens.
struct Hosts {
    t0: Ns,
    taps: Vec<Tap>,
    lateness: Lateness,
    teller: Teller,
}

impl Surroundings for Hosts {
    fn deliver(&mut self, station: u32, due: Ns, frame: &[u8]) -> bool {
        let taken = self.taps[station as usize].write(frame).is_ok();
        let now = clock_ns() - self.t0;
        if taken {
            self.lateness.delivered(due, now);
        } else {
            self.lateness.lost(now);
        }
        taken
    }

    fn listens(&self, kind: u32) -> bool {
        self.teller.listens(kind)
    }

    fn tell(&mut self, event: Event) {
        self.teller.tell(event);
    }
}

/// How far a host may be read.
#[derive(Clone, Copy, Default)]
struct Reading {
    refusals: u32,
    /// Not read until then; 0: read.
    paused_until: Ns,
    /// Paused for its full queue: room there ends the pause.
    ends_with_room: bool,
}

/// The air between the TAPs.
pub struct Pump {
    carrier: Carrier,
    hosts: Hosts,
    readings: Vec<Reading>,
    queue_pkts: usize,
    orders: Receiver<Order>,
    epoll: Epoll,
    timer: TimerFd,
    armed: Ns,
    bell: Arc<EventFd>,
}

impl Pump {
    /// An air that begins at `t0` of the clock. `bell` is rung when there are orders.
    ///
    /// # Errors
    /// When the kernel has no more descriptors.
    pub fn new(
        carrier: Carrier,
        taps: Vec<Tap>,
        queue_pkts: u32,
        teller: Teller,
        orders: Receiver<Order>,
        bell: Arc<EventFd>,
        t0: Ns,
    ) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(TimerClock::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)?;
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        epoll.add(bell.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, BELL))?;
        for (station, tap) in taps.iter().enumerate() {
            epoll.add(tap, EpollEvent::new(EpollFlags::EPOLLIN, station as u64))?;
        }
        let readings = vec![Reading::default(); taps.len()];
        let hosts = Hosts { t0, taps, lateness: Lateness::default(), teller };
        let queue_pkts = queue_pkts as usize;
        Ok(Pump { carrier, hosts, readings, queue_pkts, orders, epoll, timer, armed: NEVER, bell })
    }

    /// Runs until it is told to stop.
    ///
    /// # Errors
    /// When waiting fails: a bug.
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
                self.hosts.lateness.woken(self.armed, now);
            }
            self.carrier.advance(now, &mut self.hosts);
            for token in tokens {
                match token {
                    TIMER => {}
                    BELL => {
                        let _ = self.bell.read(); // it has rung, so there is something to read
                        if self.obey().is_break() {
                            return Ok(());
                        }
                    }
                    station => self.read(station as usize)?,
                }
            }
            self.end_pauses()?;
            self.hosts.teller.ring_bell();
        }
    }

    fn now(&self) -> Ns {
        clock_ns() - self.hosts.t0
    }

    /// Sets the timer to what is due next.
    fn arm(&mut self) -> io::Result<()> {
        let pauses = self.readings.iter().map(|reading| reading.paused_until).filter(|&until| until > 0);
        let due = pauses.fold(self.carrier.wanted_at(), Ns::min);
        if due == self.armed {
            return Ok(());
        }
        self.armed = due;
        if due == NEVER {
            self.timer.unset()?;
        } else {
            let at = TimeSpec::from(Duration::from_nanos(self.hosts.t0 + due));
            self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        }
        Ok(())
    }

    fn read(&mut self, station: usize) -> io::Result<()> {
        for _ in 0..BATCH {
            let slot = self.carrier.slot();
            let result = self.hosts.taps[station].read(self.carrier.space(slot));
            let now = self.now();
            let length = match result {
                Ok(length) => length,
                Err(error) => {
                    self.carrier.unread(slot);
                    let nothing = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
                    return if nothing { Ok(()) } else { self.pause(station, now + ERROR_PAUSE_NS, false) };
                }
            };
            self.carrier.advance(now, &mut self.hosts);
            let verdict = self.carrier.arrive(now, station as u32, slot, length, &mut self.hosts);
            let reading = &mut self.readings[station];
            reading.refusals = if verdict == Verdict::Taken { 0 } else { reading.refusals + 1 };
            if reading.refusals >= REFUSALS {
                reading.refusals = 0;
                return self.pause(station, now + PAUSE_NS, verdict == Verdict::Dropped(Cause::Queue));
            }
        }
        Ok(())
    }

    fn pause(&mut self, station: usize, until: Ns, ends_with_room: bool) -> io::Result<()> {
        let reading = &mut self.readings[station];
        reading.paused_until = until;
        reading.ends_with_room = ends_with_room;
        Ok(self.epoll.delete(&self.hosts.taps[station])?)
    }

    fn end_pauses(&mut self) -> io::Result<()> {
        let mut now = 0;
        for station in 0..self.readings.len() {
            let Reading { paused_until, ends_with_room, .. } = self.readings[station];
            if paused_until == 0 {
                continue;
            }
            if now == 0 {
                now = self.now();
            }
            let has_room = ends_with_room && self.carrier.queue_pkts(station as u32) < self.queue_pkts;
            if has_room || paused_until <= now {
                self.readings[station].paused_until = 0;
                let wanted = EpollEvent::new(EpollFlags::EPOLLIN, station as u64);
                self.epoll.add(&self.hosts.taps[station], wanted)?;
            }
        }
        Ok(())
    }

    /// Carries out the orders that have come.
    fn obey(&mut self) -> std::ops::ControlFlow<()> {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Change(change, done) => {
                    self.change(change);
                    let _ = done.send(()); // who asked may be gone
                }
                Order::Snapshot(to) => {
                    let _ = to.send(self.snapshot());
                }
                Order::Stop => return std::ops::ControlFlow::Break(()),
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
            Change::Propagation { propagation, capture_ratio } => carrier.set_propagation(propagation, capture_ratio),
            Change::ExtraBackoff { station, slots } => carrier.set_extra_backoff(station, slots),
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        let now = self.now();
        self.carrier.advance(now, &mut self.hosts);
        let carrier = &mut self.carrier;
        let stations = (0..self.readings.len() as u32).map(|station| StationSnapshot {
            position_m: carrier.position_m(station),
            data_rate_bps: carrier.data_rate_bps(station),
            queue_pkts: carrier.queue_pkts(station),
            traffic: carrier.traffic(station),
            counters: carrier.counters(now, station),
        });
        let stations = stations.collect();
        Snapshot {
            at: now,
            stations,
            in_air: carrier.in_air(),
            drops: Cause::ALL.map(|cause| carrier.drops(cause)),
            delivery: self.hosts.lateness.delivery.clone(),
            wakeup: self.hosts.lateness.wakeup.clone(),
            fidelity: self.hosts.lateness.fidelity(now),
            seconds: self.hosts.lateness.seconds,
            cpu_ns: timespec_ns(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)),
        }
    }
}
