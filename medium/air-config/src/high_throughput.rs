//! What 802.11n adds to a radio: data rates by modulation and coding scheme (MCS), and aggregation.
//!
//! Source: IEEE 802.11-2016 Sec. 19.5 (HT MCS parameters), Sec. 9.7 and 10.13 (A-MPDU), Sec. 10.24 (Block Ack).

use std::ops::RangeInclusive;

use serde::Deserialize;

/// Guard interval between OFDM symbols.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum GuardInterval {
    /// 0.8 us, symbols of 4 us.
    #[default]
    Long,
    /// 0.4 us, symbols of 3.6 us.
    Short,
}

/// Settings of an 802.11n radio: 20 MHz, one spatial stream, Block Ack agreements between all stations.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct HighThroughput {
    /// Guard interval of data frames.
    pub guard_interval: GuardInterval,
    /// Most MPDUs of an aggregate. 1: every packet is sent alone and is acknowledged by an ACK.
    pub ampdu_frames: u32,
    /// Longest aggregate in bytes.
    pub ampdu_bytes: u32,
    /// Least time between the starts of two MPDUs of an aggregate, ns.
    pub ampdu_spacing_ns: u32,
}

impl Default for HighThroughput {
    fn default() -> Self {
        HighThroughput {
            guard_interval: GuardInterval::Long,
            ampdu_frames: HighThroughput::MOST_FRAMES,
            ampdu_bytes: HighThroughput::MOST_BYTES,
            ampdu_spacing_ns: 0,
        }
    }
}

impl HighThroughput {
    /// MPDUs that the bitmap of a compressed Block Ack covers.
    pub const MOST_FRAMES: u32 = 64;
    /// The largest Maximum A-MPDU Length Exponent of HT: 2^16 - 1 octets.
    pub const MOST_BYTES: u32 = 65_535;
    /// The largest Minimum MPDU Start Spacing, ns.
    pub const LONGEST_SPACING_NS: u32 = 16_000;

    /// The data rates of MCS 0 to 7, bit/s.
    pub const fn rates_bps(self) -> &'static [u32; 8] {
        self.guard_interval.rates_bps()
    }
}

impl GuardInterval {
    /// The data rates of MCS 0 to 7 with this guard interval, bit/s.
    pub const fn rates_bps(self) -> &'static [u32; 8] {
        match self {
            GuardInterval::Long => &HT_RATES_BPS,
            GuardInterval::Short => &HT_SHORT_GI_RATES_BPS,
        }
    }

    /// Duration of an OFDM symbol, ns.
    pub const fn symbol_ns(self) -> u64 {
        match self {
            GuardInterval::Long => 4_000,
            GuardInterval::Short => 3_600,
        }
    }
}

impl HighThroughput {
    /// # Errors
    /// A value is invalid. The message is one line with the key, the value and what is valid.
    pub(crate) fn check(self) -> Result<(), String> {
        check_range("ampdu_frames", self.ampdu_frames, 1..=Self::MOST_FRAMES)?;
        check_range("ampdu_bytes", self.ampdu_bytes, 1..=Self::MOST_BYTES)?;
        check_range("ampdu_spacing_ns", self.ampdu_spacing_ns, 0..=Self::LONGEST_SPACING_NS)
    }
}

fn check_range(key: &str, value: u32, valid: RangeInclusive<u32>) -> Result<(), String> {
    if valid.contains(&value) {
        return Ok(());
    }
    Err(format!("{key} {value}: must be from {} to {}", valid.start(), valid.end()))
}

/// 26, 52, 78, 104, 156, 208, 234 and 260 data bits in a symbol of 4 us.
pub(crate) const HT_RATES_BPS: [u32; 8] =
    [6_500_000, 13_000_000, 19_500_000, 26_000_000, 39_000_000, 52_000_000, 58_500_000, 65_000_000];

/// The same bits in a symbol of 3.6 us, rounded to whole bit/s.
const HT_SHORT_GI_RATES_BPS: [u32; 8] =
    [7_222_222, 14_444_444, 21_666_667, 28_888_889, 43_333_333, 57_777_778, 65_000_000, 72_222_222];

/// Rates of the frames that an 802.11n station sends in the format of 802.11a: control frames and broadcasts.
pub const HT_BASIC_RATES_BPS: [u32; 3] = [6_000_000, 12_000_000, 24_000_000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_the_bits_of_a_symbol_over_its_duration() {
        // IEEE 802.11-2016 Table 19-27: data bits per symbol of MCS 0 to 7 with one stream in 20 MHz
        let bits = [26.0, 52.0, 78.0, 104.0, 156.0, 208.0, 234.0, 260.0];
        for guard_interval in [GuardInterval::Long, GuardInterval::Short] {
            let ht = HighThroughput { guard_interval, ..HighThroughput::default() };
            let symbol_s = if guard_interval == GuardInterval::Long { 4e-6 } else { 3.6e-6 };
            let expected = bits.map(|bits: f64| (bits / symbol_s).round() as u32);
            assert_eq!(*ht.rates_bps(), expected);
        }
    }

    #[test]
    fn limits_of_the_standard_are_checked() {
        let good = HighThroughput::default();
        assert_eq!(good.check(), Ok(()));
        for (bad, reported) in [
            (HighThroughput { ampdu_frames: 0, ..good }, "ampdu_frames 0: must be from 1 to 64"),
            (HighThroughput { ampdu_frames: 65, ..good }, "ampdu_frames 65: must be from 1 to 64"),
            (HighThroughput { ampdu_bytes: 65_536, ..good }, "ampdu_bytes 65536: must be from 1 to 65535"),
            (HighThroughput { ampdu_spacing_ns: 16_001, ..good }, "ampdu_spacing_ns 16001: must be from 0 to 16000"),
        ] {
            assert_eq!(bad.check(), Err(reported.into()));
        }
    }
}
