//! One access category: its queue, its contention window and its backoff.
//!
//! A DCF station has one; an EDCA station has four that contend with each other as with other stations
//! (IEEE 802.11-2016 Sec. 10.22.2). TXOP limits are zero: one packet an access.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use pacelab_air_config::Category;

use crate::agenda::Ns;
use crate::frame::Packet;
use crate::phy::Phy;

/// How a category contends.
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

/// The packet being served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    pub packet: Packet,
    /// Frame size on the air.
    pub frame_bytes: u32,
    pub rate_bps: u32,
    pub number: u32,
    /// Uses RTS/CTS at all.
    pub protected: bool,
    /// The CTS has come: what is sent next is the data.
    pub cleared: bool,
    pub attempts: u32,
}

/// A backoff in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pub slots: u32,
    /// The countdown cannot begin before this.
    pub started: Ns,
}

/// What is added to the backoff after a delivered frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExtraBackoff {
    pub slots: u32,
    /// It passes by the clock, before the countdown; else its slots are counted as the others are, while idle.
    pub wall_clock: bool,
}

/// In the order of need, as `Station`.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Access {
    backoff: Option<Backoff>,
    pub contention: Contention,
    pub cw: u32,
    pub short_retries: u32,
    pub long_retries: u32,
    /// The served packet is done and the next one has not been taken yet.
    pub wants_refill: bool,
    pub queue: VecDeque<Packet>,
    pub current: Option<Current>,
}

impl Access {
    pub fn new(contention: Contention) -> Self {
        Access {
            contention,
            queue: VecDeque::new(),
            current: None,
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

    pub fn widen_cw(&mut self) {
        self.cw = (2 * self.cw + 1).min(self.contention.cw_max);
    }

    pub fn reset_cw(&mut self) {
        self.cw = self.contention.cw_min;
    }
}

/// The categories of a station, least urgent first. The first, which is the DCF's only one, lies in the station itself.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Accesses {
    first: Access,
    others: Vec<Access>,
}

impl Accesses {
    /// One for each way to contend, and one at least.
    pub fn new(contentions: &[Contention]) -> Self {
        let others = contentions[1..].iter().map(|&contention| Access::new(contention)).collect();
        Accesses { others, first: Access::new(contentions[0]) }
    }

    pub fn len(&self) -> usize {
        1 + self.others.len()
    }

    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &Access> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The least urgent, and all others.
    #[inline]
    pub fn split_first(&self) -> (&Access, &[Access]) {
        (&self.first, &self.others)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Access> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// Gives a category a backoff, or takes it away; whether a countdown is running or held in one of them now.
    pub fn set_backoff(&mut self, index: usize, backoff: Option<Backoff>) -> bool {
        self[index].backoff = backoff;
        self.iter().any(|access| access.backoff.is_some())
    }
}

impl Index<usize> for Accesses {
    type Output = Access;

    #[inline]
    fn index(&self, index: usize) -> &Access {
        if index == 0 { &self.first } else { &self.others[index - 1] }
    }
}

impl IndexMut<usize> for Accesses {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Access {
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
