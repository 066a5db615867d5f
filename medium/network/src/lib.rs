//! The virtual-time network above the air.
//!
//! ```text
//!   flow        TCP and UDP ends                 tcp/, voice, flow     network/transport
//!    |  hook    algorithms: local out, local in  hook                  network/hooks
//!   routing     static or AODV                   routes, aodv/         network/forwarding
//!    |  hook    algorithms at a gateway
//!   air | wire  pacelab_engine::Air | wire       wire
//! ```
//!
//! `network::Network` owns it all and the one loop: earliest first among the link layers' delay line, the agenda and
//! the air; what its parts do to each other is in `network/`, which alone touches its fields. The result is a pure
//! function of configuration and hooks.

pub mod airlog;
pub mod aodv;
pub mod flow;
pub mod hook;
pub mod network;
pub mod packet;
mod routes;
pub mod tcp;
pub mod voice;
mod wire;

pub use network::{Network, Progress};
