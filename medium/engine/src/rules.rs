//! Where the radio presets differ. One DCF serves both; each difference is one field here.
//!
//! `ns2` is the papers' simulator (ns-2.35's Mac/802_11 and WirelessPhy, facts checked against runs of it),
//! `ns2-2001` the same as it was in 2001 (ns-2.1b8a, checked in the same way), `standard` is IEEE 802.11 as written,
//! with the same ranges.

use pacelab_air_config::{PhyKind, Preset, Radio};

use crate::agenda::Ns;
use crate::phy::Phy;

const US: Ns = 1_000;

/// How a receiver treats frames that overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// ns-2: the first frame sensed holds the lock. A later one weaker by the capture ratio is ignored, but sets the
    /// NAV to its airtime + EIFS; any other destroys both, and the longer remainder becomes the reference.
    PairwiseFirstLock,
    /// The first frame sensed while idle holds the lock and survives while its power exceeds the capture ratio times
    /// the sum of all others, at every moment. Nothing locks while the receiver is locked or sending.
    CumulativeSinr,
    /// As above, but only frames above the decode threshold lock (their preamble is found); weaker ones are energy
    /// that keeps the medium busy. What decides is the chance of the bits: each stretch of constant interference adds its share of
    /// the error model, and the end of the frame draws. A frame stronger by the capture ratio takes the lock over
    /// while the first is still in its preamble.
    ErrorModel,
}

/// When a sender gives up waiting for a CTS or an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// SIFS, the whole response and this much more, whatever is heard meanwhile (ns-2: twice 2 us).
    WholeResponse(Ns),
    /// SIFS, the whole response and this much more for a CTS or for an ACK; for data as long as the CTS announced.
    Announced {
        /// For a CTS.
        cts_ns: Ns,
        /// For an ACK.
        ack_ns: Ns,
    },
    /// SIFS, a slot and the preamble; while a frame is being received then, until it ends
    /// (IEEE 802.11-2016 Sec. 10.3.2.9: aSIFSTime + aSlotTime + aRxPHYStartDelay).
    ReceptionStart,
}

/// What becomes of a duration field, and of EIFS where it is a NAV: ns-2 counts both in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavUnit {
    /// As it is.
    Exact,
    /// The receiver rounds to the nearest microsecond.
    Nearest,
    /// Each who writes or sets it rounds up.
    Up,
}

/// The rules of one radio preset.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Interframe spaces and airtimes.
    pub phy: Phy,
    /// MAC header, FCS and LLC around a packet, bytes.
    pub overhead_bytes: u32,
    /// Overlapping frames.
    pub overlap: Overlap,
    /// Waiting for a response.
    pub patience: Patience,
    /// Draw the backoff from 0..=CW (the standard) or 0..CW (ns-2).
    pub cw_inclusive: bool,
    /// A packet that finds the medium idle is given no backoff: it leaves once DIFS has passed, now or, when the
    /// medium turns busy first, after that (as ns-3 has it; forwarding a frame between its end and the own ACK falls
    /// under this, and makes a window of 1 on a chain 5 % faster). ns-2 always draws a backoff first.
    pub immediate_access: bool,
    /// ns-2 until 2002: a packet that finds the medium idle waits DIFS by a timer that a busy medium does not stop, only
    /// a received RTS does; if the medium is busy at its end, the window is doubled and a backoff drawn. So does data
    /// after its CTS, and a packet whose timer an RTS stopped, once that exchange is over.
    pub defer_timer: bool,
    /// From a CTS to the data, where it is not SIFS.
    pub data_after_cts_ns: Option<Ns>,
    /// A CTS, and data after the own CTS, reset the window, and the data the short retry counter too (ns-2 until 2003:
    /// "premature re-setting").
    pub early_reset: bool,
    /// Data is given up at so many failures more than the limit says.
    pub more_data_attempts: u32,
    /// ns-2 holds EIFS as a NAV, then waits a full DIFS, and a good frame does not end it. The standard waits EIFS
    /// in the place of DIFS, until a good frame ends it.
    pub eifs_as_nav: bool,
    /// CTS and DATA leave only when physically idle, not sending and NAV zero (ns-2). The standard asks the NAV
    /// alone for a CTS, and nothing for DATA after a CTS.
    pub response_needs_idle: bool,
    /// Duration fields.
    pub nav_unit: NavUnit,
    /// The long retry counter survives the loss of a packet for failed RTSs into the next packet (ns-2).
    pub long_retries_survive: bool,
    /// Time a packet spends between routing and the MAC, each way (ns-2's link layer).
    pub link_layer_delay_ns: Ns,
}

impl Rules {
    /// Those of the radio's preset, over its physical layer.
    pub fn of(radio: &Radio) -> Self {
        let phy = Rules::phy_of(radio, radio.phy);
        match radio.preset {
            Preset::Ns2 => Rules::ns2(phy),
            Preset::Ns2Of2001 => Rules::ns2_of_2001(phy),
            Preset::Standard => Rules::standard(phy),
            Preset::Sinr => Rules::sinr(phy),
        }
    }

    /// How the radio's preset times a physical layer.
    pub fn phy_of(radio: &Radio, kind: PhyKind) -> Phy {
        match radio.preset {
            Preset::Ns2 => Phy::of(kind, false),
            Preset::Ns2Of2001 => Phy::dsss_of_2001(radio.data_rate_bps),
            Preset::Standard | Preset::Sinr => Phy::of(kind, true),
        }
    }

    /// ns-2.35.
    pub const fn ns2(phy: Phy) -> Self {
        Rules {
            phy,
            overhead_bytes: 34,
            overlap: Overlap::PairwiseFirstLock,
            patience: Patience::WholeResponse(4_000),
            cw_inclusive: false,
            immediate_access: false,
            defer_timer: false,
            data_after_cts_ns: None,
            early_reset: false,
            more_data_attempts: 0,
            eifs_as_nav: true,
            response_needs_idle: true,
            nav_unit: NavUnit::Nearest,
            long_retries_survive: true,
            link_layer_delay_ns: 25_000,
        }
    }

    /// ns-2.1b8a, of 2001. Its frames are 28 bytes longer than the packet; the preamble is `Phy::dsss_of_2001`'s.
    pub const fn ns2_of_2001(phy: Phy) -> Self {
        Rules {
            overhead_bytes: 28,
            patience: Patience::Announced { cts_ns: phy.sifs_ns, ack_ns: phy.difs_ns() },
            defer_timer: true,
            data_after_cts_ns: Some(phy.difs_ns()),
            early_reset: true,
            more_data_attempts: 1,
            nav_unit: NavUnit::Up,
            ..Rules::ns2(phy)
        }
    }

    /// IEEE 802.11 as written: 28 bytes of MAC header and FCS, 8 of LLC and SNAP.
    pub const fn standard(phy: Phy) -> Self {
        Rules {
            phy,
            overhead_bytes: 36,
            overlap: Overlap::CumulativeSinr,
            patience: Patience::ReceptionStart,
            cw_inclusive: true,
            immediate_access: true,
            defer_timer: false,
            data_after_cts_ns: None,
            early_reset: false,
            more_data_attempts: 0,
            eifs_as_nav: false,
            response_needs_idle: false,
            nav_unit: NavUnit::Exact,
            long_retries_survive: false,
            link_layer_delay_ns: 0,
        }
    }

    /// A duration as it is written into a frame.
    pub(crate) fn written_ns(&self, duration_ns: Ns) -> Ns {
        if self.nav_unit == NavUnit::Up { duration_ns.div_ceil(US) * US } else { duration_ns }
    }

    /// What a NAV is set to for a duration that was read or reckoned.
    pub(crate) fn nav_ns(&self, duration_ns: Ns) -> Ns {
        match self.nav_unit {
            NavUnit::Exact => duration_ns,
            NavUnit::Nearest => (duration_ns + US / 2) / US * US,
            NavUnit::Up => duration_ns.div_ceil(US) * US,
        }
    }

    /// The standard's DCF over a receiver that is judged by its error model.
    pub const fn sinr(phy: Phy) -> Self {
        Rules { overlap: Overlap::ErrorModel, ..Rules::standard(phy) }
    }
}
