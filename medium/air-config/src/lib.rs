//! The air configuration, version 1, as `medium/README.md` states it: types that are read from JSON, and their checks.
//!
//! ```text
//!   radio       who hears whom, at which rates, by which rules     the engine, the simulator, mediumd
//!   traffic     flows and what they send                           the simulator
//!   run         a whole run: radio, nodes, wires, flows            the simulator
//! ```
//!
//! Data alone: nothing here knows how a frame is sent. Each word of the configuration has its one type here.

mod radio;
mod run;
mod traffic;

pub use radio::{DSSS_RATES_BPS, MacAckRate, OFDM_RATES_BPS, PhyKind, Preset, Propagation, Radio};
pub use run::{Capture, Config, Headers, HostDelay, Node, Routing, VERSION, Wired, ns_from_s};
pub use traffic::{Category, Cbr, FewSettings, Flow, Tcp, TcpDefaults, Traffic, Voice};
