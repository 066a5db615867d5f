//! The physical layers and their rates.

use serde::Deserialize;

use crate::check::check;

/// The rates of 802.11b in bit/s.
pub const DSSS_RATES_BPS: [u32; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];

/// The rates of 802.11a and g OFDM in bit/s.
pub const OFDM_RATES_BPS: [u32; 8] =
    [6_000_000, 9_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000, 48_000_000, 54_000_000];

/// Those of both, in the order of their speed.
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
    /// All rates of 802.11b and g, long slots: what Linux does at 2.4 GHz. A configuration does not ask for it.
    #[serde(skip_deserializing)]
    Bg,
}

impl PhyKind {
    /// Rates that this physical layer has, ascending, bit/s.
    pub const fn rates_bps(self) -> &'static [u32] {
        match self {
            PhyKind::B => &DSSS_RATES_BPS,
            PhyKind::A | PhyKind::G => &OFDM_RATES_BPS,
            PhyKind::Bg => &ALL_RATES_BPS,
        }
    }

    /// Whether it has this rate.
    ///
    /// # Errors
    /// One line that names the rates there are.
    pub fn check_rate(self, rate_bps: u32) -> Result<(), String> {
        let rates_bps = self.rates_bps();
        check(rates_bps.contains(&rate_bps), || format!("rate {rate_bps} bit/s: this physical layer has {rates_bps:?}"))
    }
}
