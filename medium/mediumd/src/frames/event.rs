//! What listeners are told of, small enough to be passed through a ring.

use pacelab_engine::Ns;

use crate::frames::head::Head;

/// Kinds of events, as bits.
pub mod kind {
    #![allow(missing_docs)]
    pub const TRANSMIT: u32 = 1;
    pub const DROP: u32 = 2;
    pub const AIR: u32 = 4;
    pub const LATENESS: u32 = 8;
    /// Names on the socket.
    pub const NAMES: [(&str, u32); 4] = [("transmit", TRANSMIT), ("drop", DROP), ("air", AIR), ("lateness", LATENESS)];
}

/// Why a frame did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Given up after the last RTS.
    MacRts,
    /// Given up after the last data frame.
    MacData,
    /// The interface queue was full.
    Queue,
    /// No station has this address.
    NoStation,
    /// Too short, or longer than the MTU.
    Malformed,
    /// The receiving host's TAP took no more.
    Host,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 6] =
        [Cause::MacRts, Cause::MacData, Cause::Queue, Cause::NoStation, Cause::Malformed, Cause::Host];

    /// The name on the socket.
    pub fn name(self) -> &'static str {
        match self {
            Cause::MacRts => "mac-rts",
            Cause::MacData => "mac-data",
            Cause::Queue => "queue",
            Cause::NoStation => "no-station",
            Cause::Malformed => "malformed",
            Cause::Host => "host",
        }
    }
}

/// Something that happened to one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in modelled time.
    pub at: Ns,
    /// The transmitter; of `Cause::Host` too.
    pub station: u32,
    /// The receiver; None: all, or no station.
    pub to: Option<u32>,
    /// What.
    pub what: What,
    /// The frame.
    pub head: Head,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The link layer is done with the frame.
    Transmit {
        /// RTS and data together.
        attempts: u32,
        /// Acknowledged, or broadcast.
        delivered: bool,
        /// Since the host handed it over.
        queued_ns: Ns,
    },
    /// The frame is lost.
    Drop(Cause),
}

impl Event {
    /// Its bit.
    pub fn kind(&self) -> u32 {
        match self.what {
            What::Transmit { .. } => kind::TRANSMIT,
            What::Drop(_) => kind::DROP,
        }
    }
}
