//! Hosts with TAP devices: a flood of one costs the others and the daemon little.

use std::io;

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use pacelab_engine::{NEVER, Ns};
use pacelab_hwsim::mesh::Mesh;

use crate::air::pump::{Hosts, Ledger};
use crate::frames::carrier::Carrier;
use crate::frames::ethernet::Ethernet;
use crate::frames::event::{Cause, Event};
use crate::frames::wire::{Delivery, Fate, Surroundings, Verdict};
use crate::hosts::tap::Tap;

/// Frames read of one TAP in a row, before the others and the air have their turn.
const BATCH: usize = 16;
/// A host whose frames are dropped so many times in a row is not read for a while: a flood must not cost the daemon
/// more than the air does.
const REFUSALS: u32 = 8;
const PAUSE_NS: Ns = 1_000_000;
/// A TAP that cannot be read (its interface is down, or gone) is tried again after this.
const ERROR_PAUSE_NS: Ns = 100_000_000;

/// How far a host may be read.
#[derive(Clone, Copy, Default)]
struct Reading {
    refusals: u32,
    /// Not read until then; 0: read.
    paused_until: Ns,
    /// Paused for its full queue: room there ends the pause.
    ends_with_room: bool,
}

/// The hosts, by station.
pub struct TapHosts {
    taps: Vec<Tap>,
    readings: Vec<Reading>,
    queue_pkts: usize,
    ledger: Ledger,
}

impl TapHosts {
    /// Behind these devices.
    pub fn new(taps: Vec<Tap>, queue_pkts: u32, ledger: Ledger) -> Self {
        TapHosts { readings: vec![Reading::default(); taps.len()], taps, queue_pkts: queue_pkts as usize, ledger }
    }

    fn pause(&mut self, station: usize, until: Ns, ends_with_room: bool, epoll: &Epoll) -> io::Result<()> {
        let reading = &mut self.readings[station];
        reading.paused_until = until;
        reading.ends_with_room = ends_with_room;
        Ok(epoll.delete(&self.taps[station])?)
    }
}

impl Surroundings<()> for TapHosts {
    fn deliver(&mut self, station: u32, Delivery { due, frame, .. }: Delivery<'_, ()>) -> bool {
        let taken = self.taps[station as usize].write(frame).is_ok();
        self.ledger.delivered(due, taken);
        taken
    }

    fn finish(&mut self, _: u32, _: Ns, (): &(), _: u32, _: Fate) {}

    fn listens(&self, kind: u32) -> bool {
        self.ledger.teller.listens(kind)
    }

    fn tell(&mut self, event: Event) {
        self.ledger.teller.tell(event);
    }
}

impl Hosts for TapHosts {
    type Wire = Ethernet;

    fn watch(&self, epoll: &Epoll) -> io::Result<()> {
        for (station, tap) in self.taps.iter().enumerate() {
            epoll.add(tap, EpollEvent::new(EpollFlags::EPOLLIN, station as u64))?;
        }
        Ok(())
    }

    fn wanted_at(&self) -> Ns {
        self.readings.iter().map(|reading| reading.paused_until).filter(|&until| until > 0).fold(NEVER, Ns::min)
    }

    fn read(&mut self, token: u64, carrier: &mut Carrier<Ethernet>, epoll: &Epoll) -> io::Result<()> {
        let station = token as usize;
        for _ in 0..BATCH {
            let slot = carrier.slot();
            let result = self.taps[station].read(carrier.space(slot));
            let now = self.ledger.now();
            let length = match result {
                Ok(length) => length,
                Err(error) => {
                    carrier.unread(slot);
                    let nothing = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
                    return if nothing { Ok(()) } else { self.pause(station, now + ERROR_PAUSE_NS, false, epoll) };
                }
            };
            carrier.advance(now, self);
            let verdict = carrier.arrive(now, station as u32, slot, length, (), self);
            let reading = &mut self.readings[station];
            reading.refusals = if verdict == Verdict::Taken { 0 } else { reading.refusals + 1 };
            if reading.refusals >= REFUSALS {
                reading.refusals = 0;
                return self.pause(station, now + PAUSE_NS, verdict == Verdict::Dropped(Cause::Queue), epoll);
            }
        }
        Ok(())
    }

    /// Ends the pauses that are over.
    fn mind(&mut self, carrier: &mut Carrier<Ethernet>, epoll: &Epoll) -> io::Result<()> {
        let mut now = 0;
        for station in 0..self.readings.len() {
            let Reading { paused_until, ends_with_room, .. } = self.readings[station];
            if paused_until == 0 {
                continue;
            }
            if now == 0 {
                now = self.ledger.now();
            }
            let has_room = ends_with_room && carrier.queue_pkts(station as u32) < self.queue_pkts;
            if has_room || paused_until <= now {
                self.readings[station].paused_until = 0;
                let wanted = EpollEvent::new(EpollFlags::EPOLLIN, station as u64);
                epoll.add(&self.taps[station], wanted)?;
            }
        }
        Ok(())
    }

    fn set_mesh(&mut self, _: &mut Carrier<Ethernet>, _: Mesh) {}

    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}
