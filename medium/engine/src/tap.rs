//! The event tap: everything that happens on the air, for pictures, captures and tests.
//!
//! Stations are evaluated lazily (see `station`), so records are noted out of order and sorted when taken.

use crate::agenda::Ns;
use crate::frame::{BROADCAST, Header, Kind};

/// What happened at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happening {
    /// Began to send an RTS; value: its airtime in ns.
    SendRts,
    /// Began to send a CTS; value: its airtime in ns.
    SendCts,
    /// Began to send data; value: its airtime in ns.
    SendData,
    /// Began to send an ACK; value: its airtime in ns.
    SendAck,
    /// The receiver locked on a frame from the peer; value: when it ends.
    Lock,
    /// Decoded a frame from the peer.
    Decode,
    /// A frame from the peer destroyed the one being received.
    Collide,
    /// The locked frame survived a frame from the peer.
    Capture,
    /// A frame ended that could not be decoded.
    Garbled,
    /// Drew a backoff; value: slots.
    Backoff,
    /// Holds its NAV; value: until when.
    Nav,
    /// Waits an extended interframe space; value: until when.
    Eifs,
    /// Refused to answer an RTS of the peer.
    RefuseCts,
    /// Held data back although the CTS came.
    HoldData,
    /// An exchange with the peer failed and is tried again; value: the retry count reached.
    Retry,
    /// Gave a packet up after the last RTS; value: the packet.
    DropRts,
    /// Gave a packet up after the last data frame; value: the packet.
    DropData,
    /// Refused a packet, the interface queue being full; value: the packet.
    DropQueue,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When.
    pub at: Ns,
    /// Where.
    pub station: u32,
    /// What.
    pub what: Happening,
    /// The other station, if any.
    pub peer: Option<u32>,
    /// See `Happening`.
    pub value: u64,
}

/// A frame that was put on the air, with what its header says: for captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When it began.
    pub at: Ns,
    /// The transmitter.
    pub station: u32,
    /// The receiver; None: all.
    pub to: Option<u32>,
    /// What it is.
    pub kind: Kind,
    /// How long it lasts.
    pub airtime_ns: Ns,
    /// Its duration field: how long the exchange goes on after it.
    pub duration_ns: Ns,
    /// Its rate.
    pub rate_bps: u32,
    /// RTS and data: the upper layer's name of the packet, and the transmitter's number for it.
    pub packet: u32,
    /// See `packet`.
    pub number: u32,
}

/// Collects records while switched on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tap {
    pub on: bool,
    records: Vec<Record>,
    frames: Vec<Sent>,
}

impl Tap {
    pub fn new(on: bool) -> Self {
        Tap { on, records: Vec::new(), frames: Vec::new() }
    }

    #[inline]
    pub fn note(&mut self, at: Ns, station: u32, what: Happening, peer: Option<u32>, value: u64) {
        if self.on {
            self.records.push(Record { at, station, what, peer, value });
        }
    }

    /// Notes a frame at its start.
    #[inline]
    pub fn sent(&mut self, at: Ns, airtime_ns: Ns, header: &Header) {
        if self.on {
            self.frames.push(Sent {
                at,
                station: header.from,
                to: (header.to != BROADCAST).then_some(header.to),
                kind: header.kind,
                airtime_ns,
                duration_ns: header.duration_ns.into(),
                rate_bps: header.rate_bps,
                packet: header.packet,
                number: header.number,
            });
        }
    }

    /// All frames so far, by time.
    pub fn take_frames(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.frames)
    }

    /// All records so far, by time, then station.
    pub fn take(&mut self) -> Vec<Record> {
        let mut records = std::mem::take(&mut self.records);
        records.sort_by_key(|record| (record.at, record.station));
        records
    }
}
