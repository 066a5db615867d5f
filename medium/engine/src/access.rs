//! One access category: its queue, its contention window and its backoff.
//!
//! A DCF station has one; an EDCA station has four that contend with each other as with other stations
//! (IEEE 802.11-2016 Sec. 10.22.2). TXOP limits are zero: one packet an access.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use pacelab_air_config::Category;

use crate::block_ack::Originator;
use crate::event_queue::Ns;
use crate::frame::{Kind, Packet};
use crate::phy::Phy;

/// The contention parameters of an access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contention {
    /// Interframe space before its countdown: DIFS, or the category's AIFS.
    pub space_ns: Ns,
    pub slot_ns: Ns,
    pub cw_min: u32,
    pub cw_max: u32,
}

impl Contention {
    /// The DCF's only category.
    pub fn dcf(phy: &Phy) -> Self {
        Contention { space_ns: phy.difs_ns(), slot_ns: phy.slot_ns, cw_min: phy.cw_min, cw_max: phy.cw_max }
    }

    /// Source: IEEE 802.11-2016 Table 9-137 (default EDCA parameters).
    pub fn edca(phy: &Phy, category: Category) -> Self {
        let (slots, cw_min, cw_max) = match category {
            Category::Background => (7, phy.cw_min, phy.cw_max),
            Category::BestEffort => (3, phy.cw_min, phy.cw_max),
            Category::Video => (2, phy.cw_min.div_ceil(2) - 1, phy.cw_min),
            Category::Voice => (2, phy.cw_min.div_ceil(4) - 1, phy.cw_min.div_ceil(2) - 1),
        };
        Contention { space_ns: phy.sifs_ns + slots * phy.slot_ns, slot_ns: phy.slot_ns, cw_min, cw_max }
    }
}

/// The packet that an access category is trying to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameInService {
    pub packet: Packet,
    /// Frame size on the air.
    pub frame_bytes: u32,
    pub rate_bps: u32,
    pub number: u32,
    /// An RTS precedes the data.
    pub uses_rts: bool,
    /// The CTS was received, so the data is sent next.
    pub cts_received: bool,
    /// Data, an aggregate, or a Block Ack Request.
    pub kind: Kind,
    pub attempts: u32,
}

/// A backoff in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pub slots: u32,
    /// The countdown cannot begin before this.
    pub started: Ns,
}

/// An addition to the backoff after a delivered frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExtraBackoff {
    pub slots: u32,
    /// The slots pass by the clock before the countdown, busy or idle. If false, they count down only while idle, as
    /// the drawn slots do.
    pub wall_clock: bool,
}

/// One access category of a station. The fields are in the order in which they are needed, as in `Station`.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct AccessCategory {
    backoff: Option<Backoff>,
    pub contention: Contention,
    pub cw: u32,
    pub short_retries: u32,
    pub long_retries: u32,
    /// The packet in service is done, and the next packet has not been taken from the queue yet.
    pub wants_refill: bool,
    pub queue: VecDeque<Packet>,
    pub in_service: Option<FrameInService>,
    /// Block Ack agreements. None: the station sends no aggregates.
    pub block_ack: Option<Box<Originator>>,
}

impl AccessCategory {
    pub fn new(contention: Contention) -> Self {
        AccessCategory {
            contention,
            queue: VecDeque::new(),
            in_service: None,
            block_ack: None,
            wants_refill: false,
            backoff: None,
            cw: contention.cw_min,
            short_retries: 0,
            long_retries: 0,
        }
    }

    pub fn backoff(&self) -> Option<Backoff> {
        self.backoff
    }

    /// Whether the frame in service belongs to a Block Ack agreement: MPDUs, or a Block Ack Request.
    #[inline]
    pub fn serves_agreement(&self) -> bool {
        let requests = || self.in_service.is_some_and(|frame| frame.kind == Kind::BlockAckRequest);
        self.block_ack.as_ref().is_some_and(|originator| !originator.mpdus.is_empty() || requests())
    }

    pub fn widen_cw(&mut self) {
        self.cw = (2 * self.cw + 1).min(self.contention.cw_max);
    }

    pub fn reset_cw(&mut self) {
        self.cw = self.contention.cw_min;
    }
}

/// The access categories of a station, least urgent first. The first one, the only one of the DCF, is stored inside the
/// station, so that a DCF station needs no further memory access.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct AccessCategories {
    first: AccessCategory,
    others: Vec<AccessCategory>,
}

impl AccessCategories {
    /// One category for each element, and there must be at least one.
    pub fn new(contentions: &[Contention]) -> Self {
        let others = contentions[1..].iter().map(|&contention| AccessCategory::new(contention)).collect();
        AccessCategories { others, first: AccessCategory::new(contentions[0]) }
    }

    pub fn len(&self) -> usize {
        1 + self.others.len()
    }

    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &AccessCategory> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The least urgent category, and all others.
    #[inline]
    pub fn split_first(&self) -> (&AccessCategory, &[AccessCategory]) {
        (&self.first, &self.others)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut AccessCategory> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// Sets or removes the backoff of a category. Returns whether any category has a backoff afterwards.
    pub fn set_backoff(&mut self, index: usize, backoff: Option<Backoff>) -> bool {
        self[index].backoff = backoff;
        self.iter().any(|category| category.backoff.is_some())
    }
}

impl Index<usize> for AccessCategories {
    type Output = AccessCategory;

    #[inline]
    fn index(&self, index: usize) -> &AccessCategory {
        if index == 0 { &self.first } else { &self.others[index - 1] }
    }
}

impl IndexMut<usize> for AccessCategories {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut AccessCategory {
        if index == 0 { &mut self.first } else { &mut self.others[index - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edca_defaults_are_those_of_the_standard_for_80211a() {
        // aCWmin 15, aCWmax 1023, slot 9 us, SIFS 16 us: AIFS of voice and video 34 us, best effort 43, background 79
        let phy = Phy::ofdm_a();
        let of = |category| {
            let contention = Contention::edca(&phy, category);
            (contention.space_ns, contention.cw_min, contention.cw_max)
        };
        assert_eq!(of(Category::Background), (79_000, 15, 1023));
        assert_eq!(of(Category::BestEffort), (43_000, 15, 1023));
        assert_eq!(of(Category::Video), (34_000, 7, 15));
        assert_eq!(of(Category::Voice), (34_000, 3, 7));
    }
}
