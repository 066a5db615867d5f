//! Frames of 802.11n, ac and ax on the air (PPDU): preamble, airtime and longest payload by `Mode` and rate.
//!
//! Source: IEEE 802.11-2020 Sec. 19.4.3 (HT) and 21.4.3 (VHT), IEEE 802.11ax-2021 Sec. 27.4.3 (HE SU). `phy` has the values
//! computed by hand.

use pacelab_air_config::{Format, GuardInterval, Mode};

use crate::event_queue::Ns;

/// Longest PPDU (aPPDUMaxTime): the L-SIG field announces at most 4095 octets at 6 Mbit/s, which last 5484 us.
const LONGEST_PPDU_NS: Ns = 5_484_000;
/// Service and tail bits of OFDM.
pub(crate) const SERVICE_BITS: u64 = 16;
pub(crate) const TAIL_BITS: u64 = 6;
/// The non-HT reference rate of each MCS (IEEE 802.11-2020 Table 10-10): the rate with the same modulation and code, or
/// 54 Mbit/s if there is none. It determines the rate of the response.
const NON_HT_REFERENCE_BPS: [u32; 12] = [
    6_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000, 48_000_000, 54_000_000, 54_000_000, 54_000_000,
    54_000_000, 54_000_000, 54_000_000,
];

/// The preamble of a data frame of this mode: everything before the data symbols.
///
/// All formats begin with L-STF 8, L-LTF 8 and L-SIG 4 us. HT: HT-SIG 8, HT-STF 4 and an HT-LTF of 4 us per training
/// field. VHT: VHT-SIG-A 8, VHT-STF 4, VHT-LTFs of 4 and VHT-SIG-B 4 us. HE: RL-SIG 4, HE-SIG-A 8, HE-STF 4 us and
/// HE-LTFs: the twofold one of 6.4 us with a guard interval of 0.8 or 1.6 us, the fourfold one of 12.8 us with 3.2 us.
pub fn preamble_ns(mode: Mode) -> Ns {
    // Training fields for 1 to 4 streams (IEEE 802.11-2020 Table 19-13 and Table 21-13)
    let training_fields = if mode.streams == 3 { 4 } else { Ns::from(mode.streams) };
    match mode.format {
        Format::Ht => 32_000 + 4_000 * training_fields,
        Format::Vht => 36_000 + 4_000 * training_fields,
        Format::HeSu => {
            let field_ns = if mode.guard_interval == GuardInterval::Quadruple { 12_800 } else { 6_400 };
            36_000 + (field_ns + mode.guard_interval.ns()) * training_fields
        }
    }
}

/// Airtime of a data frame of this mode with a PSDU of `bytes`, at one of the data rates of the mode. Without a signal
/// extension.
///
/// Deviates: the symbol that an LDPC code sometimes adds, and HE's packet extension, are left out.
pub fn airtime_ns(mode: Mode, bytes: u32, rate_bps: u32) -> Ns {
    let bits_per_symbol = mode.bits_at(rate_bps);
    let tail_bits = TAIL_BITS * u64::from(mode.encoders(bits_per_symbol));
    let symbols = (SERVICE_BITS + 8 * u64::from(bytes) + tail_bits).div_ceil(bits_per_symbol.into());
    let body_ns = symbols * mode.symbol_ns();
    // A frame with the short guard interval still ends on the grid of 4 us (IEEE 802.11-2020 Eq. 19-90 and 21-107).
    let short = mode.guard_interval == GuardInterval::Short;
    preamble_ns(mode) + if short { body_ns.next_multiple_of(4_000) } else { body_ns }
}

/// Longest PSDU of a data frame of this mode at this rate, bytes: as much as `LONGEST_PPDU_NS` has room for.
pub fn longest_psdu_bytes(mode: Mode, rate_bps: u32) -> u32 {
    let bits_per_symbol = mode.bits_at(rate_bps);
    let tail_bits = TAIL_BITS * u64::from(mode.encoders(bits_per_symbol));
    let symbols = (LONGEST_PPDU_NS - preamble_ns(mode)) / mode.symbol_ns();
    ((symbols * u64::from(bits_per_symbol) - SERVICE_BITS - tail_bits) / 8) as u32
}

/// The rate of 802.11a with the modulation and code of this MCS, or 54 Mbit/s if there is none.
pub fn non_ht_reference_bps(mcs: u8) -> u32 {
    NON_HT_REFERENCE_BPS[usize::from(mcs)]
}
