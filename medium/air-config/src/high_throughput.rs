//! The settings that 802.11n, 802.11ac and 802.11ax add to a radio: wide channels, spatial streams and aggregation.
//!
//! Source: IEEE 802.11-2020 Sec. 9.7 and 10.12 (A-MPDU), Sec. 10.25 (Block Ack).

use std::ops::RangeInclusive;

use serde::Deserialize;

use crate::mode::{Band, Format, GuardInterval, Mode, Width};

/// Settings of a radio of 802.11n, 802.11ac or 802.11ax. All stations have Block Ack agreements with each other.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct HighThroughput {
    /// Channel width, which all data frames use. Control frames are sent in each 20 MHz of it at the same time.
    #[serde(rename = "width_mhz")]
    pub width: Width,
    /// Spatial streams of data frames.
    pub streams: u8,
    /// Guard interval of data frames.
    pub guard_interval: GuardInterval,
    /// Frequency band.
    #[serde(rename = "band_ghz")]
    pub band: Band,
    /// Most MPDUs of an aggregate. 1: every packet is sent alone and is acknowledged by an ACK.
    pub ampdu_frames: u32,
    /// Longest aggregate in bytes. None: the longest of the standard.
    pub ampdu_bytes: Option<u32>,
    /// Least time between the starts of two MPDUs of an aggregate, ns.
    pub ampdu_spacing_ns: u32,
}

impl Default for HighThroughput {
    fn default() -> Self {
        HighThroughput {
            width: Width::default(),
            streams: 1,
            guard_interval: GuardInterval::default(),
            band: Band::default(),
            ampdu_frames: HighThroughput::USUAL_FRAMES,
            ampdu_bytes: None,
            ampdu_spacing_ns: 0,
        }
    }
}

impl Format {
    /// Most MPDUs of an aggregate: as many as the bitmap of a compressed Block Ack covers.
    pub const fn most_ampdu_frames(self) -> u32 {
        match self {
            Format::Ht | Format::Vht => HighThroughput::USUAL_FRAMES,
            Format::HeSu => HighThroughput::MOST_FRAMES,
        }
    }

    /// The longest aggregate, bytes. HT: 2^16 - 1. VHT: 2^20 - 1. HE: aPSDUMaxLength, or 2^19 - 1 at 2.4 GHz (IEEE
    /// 802.11ax-2021 Sec. 26.6.1: the exponent of HT, and the largest extension).
    pub const fn most_ampdu_bytes(self, band: Band) -> u32 {
        match (self, band) {
            (Format::Ht, _) => 65_535,
            (Format::Vht, _) => 1_048_575,
            (Format::HeSu, Band::Ghz5) => 6_500_631,
            (Format::HeSu, Band::Ghz2) => 524_287,
        }
    }

    /// The name of the amendment.
    pub const fn amendment(self) -> &'static str {
        match self {
            Format::Ht => "802.11n",
            Format::Vht => "802.11ac",
            Format::HeSu => "802.11ax",
        }
    }
}

impl HighThroughput {
    /// MPDUs that a bitmap of 8 bytes covers.
    pub const USUAL_FRAMES: u32 = 64;
    /// MPDUs that a bitmap of 32 bytes covers.
    pub const MOST_FRAMES: u32 = 256;
    /// The largest Minimum MPDU Start Spacing, ns.
    pub const LONGEST_SPACING_NS: u32 = 16_000;

    /// MPDUs that one Block Ack covers: the window of a Block Ack agreement.
    pub const fn window(self) -> u32 {
        if self.ampdu_frames > Self::USUAL_FRAMES { Self::MOST_FRAMES } else { Self::USUAL_FRAMES }
    }

    /// The mode of data frames in this format.
    pub const fn mode(self, format: Format) -> Mode {
        Mode { format, width: self.width, streams: self.streams, guard_interval: self.guard_interval }
    }

    /// # Errors
    /// A value is invalid. The message is one line with the key, the value and what is valid.
    pub(crate) fn check(self, format: Format) -> Result<(), String> {
        self.mode(format).check()?;
        if format == Format::Vht && self.band == Band::Ghz2 {
            return Err("band_ghz 2.4: must be 5 with 802.11ac, which has no other band".into());
        }
        if self.width == Width::Mhz80 && self.band == Band::Ghz2 {
            return Err("width_mhz 80: must be 20 or 40 at 2.4 GHz".into());
        }
        check_range("ampdu_frames", self.ampdu_frames, 1..=format.most_ampdu_frames())?;
        let most_bytes = format.most_ampdu_bytes(self.band);
        check_range("ampdu_bytes", self.ampdu_bytes.unwrap_or(most_bytes), 1..=most_bytes)?;
        check_range("ampdu_spacing_ns", self.ampdu_spacing_ns, 0..=Self::LONGEST_SPACING_NS)
    }
}

fn check_range(key: &str, value: u32, valid: RangeInclusive<u32>) -> Result<(), String> {
    if valid.contains(&value) {
        return Ok(());
    }
    Err(format!("{key} {value}: must be from {} to {}", valid.start(), valid.end()))
}

/// Rates of the frames that these stations send in the format of 802.11a: control frames and broadcasts.
pub const HT_BASIC_RATES_BPS: [u32; 3] = [6_000_000, 12_000_000, 24_000_000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_standard_are_checked() {
        let good = HighThroughput::default();
        let windows = [64, 65].map(|ampdu_frames| HighThroughput { ampdu_frames, ..good }.window());
        assert_eq!(windows, [64, 256]);
        let bytes = |bytes| HighThroughput { ampdu_bytes: Some(bytes), ..good };
        let frames = |ampdu_frames| HighThroughput { ampdu_frames, ..good };
        let band = |band, width| HighThroughput { band, width, ..good };
        for (format, settings) in [
            (Format::Ht, good),
            (Format::Vht, HighThroughput { width: Width::Mhz80, ..bytes(1_048_575) }),
            (Format::HeSu, frames(256)),
            (Format::HeSu, band(Band::Ghz2, Width::Mhz40)),
            (Format::Ht, band(Band::Ghz2, Width::Mhz40)),
        ] {
            assert_eq!(settings.check(format), Ok(()));
        }
        for (format, bad, reported) in [
            (Format::Ht, frames(0), "ampdu_frames 0: must be from 1 to 64"),
            (Format::Vht, frames(65), "ampdu_frames 65: must be from 1 to 64"),
            (Format::HeSu, frames(257), "ampdu_frames 257: must be from 1 to 256"),
            (Format::Ht, bytes(65_536), "ampdu_bytes 65536: must be from 1 to 65535"),
            (Format::Vht, bytes(1_048_576), "ampdu_bytes 1048576: must be from 1 to 1048575"),
            (
                Format::HeSu,
                HighThroughput { band: Band::Ghz2, ..bytes(524_288) },
                "ampdu_bytes 524288: must be from 1 to 524287",
            ),
            (
                Format::Ht,
                HighThroughput { ampdu_spacing_ns: 16_001, ..good },
                "ampdu_spacing_ns 16001: must be from 0 to 16000",
            ),
            (
                Format::Vht,
                band(Band::Ghz2, Width::Mhz20),
                "band_ghz 2.4: must be 5 with 802.11ac, which has no other band",
            ),
            (Format::HeSu, band(Band::Ghz2, Width::Mhz80), "width_mhz 80: must be 20 or 40 at 2.4 GHz"),
            (Format::Ht, band(Band::Ghz5, Width::Mhz80), "width_mhz 80: must be 20 or 40 with 802.11n"),
        ] {
            assert_eq!(bad.check(format), Err(reported.into()));
        }
    }
}
