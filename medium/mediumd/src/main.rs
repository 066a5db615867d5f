//! mediumd runs the engine in real time as the air between real Linux hosts. PROTOCOL.md describes its protocol.
//!
//! ```text
//!   hosts' TAPs,
//!   radios      <--> pump, one real-time thread            server, the main thread <--> Unix socket, signals
//!                     carrier: frames over the air   <--   commands (changes, snapshots)
//!                     lateness                       -->   ring of events, dropped when full
//! ```
//!
//! `frames`, `socket::request`, `options`, `wmediumd_network` and `air::lateness` do no I/O. The drivers that do I/O
//! are `air::pump` with its two kinds of hosts (`tap_hosts`, `radio_hosts`) and the servers in `socket`. `syscalls` has
//! the unsafe code.

#[cfg(target_os = "linux")]
mod air;
#[cfg(target_os = "linux")]
mod config;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod monitors;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod radio_hosts;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod status;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod tap_hosts;
#[cfg(target_os = "linux")]
mod wmediumd_network;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    daemon::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("mediumd: needs Linux (TAP devices and network namespaces); the simulator runs everywhere");
    std::process::ExitCode::from(3)
}
