//! Where the radio presets differ. One DCF serves both; each difference is one field here.
//!
//! `ns2` is the papers' simulator (ns-2.35's Mac/802_11 and WirelessPhy, facts checked against runs of it),
//! `standard` is IEEE 802.11 as written, with the same ranges.

use crate::agenda::Ns;
use crate::phy::Phy;

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
    /// SIFS, a slot and the preamble; while a frame is being received then, until it ends
    /// (IEEE 802.11-2016 Sec. 10.3.2.9: aSIFSTime + aSlotTime + aRxPHYStartDelay).
    ReceptionStart,
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
    /// ns-2 holds EIFS as a NAV, then waits a full DIFS, and a good frame does not end it. The standard waits EIFS
    /// in the place of DIFS, until a good frame ends it.
    pub eifs_as_nav: bool,
    /// CTS and DATA leave only when physically idle, not sending and NAV zero (ns-2). The standard asks the NAV
    /// alone for a CTS, and nothing for DATA after a CTS.
    pub response_needs_idle: bool,
    /// NAV settings are rounded to whole microseconds (ns-2's header fields).
    pub nav_whole_us: bool,
    /// The long retry counter survives the loss of a packet for failed RTSs into the next packet (ns-2).
    pub long_retries_survive: bool,
    /// Time a packet spends between routing and the MAC, each way (ns-2's link layer).
    pub link_layer_delay_ns: Ns,
}

impl Rules {
    /// ns-2.35.
    pub const fn ns2(phy: Phy) -> Self {
        Rules {
            phy,
            overhead_bytes: 34,
            overlap: Overlap::PairwiseFirstLock,
            patience: Patience::WholeResponse(4_000),
            cw_inclusive: false,
            immediate_access: false,
            eifs_as_nav: true,
            response_needs_idle: true,
            nav_whole_us: true,
            long_retries_survive: true,
            link_layer_delay_ns: 25_000,
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
            eifs_as_nav: false,
            response_needs_idle: false,
            nav_whole_us: false,
            long_retries_survive: false,
            link_layer_delay_ns: 0,
        }
    }

    /// The standard's DCF over a receiver that is judged by its error model.
    pub const fn sinr(phy: Phy) -> Self {
        Rules { overlap: Overlap::ErrorModel, ..Rules::standard(phy) }
    }
}
