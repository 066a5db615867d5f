//! The virtual-time network above the air.
//!
//! ```text
//!   flow        TCP and UDP ends                 tcp/, flow, transport
//!    |  hook    algorithms: local out, local in  hook, shell
//!   routing     static or AODV                   routes, aodv, forwarding
//!    |  hook    algorithms at a gateway
//!   air | wire  pacelab_engine::Air | wire
//! ```
//!
//! `network::Network` owns it all and the one loop: earliest first among the link layers' delay line, the agenda and
//! the air. The result is a pure function of configuration and hooks.

pub mod airlog;
pub mod aodv;
pub mod flow;
mod forwarding;
pub mod hook;
mod links;
pub mod meter;
mod motion;
pub mod network;
pub mod packet;
mod report;
mod routes;
mod shell;
mod stations;
pub mod tcp;
mod transport;
pub mod voice;
mod wire;

pub use network::{Network, Progress};
pub use shell::ports;
