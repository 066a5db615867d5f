//! The air: an event-exact model of the 802.11 DCF and of interference between stations.
//!
//! The engine does no I/O, has no clock, and takes all randomness from its seed. The caller owns time: it asks
//! `Air::next_at`, calls `Air::step` at that time (virtual or real), and drains `Air::poll`.
//!
//! ```text
//!   caller          air            station           reception              exchange
//!   enqueue  ---->  event queue -> lazy state  <---  who locks, collides,   RTS CTS DATA ACK,
//!   step            (time, seq)    backoff, NAV      captures, decodes      retries, timeouts
//!   poll     <----  MAC events
//! ```
//!
//! `rules` is a table of all differences between the radio presets.

mod access;
mod aggregation;
mod air;
mod block_ack;
mod control;
mod error_model;
mod event_queue;
mod exchange;
mod frame;
mod ids;
mod mcs;
mod mpdu_set;
mod phy;
mod ppdu;
mod propagation;
mod random;
mod reception;
mod rules;
mod station;
mod trace;

pub use air::{Air, AirConfig, Failure, MacEvent, Timeline};
pub use event_queue::{EventQueue, NEVER, Ns};
pub use frame::{Kind, Packet, RateChain};
pub use ids::{Id, IdVec, PacketId, StationId};
pub use mcs::{Mcs, bit_rate_bps};
pub use mpdu_set::MpduSet;
pub use phy::{Modulation, Phy, frame_bytes};
pub use ppdu::{airtime_ns, longest_psdu_bytes, non_ht_reference_bps, preamble_ns};
pub use propagation::{DECODE_THRESHOLD_W, Fading, Link, SENSE_THRESHOLD_W, two_ray_power_w};
pub use random::Stream;
pub use rules::{Overlap, ResponseTimeout, Rules};
pub use station::Counters;
pub use trace::{InAggregate, SentFrame, TraceEvent, TraceRecord};
