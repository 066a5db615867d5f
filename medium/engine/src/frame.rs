//! Frames: packets of the layer above, frame headers, and frames on their way to a station.

use pacelab_air_config::Category;

use crate::event_queue::Ns;
use crate::ids::{PacketId, StationId};

/// A packet that the layer above wants to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The number that the layer above gave to the packet.
    pub id: PacketId,
    /// The receiving station. None is a broadcast, which is sent once at the basic rate without an ACK.
    pub to: Option<StationId>,
    /// Size without MAC header.
    pub bytes: u32,
    /// Its access category, if the stations have four.
    pub category: Category,
    /// Data rate of each attempt. None: the rate of the link.
    pub rates: Option<RateChain>,
}

impl Packet {
    /// Whether the packet is part of a Block Ack agreement, if its station has those.
    pub(crate) fn in_agreement(&self) -> bool {
        self.to.is_some() && self.rates.is_none_or(|chain| chain.aggregates)
    }
}

/// Data rates of the attempts of one packet, set by a rate control in the layer above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChain {
    /// (rate, attempts), in this order. The last used stage holds for all further attempts. Unused stages have 0
    /// attempts. A rate is in bit/s, or the code of an `Mcs`.
    pub stages: [(u32, u8); 4],
    /// The packet may be part of an aggregate, if its station has Block Ack agreements.
    pub aggregates: bool,
}

impl RateChain {
    /// Index of the stage for the attempt that follows `made` attempts.
    pub fn stage(&self, made: u32) -> usize {
        let mut until = 0;
        let mut place = 0;
        for (index, &(_, attempts)) in self.stages.iter().enumerate().filter(|(_, stage)| stage.1 > 0) {
            place = index;
            until += u32::from(attempts);
            if made < until {
                break;
            }
        }
        place
    }

    /// Rate of the attempt that follows `made` attempts.
    pub fn rate_bps(&self, made: u32) -> u32 {
        self.stages[self.stage(made)].0
    }
}

/// Kinds of frames on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// A data frame, unicast or broadcast.
    Data,
    /// Acknowledgement.
    Ack,
    /// An A-MPDU of unicast data frames.
    Aggregate,
    /// Block Ack Request.
    BlockAckRequest,
    /// Block Ack.
    BlockAck,
}

impl Kind {
    /// Whether a station that awaits a frame of the kind `awaited` accepts this one.
    #[inline]
    pub(crate) fn answers(self, awaited: Kind) -> bool {
        self == awaited || (awaited == Kind::Data && self == Kind::Aggregate)
    }
}

/// The fields that a receiver reads from a decoded frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub kind: Kind,
    pub from: StationId,
    /// `StationId::BROADCAST` for all stations.
    pub to: StationId,
    /// Duration field: the rest of the exchange after this frame. In the standard the field cannot exceed 33 ms.
    pub duration_ns: u32,
    /// RTS and data: the packet, the sender's frame number (to detect duplicates), and whether an RTS precedes the
    /// data. In an aggregate `number` is that of `SentAggregates`. In a Block Ack Request `number` is the first
    /// number of the window.
    pub packet: PacketId,
    pub number: u32,
    pub uses_rts: bool,
    /// Data: the packet belongs to a Block Ack agreement, whose number it has.
    pub in_agreement: bool,
    /// Bit/s, or the code of an `Mcs`.
    pub rate_bps: u32,
}

impl Header {
    #[inline]
    pub fn is_for(&self, station: StationId) -> bool {
        (self.to == station) | (self.to == StationId::BROADCAST)
    }
}

/// A frame as it reaches one station. Fits in one cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub start: Ns,
    pub airtime_ns: u32,
    /// NAV that the frame sets at its end if it does not collide: its duration field, or EIFS.
    pub hold_ns: u32,
    pub power_w: f64,
    pub decodable: bool,
    /// The frame is for this station, which decodes it unless it collides.
    pub addressed: bool,
    /// See `Link`.
    pub loss: f64,
    pub header: Header,
}

impl Arrival {
    #[inline]
    pub fn end(&self) -> Ns {
        self.start + Ns::from(self.airtime_ns)
    }
}

/// The frames on their way to a station, ordered by start.
///
/// Usually there is only one, which is stored inside the station, so that adding a frame at hundreds of stations
/// touches little memory.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Pending {
    first: Option<Arrival>,
    /// The frames after the first. None if there is no first.
    next: Option<Box<Waiting>>,
}

/// A frame after the first.
#[derive(Clone, Debug)]
struct Waiting {
    arrival: Arrival,
    next: Option<Box<Waiting>>,
}

impl Pending {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub fn first(&self) -> Option<&Arrival> {
        self.first.as_ref()
    }

    /// Whether another frame begins before `end`.
    #[inline]
    pub fn meets_another(&self, end: Ns) -> bool {
        self.next.as_ref().is_some_and(|next| next.arrival.start < end)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arrival> {
        let others = std::iter::successors(self.next.as_deref(), |waiting| waiting.next.as_deref());
        self.first.iter().chain(others.map(|waiting| &waiting.arrival))
    }

    /// Adds a frame after those that begin at the same time. The closure constructs it in place.
    #[inline]
    pub fn add(&mut self, arrival: impl FnOnce() -> Arrival) {
        if self.first.is_none() {
            self.first = Some(arrival());
        } else {
            self.add_behind(arrival());
        }
    }

    #[inline(never)]
    fn add_behind(&mut self, arrival: Arrival) {
        if let Some(first) = self.first.as_mut().filter(|first| arrival.start < first.start) {
            let arrival = std::mem::replace(first, arrival);
            self.next = Some(Box::new(Waiting { arrival, next: self.next.take() }));
        } else {
            insert(&mut self.next, arrival);
        }
    }

    /// Removes the first frame.
    #[inline]
    pub fn drop_first(&mut self) {
        self.first = None;
        if self.next.is_some() {
            self.move_up();
        }
    }

    #[inline(never)]
    fn move_up(&mut self) {
        if let Some(waiting) = self.next.take() {
            self.first = Some(waiting.arrival);
            self.next = waiting.next;
        }
    }
}

/// Inserts a frame after those that begin before it or at the same time.
fn insert(place: &mut Option<Box<Waiting>>, arrival: Arrival) {
    match place {
        Some(waiting) if waiting.arrival.start <= arrival.start => insert(&mut waiting.next, arrival),
        _ => *place = Some(Box::new(Waiting { arrival, next: place.take() })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stage_of_a_chain_makes_all_attempts_that_follow() {
        let stages = [(11_000_000, 2), (2_000_000, 1), (0, 0), (0, 0)];
        let chain = RateChain { stages, aggregates: false };
        let rates: Vec<u32> = (0..5).map(|made| chain.rate_bps(made) / 1_000_000).collect();
        assert_eq!(rates, [11, 11, 2, 2, 2]);
    }

    fn arrival(start: Ns, from: u32) -> Arrival {
        let from = StationId(from);
        let header = Header {
            kind: Kind::Data,
            from,
            to: StationId(9),
            duration_ns: 0,
            packet: PacketId(0),
            number: 0,
            uses_rts: false,
            in_agreement: false,
            rate_bps: 1,
        };
        Arrival {
            start,
            airtime_ns: 10,
            hold_ns: 0,
            power_w: 1.0,
            decodable: true,
            addressed: false,
            loss: 0.0,
            header,
        }
    }

    #[test]
    fn frames_leave_by_start_and_equal_ones_as_they_came() {
        let mut pending = Pending::default();
        for (start, from) in [(20, 1), (30, 2), (20, 3), (10, 4), (20, 5), (10, 6)] {
            pending.add(|| arrival(start, from));
        }
        let mut order = Vec::new();
        while let Some(first) = pending.first() {
            order.push((first.start, first.header.from.0));
            pending.drop_first();
        }
        assert_eq!(order, [(10, 4), (10, 6), (20, 1), (20, 3), (20, 5), (30, 2)]);
        assert!(pending.is_empty());
    }

    #[test]
    fn the_first_meets_what_begins_before_its_end() {
        let mut pending = Pending::default();
        pending.add(|| arrival(10, 1));
        assert!(!pending.meets_another(20));
        pending.add(|| arrival(20, 2));
        assert!(!pending.meets_another(20));
        assert!(pending.meets_another(21));
    }
}
