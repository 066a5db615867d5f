//! Hosts with TAP devices, and the devices in the hosts' namespaces. A flood from one host costs the other hosts and
//! the daemon little.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::net::if_::if_nametoindex;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use pacelab_engine::{Id, NEVER, Ns, StationId};
use pacelab_hwsim::mesh::Mesh;

use crate::air::Monitor;
use crate::air::pump::{Hosts, Telemetry};
use crate::config::{Mac, Tap as Place};
use crate::frames::carrier::Carrier;
use crate::frames::ethernet::Ethernet;
use crate::frames::{CarrierHandler, Delivery, DropCause, Event, TxStatus, Verdict};
use crate::namespaces::inside;
use crate::syscalls;

/// Frames read from one TAP in a row before the others and the air continue.
const BATCH: usize = 16;
/// After this many dropped frames in a row the daemon pauses reading from a host, so that a flood does not cost more
/// than the air.
const REFUSALS: u32 = 8;
const PAUSE_NS: Ns = 1_000_000;
/// Pause before a TAP that cannot be read (its interface is down or gone) is tried again.
const ERROR_PAUSE_NS: Ns = 100_000_000;

/// Whether a host is read.
#[derive(Clone, Copy, Default)]
struct Reading {
    refusals: u32,
    /// The host is not read before this time. 0: it is read.
    paused_until: Ns,
    /// The pause is due to a full queue and ends when there is room.
    ends_with_room: bool,
}

/// The hosts, by station.
pub struct TapHosts {
    taps: Vec<Tap>,
    readings: Vec<Reading>,
    /// A paused host is read again when fewer of its frames than this wait.
    room_pkts: usize,
    queue_at_host: bool,
    telemetry: Telemetry,
}

impl TapHosts {
    /// Hosts behind these devices. With `queue_at_host`, a host is read only while no frame of its station waits, so
    /// that all further frames wait in the host. Otherwise up to `queue_pkts` wait here.
    pub fn new(taps: Vec<Tap>, queue_pkts: u32, queue_at_host: bool, telemetry: Telemetry) -> Self {
        let room_pkts = if queue_at_host { 1 } else { queue_pkts as usize };
        TapHosts { readings: vec![Reading::default(); taps.len()], taps, room_pkts, queue_at_host, telemetry }
    }

    fn pause(&mut self, station: usize, until: Ns, ends_with_room: bool, epoll: &Epoll) -> io::Result<()> {
        let reading = &mut self.readings[station];
        reading.paused_until = until;
        reading.ends_with_room = ends_with_room;
        Ok(epoll.delete(&self.taps[station])?)
    }
}

impl CarrierHandler<()> for TapHosts {
    fn deliver(&mut self, station: StationId, Delivery { due, frame, .. }: Delivery<'_, ()>) -> bool {
        let taken = self.taps[station.index()].write(frame).is_ok();
        self.telemetry.delivered(due, taken);
        taken
    }

    fn finish(&mut self, _: StationId, _: Ns, (): &(), _: u32, _: TxStatus) {}

    fn listens(&self, kind: u32) -> bool {
        self.telemetry.event_sender.listens(kind)
    }

    fn send_event(&mut self, event: Event) {
        self.telemetry.event_sender.send(event);
    }
}

impl Hosts for TapHosts {
    type FrameFormat = Ethernet;

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
            if self.queue_at_host && carrier.queue_pkts(StationId::from_index(station)) >= self.room_pkts {
                return self.pause(station, NEVER, true, epoll);
            }
            let slot = carrier.slot();
            let result = self.taps[station].read(carrier.space(slot));
            let now = self.telemetry.now();
            let length = match result {
                Ok(length) => length,
                Err(error) => {
                    carrier.unread(slot);
                    let nothing = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
                    return if nothing { Ok(()) } else { self.pause(station, now + ERROR_PAUSE_NS, false, epoll) };
                }
            };
            carrier.advance(now, self);
            let verdict = carrier.arrive(now, StationId::from_index(station), slot, length, (), self);
            let reading = &mut self.readings[station];
            reading.refusals = if verdict == Verdict::Taken { 0 } else { reading.refusals + 1 };
            if reading.refusals >= REFUSALS {
                reading.refusals = 0;
                return self.pause(station, now + PAUSE_NS, verdict == Verdict::Dropped(DropCause::Queue), epoll);
            }
        }
        Ok(())
    }

    /// Ends the pauses that are over.
    fn on_timer(&mut self, carrier: &mut Carrier<Ethernet>, epoll: &Epoll) -> io::Result<()> {
        let mut now = 0;
        for station in 0..self.readings.len() {
            let Reading { paused_until, ends_with_room, .. } = self.readings[station];
            if paused_until == 0 {
                continue;
            }
            if now == 0 {
                now = self.telemetry.now();
            }
            let has_room = ends_with_room && carrier.queue_pkts(StationId::from_index(station)) < self.room_pkts;
            if has_room || paused_until <= now {
                self.readings[station].paused_until = 0;
                let wanted = EpollEvent::new(EpollFlags::EPOLLIN, station as u64);
                epoll.add(&self.taps[station], wanted)?;
            }
        }
        Ok(())
    }

    fn set_mesh(&mut self, _: &mut Carrier<Ethernet>, _: Mesh) {}

    fn set_monitors(&mut self, _: &mut Carrier<Ethernet>, _: &[Monitor]) {}

    fn telemetry(&mut self) -> &mut Telemetry {
        &mut self.telemetry
    }
}

// The devices.

/// Frames that the kernel holds until they are read. Large enough for a burst while the daemon sleeps, so that frames
/// are dropped in the engine's interface queue.
const RING_FRAMES: u32 = 256;
/// The same if frames wait in the host's own queue: a frame in the ring has left that queue.
const SHORT_RING_FRAMES: u32 = 1;

/// The TAP device of one station. It exists as long as this value and the process.
#[derive(Debug)]
pub struct Tap {
    device: File,
}

/// Further information on a TAP.
#[derive(Debug)]
pub struct TapInfo {
    /// Its number in its namespace.
    pub ifindex: u32,
    name: String,
    /// /proc/net/dev of its namespace; None where /proc has none.
    counters: Option<File>,
}

impl Tap {
    /// Creates the device in its station's namespace and brings it up.
    ///
    /// # Errors
    /// The host lacks something. The message is one line.
    pub fn create(place: &Place, mac: Mac, mtu_bytes: u32, queue_at_host: bool) -> Result<(Self, TapInfo), String> {
        let ring_frames = if queue_at_host { SHORT_RING_FRAMES } else { RING_FRAMES };
        inside(place.netns.as_deref(), || create_here(&place.name, mac, mtu_bytes, ring_frames))
    }

    /// Reads one frame.
    pub fn read(&self, space: &mut [u8]) -> io::Result<usize> {
        (&self.device).read(space)
    }

    /// Passes a frame to the host.
    pub fn write(&self, frame: &[u8]) -> io::Result<()> {
        (&self.device).write(frame).map(|_| ())
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

fn create_here(name: &str, mac: Mac, mtu_bytes: u32, ring_frames: u32) -> Result<(Tap, TapInfo), String> {
    let describe = |what: &str, error: io::Error| format!("{what} TAP {name:?}: {error}{}", advice(&error));
    let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun");
    let device = device.map_err(|error| format!("opening /dev/net/tun: {error}{}", advice(&error)))?;
    syscalls::create_tap(device.as_fd(), name).map_err(|error| describe("creating", error))?;
    // Any socket can be used for interface ioctls.
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(|error| describe("opening a socket for", error))?;
    let door = socket.as_fd();
    syscalls::set_mac(door, name, mac).map_err(|error| describe("setting the address of", error))?;
    syscalls::set_mtu(door, name, mtu_bytes).map_err(|error| describe("setting the MTU of", error))?;
    syscalls::set_queue_length(door, name, ring_frames).map_err(|error| describe("setting the queue of", error))?;
    syscalls::bring_up(door, name).map_err(|error| describe("bringing up", error))?;
    let ifindex = if_nametoindex(name).map_err(|error| describe("finding", error.into()))?;
    let counters = File::open("/proc/thread-self/net/dev").ok();
    Ok((Tap { device }, TapInfo { ifindex, name: name.into(), counters }))
}

fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; run as root",
        Some(libc::EBUSY) => "; an interface of this name exists: remove it or choose another name",
        Some(libc::ENOENT | libc::ENXIO | libc::ENODEV) => {
            "; try: modprobe tun; mkdir -p /dev/net; mknod /dev/net/tun c 10 200"
        }
        _ => "",
    }
}

impl TapInfo {
    /// Frames that the kernel dropped since the start because its ring was full. None if that cannot be read.
    pub fn ring_drops(&mut self) -> Option<u64> {
        let file = self.counters.as_mut()?;
        let mut text = String::new();
        file.rewind().ok()?;
        file.read_to_string(&mut text).ok()?;
        dropped_on_send(&text, &self.name)
    }
}

/// The fourth counter of the sending side in /proc/net/dev.
fn dropped_on_send(table: &str, name: &str) -> Option<u64> {
    const PLACE: usize = 8 + 3;
    let mut rows = table.lines().filter_map(|line| line.trim_start().split_once(':'));
    let (_, row) = rows.find(|&(interface, _)| interface == name)?;
    row.split_whitespace().nth(PLACE)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drops_of_the_sending_side_are_found() {
        let table = "Inter-|   Receive                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
            lo:       1       2    3    4    5     6          7         8        9       10   11   12   13    14      15         16\n  \
            air0: 0 0 0 0 0 0 0 0 90 1 0 981 0 0 0 0\n";
        assert_eq!(dropped_on_send(table, "air0"), Some(981));
        assert_eq!(dropped_on_send(table, "lo"), Some(12));
        assert_eq!(dropped_on_send(table, "air1"), None);
    }
}
