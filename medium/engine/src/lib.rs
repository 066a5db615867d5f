//! The air: an event-exact model of the 802.11 DCF and of who interferes with whom.
//!
//! No I/O, no clock of its own, no randomness but its seed. The caller owns time: it asks `Air::next_at`, calls
//! `Air::step` when that moment has come (in virtual or in real time), and drains `Air::poll`.
//!
//! ```text
//!   caller          air            station           reception              exchange
//!   enqueue  ---->  agenda  ---->  lazy state  <---  who locks, collides,   RTS CTS DATA ACK,
//!   step            (time, seq)    backoff, NAV      captures, decodes      retries, timeouts
//!   poll     <----  notices
//! ```
//!
//! What differs between the radio presets is one table, `rules`.

mod access;
mod agenda;
mod air;
mod control;
mod exchange;
mod frame;
mod phy;
mod propagation;
mod random;
mod reception;
mod rules;
mod station;
mod tap;

pub use agenda::{Agenda, NEVER, Ns};
pub use air::{Air, AirConfig, Due, Failure, Notice};
pub use frame::{Kind, Packet, RateChain};
pub use phy::{Modulation, Phy, frame_bytes};
pub use propagation::{DECODE_THRESHOLD_W, Fading, Link, SENSE_THRESHOLD_W, two_ray_power_w};
pub use random::Stream;
pub use rules::{Overlap, Patience, Rules};
pub use station::Counters;
pub use tap::{Happening, Record, Sent};
