//! The engine from outside: scenes of a few stations, told by the tap. Expected times are sums made by hand, in
//! microseconds, from IEEE 802.11b's intervals and, where it differs, from what ns-2 was seen to do.
//!
//! ```text
//! long preamble 192   RTS 20 B at 1 Mbit/s: 192 + 160 = 352   CTS, ACK 14 B: 192 + 112 = 304
//! SIFS 10   slot 20   DIFS 50   EIFS 10 + 304 + 50 = 364
//! ```

mod closed_forms;
mod link_layer;
mod ns2_of_2001_rules;
mod ns2_rules;
mod properties;
mod radios;
mod rig;
mod standard_rules;
