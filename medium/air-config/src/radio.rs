//! The radio that all stations of an air have, the physical layers with their rates, and how a configuration is
//! refused.

use serde::{Deserialize, Serialize};

use crate::high_throughput::{HT_BASIC_RATES_BPS, HighThroughput};
use crate::mode::{Format, GuardInterval, Mode};

/// Radio settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// The preset.
    pub preset: Preset,
    /// Physical layer.
    #[serde(default)]
    pub phy: PhyKind,
    /// For 802.11n, ac and ax: width, streams, guard interval, band and aggregation. None: the defaults.
    #[serde(default)]
    pub ht: Option<HighThroughput>,
    /// Four access categories instead of one.
    #[serde(default)]
    pub edca: bool,
    /// One queue per station in which packets of the category voice go first (with EDCA they have their own queue).
    #[serde(default)]
    pub voice_first: bool,
    /// RTS, CTS, broadcasts (and ACKs, see `mac_ack_rate`), bit/s.
    pub basic_rate_bps: u32,
    /// Data rate of stations without their own rate, bit/s.
    pub data_rate_bps: u32,
    /// Frames of at least this size, MAC header included, use RTS/CTS.
    pub rts_threshold_bytes: u32,
    /// Attempts for an RTS, and for data sent without one.
    pub short_retry_limit: u32,
    /// Attempts for data after RTS/CTS.
    pub long_retry_limit: u32,
    /// Packets that may wait, the one in service not counted.
    pub queue_pkts: u32,
    /// Rate of ACKs.
    pub mac_ack_rate: MacAckRate,
    /// Powers and ranges.
    pub propagation: Propagation,
}

/// The radio presets.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The papers' simulator.
    Ns2,
    /// ns-2 as it was in 2001.
    #[serde(rename = "ns2-2001")]
    Ns2Of2001,
    /// IEEE 802.11 as written.
    Standard,
    /// The standard's DCF, cumulative interference and per-rate error curves.
    Sinr,
}

/// At which rate ACKs are sent.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum MacAckRate {
    /// The basic rate, as RTS and CTS.
    Basic,
    /// The rate of the frame that is acknowledged; RTS and CTS use the basic rate.
    Data,
    /// ACKs, RTS and CTS use the highest mandatory rate not above the data rate.
    Mandatory,
    /// Only ACKs and Block Acks use the highest mandatory rate not above the data rate. RTS and CTS use the basic rate.
    #[serde(rename = "mandatory-ack")]
    MandatoryAck,
}

/// The propagation model. `capture_db` is the power ratio at which the stronger of two frames survives.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)] // capture_db, as above
pub enum Propagation {
    /// Powers decide: the engine's thresholds.
    TwoRay { capture_db: f64 },
    /// Two-ray powers (for capture), but with these ranges for decoding and sensing.
    Range {
        /// Decodable up to here, in m.
        decode_m: f64,
        /// Sensed up to here, in m.
        sense_m: f64,
        capture_db: f64,
    },
    /// Loss grows with the logarithm of the distance; each pair of stations has its own shadowing for the run.
    LogDistance {
        /// Loss exponent.
        exponent: f64,
        /// Loss at 1 m, dB.
        reference_loss_db: f64,
        /// Transmit power, dBm.
        tx_power_dbm: f64,
        /// Standard deviation of the shadowing, dB.
        shadowing_db: f64,
        /// Weakest signal that is decoded, dBm.
        decode_dbm: f64,
        /// Weakest signal that is sensed, dBm.
        sense_dbm: f64,
        capture_db: f64,
    },
    /// Received power in W for each listed (from, to). Other pairs receive nothing.
    Matrix { capture_db: f64, links: Vec<(u32, u32, f64)> },
}

impl Radio {
    /// Checks the radio, and that its physical layer has these `further_bps` that stations and links use.
    ///
    /// # Errors
    /// The radio is invalid. The message is one line with the key, the value and what is valid.
    pub fn check(&self, further_bps: impl IntoIterator<Item = u32>) -> Result<(), String> {
        let own_bps = [self.basic_rate_bps, self.data_rate_bps];
        let further_bps: Vec<u32> = further_bps.into_iter().collect();
        self.check_ns2_of_2001(&further_bps)?;
        self.check_ht()?;
        if let Some(mode) = self.mode() {
            check_one_of(self.basic_rate_bps, &HT_BASIC_RATES_BPS, "of control frames")?;
            let data_bps = further_bps.into_iter().chain([self.data_rate_bps]);
            let what = "with this width, guard interval and number of streams";
            data_bps.into_iter().try_for_each(|bps| check_one_of(bps, mode.rates_bps(), what))?;
        } else {
            own_bps.into_iter().chain(further_bps).try_for_each(|rate_bps| self.phy.check_rate(rate_bps))?;
        }
        check(self.short_retry_limit > 0 && self.long_retry_limit > 0, || "retry limits: must be >= 1".into())?;
        check(self.queue_pkts > 0, || "queue_pkts 0: must be >= 1".into())
    }

    /// The mode of data frames of 802.11n, ac and ax. None: the physical layer is older.
    pub fn mode(&self) -> Option<Mode> {
        self.phy.format().map(|format| self.high_throughput().mode(format))
    }

    /// The settings of 802.11n, ac and ax.
    pub fn high_throughput(&self) -> HighThroughput {
        self.ht.unwrap_or_default()
    }

    /// The longest aggregate, bytes.
    pub fn most_ampdu_bytes(&self) -> u32 {
        let settings = self.high_throughput();
        let of_standard = self.phy.format().map_or(0, |format| format.most_ampdu_bytes(settings.band));
        settings.ampdu_bytes.unwrap_or(of_standard)
    }

    /// Whether stations send aggregates, which are acknowledged by Block Acks.
    pub fn aggregates(&self) -> bool {
        self.phy.format().is_some() && self.high_throughput().ampdu_frames > 1
    }

    fn check_ht(&self) -> Result<(), String> {
        let Some(format) = self.phy.format() else {
            return check(self.ht.is_none(), || {
                "ht: must be absent unless phy is 802.11n, 802.11ac or 802.11ax".into()
            });
        };
        let phy = format.amendment();
        self.high_throughput().check(format)?;
        check(matches!(self.preset, Preset::Standard | Preset::Sinr), || {
            format!("phy {phy}: preset must be standard or sinr, because ns-2 has no {phy}")
        })?;
        check(self.preset != Preset::Sinr || self.high_throughput().streams == 1, || {
            "streams: must be 1 with preset sinr, because its error model has no channel between several antennas"
                .into()
        })?;
        check(self.mac_ack_rate != MacAckRate::Data, || {
            format!(
                "phy {phy}: mac_ack_rate must be basic or mandatory, because control frames have the format of 802.11a"
            )
        })
    }

    /// ns-2.1b8a had 802.11b alone, one rate for all that is sent, and RTS before every unicast frame.
    fn check_ns2_of_2001(&self, further_bps: &[u32]) -> Result<(), String> {
        if self.preset != Preset::Ns2Of2001 {
            return Ok(());
        }
        check(self.phy == PhyKind::B, || "preset ns2-2001: its MAC had the times of 802.11b alone".into())?;
        check(self.data_rate_bps != 11_000_000, || {
            "preset ns2-2001: rate 11000000 bit/s: after its CTS data came a DIFS later, too late for the receiver, \
             who waited for what the CTS had announced: that MAC delivered nothing at this rate"
                .into()
        })?;
        check(!self.edca, || "preset ns2-2001: its MAC had one queue, edca must be off".into())?;
        check(self.rts_threshold_bytes == 0, || {
            "preset ns2-2001: its RTS threshold was built in as 0, there was no sending without RTS".into()
        })?;
        check(self.mac_ack_rate != MacAckRate::Mandatory, || {
            "preset ns2-2001: mac_ack_rate must be basic or data, which are the same there".into()
        })?;
        let other = further_bps.iter().chain([&self.basic_rate_bps]).find(|&&bps| bps != self.data_rate_bps);
        check(other.is_none(), || {
            format!(
                "preset ns2-2001: rate {} bit/s: all is sent at one rate there, control frames too: {} bit/s",
                other.copied().unwrap_or_default(),
                self.data_rate_bps
            )
        })
    }
}

impl Propagation {
    /// The capture ratio in dB.
    pub fn capture_db(&self) -> f64 {
        match *self {
            Propagation::TwoRay { capture_db }
            | Propagation::Range { capture_db, .. }
            | Propagation::LogDistance { capture_db, .. }
            | Propagation::Matrix { capture_db, .. } => capture_db,
        }
    }

    /// The same as a ratio of powers.
    pub fn capture_ratio(&self) -> f64 {
        libm::pow(10.0, self.capture_db() / 10.0)
    }

    /// Checks the position of a station, or that it needs none.
    ///
    /// # Errors
    /// One line that names the station.
    pub fn check_place(&self, name: &str, position_m: Option<[f64; 2]>) -> Result<(), String> {
        let placed = position_m.is_some_and(|[x, y]| x.is_finite() && y.is_finite());
        let listed = matches!(self, Propagation::Matrix { .. });
        check(placed || listed, || format!("node {name}: a wireless node must have a position_m"))
    }
}

/// The rates of 802.11b in bit/s.
pub const DSSS_RATES_BPS: [u32; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];

/// The rates of 802.11a and g OFDM in bit/s.
pub const OFDM_RATES_BPS: [u32; 8] =
    [6_000_000, 9_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000, 48_000_000, 54_000_000];

/// The rates of DSSS and OFDM, in ascending order.
const ALL_RATES_BPS: [u32; 12] = [
    1_000_000, 2_000_000, 5_500_000, 6_000_000, 9_000_000, 11_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000,
    48_000_000, 54_000_000,
];

/// The physical layers.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub enum PhyKind {
    /// DSSS and CCK, long preamble.
    #[default]
    #[serde(rename = "802.11b")]
    B,
    /// OFDM at 5 GHz.
    #[serde(rename = "802.11a")]
    A,
    /// OFDM at 2.4 GHz without 802.11b stations.
    #[serde(rename = "802.11g")]
    G,
    /// 802.11n: HT mixed format. Control frames have the format of 802.11a.
    #[serde(rename = "802.11n")]
    N,
    /// 802.11ac: VHT, at 5 GHz alone. Control frames have the format of 802.11a.
    #[serde(rename = "802.11ac")]
    Ac,
    /// 802.11ax: HE for a single user. Control frames have the format of 802.11a.
    #[serde(rename = "802.11ax")]
    Ax,
    /// All rates of 802.11b and g with long slots, as Linux uses at 2.4 GHz. Not available in a configuration.
    #[serde(skip_deserializing)]
    Bg,
}

impl PhyKind {
    /// The format of data frames of 802.11n, ac and ax.
    pub const fn format(self) -> Option<Format> {
        match self {
            PhyKind::N => Some(Format::Ht),
            PhyKind::Ac => Some(Format::Vht),
            PhyKind::Ax => Some(Format::HeSu),
            PhyKind::B | PhyKind::A | PhyKind::G | PhyKind::Bg => None,
        }
    }

    /// Rates that this physical layer has, ascending, bit/s. Of 802.11n, ac and ax those of data with the default
    /// settings.
    pub fn rates_bps(self) -> &'static [u32] {
        match self {
            PhyKind::B => &DSSS_RATES_BPS,
            PhyKind::A | PhyKind::G => &OFDM_RATES_BPS,
            PhyKind::N => Mode::ht20(GuardInterval::Long).rates_bps(),
            PhyKind::Ac => Mode { format: Format::Vht, ..Mode::ht20(GuardInterval::Long) }.rates_bps(),
            PhyKind::Ax => Mode { format: Format::HeSu, ..Mode::ht20(GuardInterval::Long) }.rates_bps(),
            PhyKind::Bg => &ALL_RATES_BPS,
        }
    }

    /// Whether it has this rate.
    ///
    /// # Errors
    /// The rate is invalid. The message is one line with the valid rates.
    pub fn check_rate(self, rate_bps: u32) -> Result<(), String> {
        let rates_bps = self.rates_bps();
        check(rates_bps.contains(&rate_bps), || {
            format!("rate {rate_bps} bit/s: must be one of {rates_bps:?} of this physical layer")
        })
    }
}

fn check_one_of(rate_bps: u32, valid_bps: &[u32], what: &str) -> Result<(), String> {
    check(valid_bps.contains(&rate_bps), || format!("rate {rate_bps} bit/s: must be one of {valid_bps:?} {what}"))
}

/// Returns the message as an error unless the condition holds.
pub(crate) fn check(good: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(message()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"preset": "sinr", "phy": "802.11a", "basic_rate_bps": 6000000, "data_rate_bps": 54000000,
        "rts_threshold_bytes": 0, "short_retry_limit": 7, "long_retry_limit": 4, "queue_pkts": 50,
        "mac_ack_rate": "mandatory", "propagation": {"kind": "two-ray", "capture_db": 10.0}}"#;

    fn read(old: &str, new: &str, further_bps: &[u32]) -> Result<Radio, String> {
        assert!(TEXT.contains(old), "{old}");
        let radio: Radio = serde_json::from_str(&TEXT.replace(old, new)).map_err(|error| error.to_string())?;
        radio.check(further_bps.iter().copied()).map(|()| radio)
    }

    #[test]
    fn a_radio_is_read_without_a_run() {
        let radio = read("", "", &[9_000_000]).expect("a good radio");
        assert_eq!((radio.preset, radio.phy, radio.edca), (Preset::Sinr, PhyKind::A, false));
        assert_eq!(radio.propagation.capture_ratio(), 10.0);
    }

    #[test]
    fn ns2_of_2001_is_refused_what_it_had_no_path_for() {
        let good = Radio {
            preset: Preset::Ns2Of2001,
            phy: PhyKind::B,
            basic_rate_bps: 2_000_000,
            data_rate_bps: 2_000_000,
            mac_ack_rate: MacAckRate::Basic,
            ..read("", "", &[]).expect("a good radio")
        };
        assert_eq!(good.check([2_000_000]), Ok(()));
        let describe = |change: fn(&mut Radio), further_bps: &[u32]| {
            let mut radio = good.clone();
            change(&mut radio);
            radio.check(further_bps.iter().copied()).expect_err("refused")
        };
        assert!(describe(|radio| radio.phy = PhyKind::A, &[]).contains("802.11b alone"));
        assert!(describe(|radio| radio.data_rate_bps = 11_000_000, &[]).contains("delivered nothing at this rate"));
        assert!(describe(|radio| radio.edca = true, &[]).contains("one queue"));
        assert!(describe(|radio| radio.rts_threshold_bytes = 1, &[]).contains("RTS threshold was built in"));
        assert!(describe(|radio| radio.mac_ack_rate = MacAckRate::Mandatory, &[]).contains("basic or data"));
        assert!(
            describe(|radio| radio.basic_rate_bps = 1_000_000, &[]).contains("rate 1000000 bit/s: all is sent at one")
        );
        assert!(describe(|_| (), &[11_000_000]).contains("rate 11000000 bit/s: all is sent at one"));
    }

    #[test]
    fn what_a_radio_cannot_be_is_refused_with_its_name() {
        for (old, new, reported) in [
            (
                "802.11a",
                "802.11bg",
                "unknown variant `802.11bg`, expected one of `802.11b`, `802.11a`, `802.11g`, `802.11n`, `802.11ac`, \
                 `802.11ax`",
            ),
            ("sinr", "ns3", "unknown variant `ns3`"),
            ("\"capture_db\"", "\"links\": [], \"capture_db\"", "links"),
            ("54000000", "11000000", "rate 11000000 bit/s: must be one of [6000000, "),
            ("\"queue_pkts\": 50", "\"queue_pkts\": 0", "queue_pkts 0: must be >= 1"),
            ("\"long_retry_limit\": 4", "\"long_retry_limit\": 0", "retry limits: must be >= 1"),
        ] {
            assert!(read(old, new, &[]).expect_err(new).contains(reported), "{new}");
        }
        assert!(read("", "", &[1_000_000]).expect_err("a rate of 802.11b").starts_with("rate 1000000 bit/s"));
        let nowhere = Propagation::TwoRay { capture_db: 10.0 }.check_place("n0", None);
        assert_eq!(nowhere, Err("node n0: a wireless node must have a position_m".into()));
        assert_eq!(Propagation::Matrix { capture_db: 10.0, links: Vec::new() }.check_place("n0", None), Ok(()));
    }
}
