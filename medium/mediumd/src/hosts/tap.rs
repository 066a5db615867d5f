//! One station's TAP device: it lives as long as this value, and no longer than the process.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::net::if_::if_nametoindex;

use crate::config::Tap as Place;
use crate::hosts::namespace::inside;
use crate::mac::Mac;
use crate::syscalls;

/// Frames that the kernel holds until they are read. Large enough for a burst while the daemon sleeps, so that the
/// interface queue that drops is the engine's.
const RING_FRAMES: u32 = 256;

/// A TAP device.
#[derive(Debug)]
pub struct Tap {
    device: File,
}

/// What is known of a TAP besides.
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
    /// One line: what the host lacks.
    pub fn create(place: &Place, mac: Mac, mtu_bytes: u32) -> Result<(Self, TapInfo), String> {
        inside(place.netns.as_deref(), || create_here(&place.name, mac, mtu_bytes))
    }

    /// Reads one frame.
    pub fn read(&self, space: &mut [u8]) -> io::Result<usize> {
        (&self.device).read(space)
    }

    /// Hands a frame to the host.
    pub fn write(&self, frame: &[u8]) -> io::Result<()> {
        (&self.device).write(frame).map(|_| ())
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

fn create_here(name: &str, mac: Mac, mtu_bytes: u32) -> Result<(Tap, TapInfo), String> {
    let told = |what: &str, error: io::Error| format!("{what} TAP {name:?}: {error}{}", advice(&error));
    let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun");
    let device = device.map_err(|error| format!("opening /dev/net/tun: {error}{}", advice(&error)))?;
    syscalls::create_tap(device.as_fd(), name).map_err(|error| told("creating", error))?;
    // Any socket serves as the door for interface ioctls.
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(|error| told("opening a socket for", error))?;
    let door = socket.as_fd();
    syscalls::set_mac(door, name, mac).map_err(|error| told("setting the address of", error))?;
    syscalls::set_mtu(door, name, mtu_bytes).map_err(|error| told("setting the MTU of", error))?;
    syscalls::set_queue_length(door, name, RING_FRAMES).map_err(|error| told("setting the queue of", error))?;
    syscalls::bring_up(door, name).map_err(|error| told("bringing up", error))?;
    let ifindex = if_nametoindex(name).map_err(|error| told("finding", error.into()))?;
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
    /// Frames that the kernel dropped since the start, its ring being full; None where that cannot be read.
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
