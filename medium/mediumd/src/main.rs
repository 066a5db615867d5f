//! mediumd: the engine in real time, the air between real Linux hosts. PROTOCOL.md says how to talk to it.
//!
//! ```text
//!   hosts' TAPs,
//!   radios      <--> pump, one real-time thread            server, the main thread <--> Unix socket, signals
//!                     carrier: frames over the air   <--   orders (changes, snapshots)
//!                     lateness                       -->   ring of events, dropped when full
//! ```
//!
//! `carrier`, the two wires `ethernet` and `radio`, `request`, `wmediumd`, `world`, `histogram` and `lateness` have no I/O.
//! `pump` with its two kinds of hosts, `server` and `wmediumd_server` are the shell; `syscalls` has the unsafe code.

#[cfg(target_os = "linux")]
mod air_handle;
#[cfg(target_os = "linux")]
mod carrier;
#[cfg(target_os = "linux")]
mod config;
#[cfg(target_os = "linux")]
mod connection;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod ethernet;
#[cfg(target_os = "linux")]
mod event;
#[cfg(target_os = "linux")]
mod histogram;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
mod mac;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod pool;
#[cfg(target_os = "linux")]
mod pump;
#[cfg(target_os = "linux")]
mod radio;
#[cfg(target_os = "linux")]
mod radio_hosts;
#[cfg(target_os = "linux")]
mod radio_socket;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod request;
#[cfg(target_os = "linux")]
mod server;
#[cfg(target_os = "linux")]
mod socket_file;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod tap;
#[cfg(target_os = "linux")]
mod tap_hosts;
#[cfg(target_os = "linux")]
mod tell;
#[cfg(target_os = "linux")]
mod wire;
#[cfg(target_os = "linux")]
mod wmediumd;
#[cfg(target_os = "linux")]
mod wmediumd_server;
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
