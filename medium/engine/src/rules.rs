//! The differences between the four radio presets. All presets run the same DCF; each difference is one field here.
//!
//! * `ns2` is the papers' simulator: Mac/802_11 and WirelessPhy of ns-2.35, checked against runs of ns-2.
//! * `ns2-2001` is ns-2 as it was in 2001 (ns-2.1b8a), checked in the same way.
//! * `standard` is IEEE 802.11 as written, with the ranges of ns-2.
//! * `sinr` is `standard` with a receiver that follows an error model.

use pacelab_air_config::{PhyKind, Preset, Radio};

use crate::event_queue::Ns;
use crate::phy::Phy;

const US: Ns = 1_000;

/// The QoS Control field in data frames of 802.11n, ac and ax.
const QOS_CONTROL_BYTES: u32 = 2;

/// How a receiver treats frames that overlap in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// ns-2: the receiver locks on the first frame that it senses. A later frame that is weaker by the capture ratio is
    /// ignored, but it sets the NAV to its airtime and EIFS. Any other later frame destroys both; the receiver then
    /// stays locked on the frame that ends later.
    PairwiseFirstLock,
    /// The receiver locks on the first frame that it senses while idle. The frame survives if its power is at all times
    /// at least the capture ratio times the sum of all others. A receiver that is locked or sending locks on no other
    /// frame.
    CumulativeSinr,
    /// Like `CumulativeSinr`, but the receiver locks only on frames above the decode threshold, because it does not
    /// find the preamble of a weaker one. A weaker frame is energy that keeps the medium busy. The error model decides
    /// whether the frame survives: each interval of constant interference adds its bit errors, and a random draw at the
    /// end of the frame decides. While the locked frame is still in its preamble, a frame that is stronger by the
    /// capture ratio takes over the lock.
    ErrorModel,
}

/// How long a station waits for the frame that must follow its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseTimeout {
    /// SIFS, the airtime of the response, and this much more, whatever the station hears meanwhile (ns-2: twice 2 us).
    WholeResponse(Ns),
    /// For a CTS or an ACK: SIFS, the airtime of the response, and the time given here. For data: the duration that the
    /// CTS announced.
    Announced {
        /// For a CTS.
        cts_ns: Ns,
        /// For an ACK.
        ack_ns: Ns,
    },
    /// SIFS, a slot and the preamble. If the station is receiving a frame at that time, it waits until the frame ends
    /// (IEEE 802.11-2016 Sec. 10.3.2.9: aSIFSTime + aSlotTime + aRxPHYStartDelay).
    ReceptionStart,
}

/// The unit of duration fields, and of EIFS if the preset holds EIFS as a NAV. ns-2 counts both in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavUnit {
    /// No rounding.
    Exact,
    /// The receiver rounds to the nearest microsecond.
    Nearest,
    /// The sender rounds up when it writes the field, and the receiver when it sets its NAV.
    Up,
}

/// The rules of one radio preset.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Interframe spaces and airtimes.
    pub phy: Phy,
    /// MAC header, FCS and LLC around a packet, bytes.
    pub overhead_bytes: u32,
    /// How a receiver treats overlapping frames.
    pub overlap: Overlap,
    /// How long a station waits for a response.
    pub response_timeout: ResponseTimeout,
    /// The backoff is drawn from 0..=CW (the standard), or from 0..CW (ns-2).
    pub cw_inclusive: bool,
    /// A packet that finds the medium idle gets no backoff: it is sent when the medium has been idle for DIFS. If the
    /// medium turns busy first, it is sent DIFS after the medium turns idle again. This follows ns-3. It also covers a
    /// packet that is forwarded between the end of the received frame and the station's own ACK, which makes a window
    /// of 1 on a chain 5 % faster. ns-2 always draws a backoff first.
    pub immediate_access: bool,
    /// ns-2 until 2002: a packet that finds the medium idle waits DIFS by a timer. Only a received RTS stops the timer;
    /// a busy medium does not. If the medium is busy when the timer ends, the window doubles and a backoff is drawn.
    /// The same holds for data after its CTS. A packet whose timer was stopped by an RTS waits again after that
    /// exchange.
    pub defer_timer: bool,
    /// Time from the CTS to the data, if it is not SIFS.
    pub data_after_cts_ns: Option<Ns>,
    /// A received CTS resets the window; data received after the station's own CTS resets the window and the short
    /// retry counter (ns-2 until 2003: "premature re-setting").
    pub early_reset: bool,
    /// Attempts to send data beyond the retry limit.
    pub more_data_attempts: u32,
    /// ns-2 sets the NAV to EIFS and then waits DIFS; a good frame does not end the NAV. The standard waits EIFS
    /// instead of DIFS, and a good frame ends EIFS.
    pub eifs_as_nav: bool,
    /// ns-2 sends a CTS, and data after a CTS, only if the station is idle, is not sending, and its NAV is zero. The
    /// standard checks only the NAV before a CTS, and nothing before data after a CTS.
    pub response_needs_idle: bool,
    /// How duration fields are rounded.
    pub nav_unit: NavUnit,
    /// ns-2: when a packet is dropped after its last RTS, the long retry counter keeps its value for the next packet.
    pub long_retries_survive: bool,
    /// Time a packet spends between routing and the MAC, each way (ns-2's link layer).
    pub link_layer_delay_ns: Ns,
}

impl Rules {
    /// The rules of the radio's preset, with its physical layer.
    pub fn of(radio: &Radio) -> Self {
        let phy = Rules::phy_of(radio, radio.phy);
        let rules = match radio.preset {
            Preset::Ns2 => Rules::ns2(phy),
            Preset::Ns2Of2001 => Rules::ns2_of_2001(phy),
            Preset::Standard => Rules::standard(phy),
            Preset::Sinr => Rules::sinr(phy),
        };
        let qos_bytes = if radio.mode().is_some() { QOS_CONTROL_BYTES } else { 0 };
        Rules { overhead_bytes: rules.overhead_bytes + qos_bytes, ..rules }
    }

    /// The timing of a physical layer under the radio's preset.
    pub fn phy_of(radio: &Radio, kind: PhyKind) -> Phy {
        if let Some(format) = kind.format() {
            let settings = radio.high_throughput();
            return Phy::high_throughput(settings.mode(format), settings.band);
        }
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
            response_timeout: ResponseTimeout::WholeResponse(4_000),
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

    /// ns-2.1b8a of 2001. A frame is 28 bytes longer than its packet. `Phy::dsss_of_2001` has the preamble.
    pub const fn ns2_of_2001(phy: Phy) -> Self {
        Rules {
            overhead_bytes: 28,
            response_timeout: ResponseTimeout::Announced { cts_ns: phy.sifs_ns, ack_ns: phy.difs_ns() },
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
            response_timeout: ResponseTimeout::ReceptionStart,
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

    /// The duration as the sender writes it into a frame.
    pub(crate) fn duration_field_ns(&self, duration_ns: Ns) -> Ns {
        if self.nav_unit == NavUnit::Up { duration_ns.div_ceil(US) * US } else { duration_ns }
    }

    /// The NAV that a receiver sets for a duration that it read or computed.
    pub(crate) fn nav_ns(&self, duration_ns: Ns) -> Ns {
        match self.nav_unit {
            NavUnit::Exact => duration_ns,
            NavUnit::Nearest => (duration_ns + US / 2) / US * US,
            NavUnit::Up => duration_ns.div_ceil(US) * US,
        }
    }

    /// The DCF of the standard over a receiver that follows an error model.
    pub const fn sinr(phy: Phy) -> Self {
        Rules { overlap: Overlap::ErrorModel, ..Rules::standard(phy) }
    }
}
