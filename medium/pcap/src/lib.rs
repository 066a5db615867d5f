//! Capture files of the air: one pcapng for a run, an interface per station, 802.11 with radiotap. And `join`: such a file
//! of what tcpdump wrote at each host of a guest.
//!
//! ```text
//!   AirLog  --->  story    who received what, what became of each frame, in words
//!                 frame    bytes of the 802.11 frame and of the packet inside
//!                 file     blocks, radiotap, options; `join`
//! ```
//!
//! Invariants
//! 1. The bytes are a pure function of the log and the options.
//! 2. Times are those of a frame's first bit: at its sender, and a propagation delay later at its receivers.
//! 3. Frames are as the standard has them, check sequence included, also where a preset counts fewer or more bytes
//!    on the air (`ns2`: 34 around a packet where the standard has 36, and no UDP header).

mod file;
mod frame;
mod story;

pub use file::{join, pcapng};
