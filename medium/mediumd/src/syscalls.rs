//! System calls without a safe wrapper: the ioctls of TAP devices and interfaces, the scheduling class, and signal
//! dispositions. The only module with unsafe code.

#![allow(unsafe_code)]
#![allow(clippy::unnecessary_cast)] // the codes' type differs between C libraries

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::{io, mem};

use crate::config::Mac;

/// Turns the open /dev/net/tun into a new TAP device of this name in the present network namespace. Frames have no
/// packet information header. Fails if the device exists.
pub fn create_tap(tun: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = request_for(name)?;
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    call(tun, libc::TUNSETIFF as u64, &mut request)
}

/// Sets an interface's Ethernet address.
pub fn set_mac(socket: BorrowedFd<'_>, name: &str, mac: Mac) -> io::Result<()> {
    let mut request = request_for(name)?;
    // SAFETY: sockaddr is plain data, for which all zeros are valid.
    let mut address: libc::sockaddr = unsafe { mem::zeroed() };
    address.sa_family = libc::ARPHRD_ETHER;
    for (to, from) in address.sa_data.iter_mut().zip(mac.0) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_hwaddr = address;
    call(socket, libc::SIOCSIFHWADDR as u64, &mut request)
}

/// Sets an interface's MTU in bytes.
pub fn set_mtu(socket: BorrowedFd<'_>, name: &str, bytes: u32) -> io::Result<()> {
    let mut request = request_for(name)?;
    request.ifr_ifru.ifru_mtu = bytes as libc::c_int;
    call(socket, libc::SIOCSIFMTU as u64, &mut request)
}

/// Sets the length of an interface's queue. For a TAP this is the ring from which frames are read.
pub fn set_queue_length(socket: BorrowedFd<'_>, name: &str, packets: u32) -> io::Result<()> {
    let mut request = request_for(name)?;
    request.ifr_ifru.ifru_metric = packets as libc::c_int; // ifr_qlen is the same integer
    call(socket, libc::SIOCSIFTXQLEN as u64, &mut request)
}

/// Brings an interface up.
pub fn bring_up(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = request_for(name)?;
    call(socket, libc::SIOCGIFFLAGS as u64, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has written this member.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
    call(socket, libc::SIOCSIFFLAGS as u64, &mut request)
}

/// Puts the calling thread into SCHED_FIFO: it runs before all ordinary threads.
pub fn schedule_first(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
        #[cfg(target_env = "musl")]
        sched_ss_low_priority: 0,
        #[cfg(target_env = "musl")]
        sched_ss_repl_period: libc::timespec { tv_sec: 0, tv_nsec: 0 },
        #[cfg(target_env = "musl")]
        sched_ss_init_budget: libc::timespec { tv_sec: 0, tv_nsec: 0 },
        #[cfg(target_env = "musl")]
        sched_ss_max_repl: 0,
    };
    // SAFETY: the pointer is to a local that outlives the call; 0 is the calling thread. The system call itself, as
    // musl's wrapper always fails.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether the process ignores this signal. `nohup` makes it ignore SIGHUP.
pub fn ignores(signal: libc::c_int) -> bool {
    // SAFETY: sigaction is plain data, for which all zeros are valid.
    let mut present: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: no new action is given; the present one is written to a local that outlives the call.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut present) };
    result == 0 && present.sa_sigaction == libc::SIG_IGN
}

fn request_for(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: ifreq is plain data, for which all zeros are valid.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn call(file: impl AsFd, code: u64, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: all codes above take a pointer to an ifreq, which the kernel reads and may write.
    let result = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), code as _, std::ptr::from_mut(request)) };
    if result >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
