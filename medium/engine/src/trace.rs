//! The tracer records everything that happens on the air, for figures, captures and tests.
//!
//! Stations are evaluated lazily (see `station`), so records are added out of order and sorted when they are taken.

use crate::block_ack::SentAggregate;
use crate::event_queue::Ns;
use crate::frame::{Header, Kind};
use crate::ids::{PacketId, StationId};
use crate::mpdu_set::MpduSet;

/// Events at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceEvent {
    /// Began to send an RTS; value: its airtime in ns.
    SendRts,
    /// Began to send a CTS; value: its airtime in ns.
    SendCts,
    /// Began to send data; value: its airtime in ns.
    SendData,
    /// Began to send an ACK; value: its airtime in ns.
    SendAck,
    /// Began to send an aggregate; value: its airtime in ns.
    SendAggregate,
    /// Began to send a Block Ack Request; value: its airtime in ns.
    SendBlockAckRequest,
    /// Began to send a Block Ack; value: its airtime in ns.
    SendBlockAck,
    /// The receiver locked on a frame from the peer; value: when it ends.
    Lock,
    /// Decoded a frame from the peer. Of an aggregate, value: a bit for each of the first 64 MPDUs that was decoded.
    Decode,
    /// A frame from the peer destroyed the one being received.
    Collide,
    /// The locked frame survived a frame from the peer.
    Capture,
    /// A frame ended that could not be decoded.
    Garbled,
    /// Some MPDUs of an aggregate for this station were lost; value: how many.
    LostMpdus,
    /// Drew a backoff; value: slots.
    Backoff,
    /// Set its NAV; value: until when.
    Nav,
    /// Began an extended interframe space; value: until when.
    Eifs,
    /// Sent no CTS for an RTS of the peer.
    RefuseCts,
    /// Did not send its data although the CTS was received.
    HoldData,
    /// An exchange with the peer failed and will be repeated; value: the larger retry counter.
    Retry,
    /// Dropped a packet after the last RTS; value: the packet.
    DropRts,
    /// Dropped a packet after the last data frame; value: the packet.
    DropData,
    /// Dropped a packet of the interface queue, because it was full or by its discipline; value: the packet.
    DropQueue,
    /// Decoded further MPDUs of an aggregate of more than 64; value: a bit for each of the next 64. Three of these precede
    /// the `Decode` of the aggregate.
    DecodeFurther,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Time.
    pub at: Ns,
    /// The station.
    pub station: StationId,
    /// The event.
    pub what: TraceEvent,
    /// The other station, if any.
    pub peer: Option<StationId>,
    /// See `TraceEvent`.
    pub value: u64,
}

/// A frame that was sent, with the fields of its header; for captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// When it began.
    pub at: Ns,
    /// The transmitter.
    pub station: StationId,
    /// The receiver; None: all.
    pub to: Option<StationId>,
    /// Its kind.
    pub kind: Kind,
    /// Its duration.
    pub airtime_ns: Ns,
    /// Its duration field: the rest of the exchange after this frame.
    pub duration_ns: Ns,
    /// Its rate.
    pub rate_bps: u32,
    /// RTS and data: the packet, and the transmitter's number of the frame.
    pub packet: PacketId,
    /// See `packet`. Block Ack and its request: the first number of the window.
    pub number: u32,
    /// An MPDU of an aggregate. Each MPDU is a `SentFrame` of its own with the times of the whole aggregate.
    pub aggregate: Option<InAggregate>,
    /// Block Ack: a bit for each number from `number` on that was received.
    pub bitmap: MpduSet,
}

/// The place of an MPDU in an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InAggregate {
    /// The aggregate, as its transmitter numbers them.
    pub reference: u32,
    /// The last MPDU of the aggregate.
    pub last: bool,
}

/// Collects records if it is switched on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracer {
    pub on: bool,
    records: Vec<TraceRecord>,
    frames: Vec<SentFrame>,
}

impl Tracer {
    pub fn new(on: bool) -> Self {
        Tracer { on, records: Vec::new(), frames: Vec::new() }
    }

    #[inline]
    pub fn note(&mut self, at: Ns, station: StationId, what: TraceEvent, peer: Option<StationId>, value: u64) {
        if self.on {
            self.records.push(TraceRecord { at, station, what, peer, value });
        }
    }

    /// Records a frame at its start. `bitmap` belongs to a Block Ack.
    #[inline]
    pub fn sent(&mut self, at: Ns, airtime_ns: Ns, header: &Header, bitmap: MpduSet) {
        if self.on {
            self.frames.push(SentFrame {
                at,
                station: header.from,
                to: (header.to != StationId::BROADCAST).then_some(header.to),
                kind: header.kind,
                airtime_ns,
                duration_ns: header.duration_ns.into(),
                rate_bps: header.rate_bps,
                packet: header.packet,
                number: header.number,
                aggregate: None,
                bitmap,
            });
        }
    }

    /// Records the MPDUs of an aggregate, of which `sent` has recorded the header.
    pub fn split(&mut self, aggregate: &SentAggregate) {
        let Some(whole) = self.frames.pop() else { return };
        let last = aggregate.subframes.len() - 1;
        self.frames.extend(aggregate.subframes.iter().enumerate().map(|(place, subframe)| SentFrame {
            packet: subframe.packet,
            number: subframe.number,
            aggregate: Some(InAggregate { reference: whole.number, last: place == last }),
            ..whole
        }));
    }

    /// All frames so far, by time.
    pub fn take_frames(&mut self) -> Vec<SentFrame> {
        std::mem::take(&mut self.frames)
    }

    /// All records so far, by time, then station.
    pub fn take(&mut self) -> Vec<TraceRecord> {
        let mut records = std::mem::take(&mut self.records);
        records.sort_by_key(|record| (record.at, record.station));
        records
    }
}
