//! The virtual-time network above the air.
//!
//! ```text
//!   flow        TCP and UDP ends                 tcp/, voice, flow     network/transport
//!    |  hook    algorithms: local out, local in  hook                  network/hooks
//!   routing     static or AODV                   routes, aodv/         network/forwarding
//!    |  hook    algorithms at a gateway
//!   queue       drop-tail or a discipline        qdisc/                network/interfaces
//!   air | wire  pacelab_engine::Air | wire       wire
//! ```
//!
//! `network::Network` owns all parts and the event loop. The loop takes the earliest event of the link layers' delay
//! line, the event queue and the air. Only the modules in `network/` access the fields of `Network`; they contain the
//! interactions between the parts. The result is a pure function of configuration and hooks.

pub mod airlog;
pub mod aodv;
pub mod flow;
pub mod hook;
pub mod ids;
pub mod network;
pub mod packet;
mod ping;
pub mod qdisc;
mod routes;
pub mod tcp;
pub mod voice;
mod wire;

pub use network::{Network, Progress};
