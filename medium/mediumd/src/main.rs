//! mediumd: the engine in real time, the air between real Linux hosts. PROTOCOL.md says how to talk to it.
//!
//! ```text
//!   hosts' TAPs,
//!   radios      <--> pump, one real-time thread            server, the main thread <--> Unix socket, signals
//!                     carrier: frames over the air   <--   orders (changes, snapshots)
//!                     lateness                       -->   ring of events, dropped when full
//! ```
//!
//! `frames`, `socket::request`, `options`, `world` and `air::lateness` have no I/O. `air::pump` with its two kinds of
//! hosts (`tap_hosts`, `radio_hosts`) and the servers in `socket` are the shell; `syscalls` has the unsafe code.

#[cfg(target_os = "linux")]
mod air;
#[cfg(target_os = "linux")]
mod config;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod radio_hosts;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod tap_hosts;
#[cfg(target_os = "linux")]
mod world;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    daemon::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("mediumd: needs Linux (TAP devices and network namespaces); the simulator runs everywhere");
    std::process::ExitCode::from(3)
}
