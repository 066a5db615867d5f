//! Frames: what the upper layer hands over, and what travels.

use pacelab_air_config::Category;

use crate::agenda::Ns;

/// A packet that the upper layer wants on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The upper layer's name for it.
    pub id: u32,
    /// Receiving station; None is a broadcast, sent once at the basic rate without ACK.
    pub to: Option<u32>,
    /// Size without MAC header.
    pub bytes: u32,
    /// Which queue it takes where there are four.
    pub category: Category,
    /// Rates of its attempts; None: the link's.
    pub rates: Option<RateChain>,
}

/// Data rates of one packet's attempts, as a rate control above asks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChain {
    /// (bit/s, attempts), in this order; the last one used holds for all attempts that follow. Unused: 0 attempts.
    pub stages: [(u32, u8); 4],
}

impl RateChain {
    /// Place of the stage that makes the attempt after `made` others.
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

    /// Rate of the attempt after `made` others, bit/s.
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
}

/// What a receiver may learn from a frame once it is decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub kind: Kind,
    pub from: u32,
    /// `u32::MAX` is broadcast.
    pub to: u32,
    /// Duration field: how long the exchange goes on after this frame. A real one ends at 33 ms.
    pub duration_ns: u32,
    /// Data: the upper layer's name, the sender's frame number (for duplicates) and whether RTS protected it.
    pub packet: u32,
    pub number: u32,
    pub protected: bool,
    pub rate_bps: u32,
}

pub(crate) const BROADCAST: u32 = u32::MAX;

impl Header {
    #[inline]
    pub fn is_for(&self, station: u32) -> bool {
        (self.to == station) | (self.to == BROADCAST)
    }
}

/// A frame as it reaches one station: a line of the processor's cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub start: Ns,
    pub airtime_ns: u32,
    /// NAV that it leaves behind at its end, if nothing happens to it: what it announces, or EIFS.
    pub hold_ns: u32,
    pub power_w: f64,
    pub decodable: bool,
    /// The station decodes it, if nothing happens to it, and is whom it is meant for.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stage_of_a_chain_makes_all_attempts_that_follow() {
        let chain = RateChain { stages: [(11_000_000, 2), (2_000_000, 1), (0, 0), (0, 0)] };
        let rates: Vec<u32> = (0..5).map(|made| chain.rate_bps(made) / 1_000_000).collect();
        assert_eq!(rates, [11, 11, 2, 2, 2]);
    }
}
