//! Physical layer timing: the airtime of frames, and the intervals of the DCF.
//!
//! 802.11b DSSS with the long preamble (IEEE 802.11-2016 Sec. 15.3, Table 15-2), 802.11a OFDM (Sec. 17.4.3,
//! Table 17-21) and 802.11g ERP-OFDM without 802.11b stations (Sec. 18.4.4: short slots, signal extension).

use pacelab_air_config::{DSSS_RATES_BPS, OFDM_RATES_BPS, PhyKind};

use crate::event_queue::Ns;

/// Thermal noise at 290 K, W/Hz, and a receiver's noise figure of 7 dB.
const THERMAL_W_PER_HZ: f64 = 1.380_649e-23 * 290.0;
const NOISE_FACTOR: f64 = 5.011_872_336_272_722;
pub(crate) const DSSS_BANDWIDTH_HZ: f64 = 22.0e6;
const OFDM_BANDWIDTH_HZ: f64 = 20.0e6;

const NS_PER_BYTE_AT_1_BPS: u64 = 8_000_000_000;
/// Preamble of 802.11b (144 bits) and PLCP header (48 bits).
const PREAMBLE_BYTES: u32 = 24;

const fn is_dsss(rate_bps: u32) -> bool {
    matches!(rate_bps, 1_000_000 | 2_000_000 | 5_500_000 | 11_000_000)
}

/// Mandatory rates of OFDM: control responses use the highest not above the data rate.
const OFDM_MANDATORY_BPS: [u32; 3] = [24_000_000, 12_000_000, 6_000_000];

/// MAC frame sizes in bytes, frame check sequence included (IEEE 802.11-2016 Sec. 9.3.1).
pub mod frame_bytes {
    /// Request to send.
    pub const RTS: u32 = 20;
    /// Clear to send.
    pub const CTS: u32 = 14;
    /// Acknowledgement.
    pub const ACK: u32 = 14;
}

/// The modulation, which determines the airtime of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// A preamble and header of fixed length, then bits at the rate. With `whole_us` the airtime is rounded up to whole
    /// microseconds, as TXTIME of the standard; ns-2 keeps the fraction.
    Dsss {
        /// Round up.
        whole_us: bool,
    },
    /// A preamble and SIGNAL of 20 us, then symbols of 4 us that carry 16 service bits, the frame and 6 tail bits;
    /// then silence that belongs to the frame (ERP: 6 us).
    Ofdm {
        /// The signal extension.
        extension_ns: Ns,
    },
    /// Each rate with the modulation of its standard.
    DsssAndOfdm,
}

/// Timing constants of one physical layer.
#[derive(Clone, Copy, Debug)]
pub struct Phy {
    /// Backoff slot.
    pub slot_ns: Ns,
    /// Short interframe space.
    pub sifs_ns: Ns,
    /// Preamble and header; the longer one if there are two.
    pub preamble_ns: Ns,
    /// Smallest contention window, as the standard counts it (31: slots 0..=31).
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// Airtime of an ACK in EIFS, if it is not that of an ACK at the lowest rate.
    pub eifs_ack_ns: Option<Ns>,
    /// The modulation.
    pub modulation: Modulation,
}

impl Phy {
    /// 802.11b DSSS/CCK, long preamble: 144 + 48 bits at 1 Mbit/s.
    pub const fn dsss(whole_us: bool) -> Self {
        Phy {
            slot_ns: 20_000,
            sifs_ns: 10_000,
            preamble_ns: 192_000,
            cw_min: 31,
            cw_max: 1023,
            eifs_ack_ns: None,
            modulation: Modulation::Dsss { whole_us },
        }
    }

    /// 802.11b in ns-2 until March 2002: the preamble is sent at the data rate, and EIFS counts it twice.
    pub const fn dsss_of_2001(rate_bps: u32) -> Self {
        let preamble_ns = ns_at(PREAMBLE_BYTES, rate_bps);
        Phy { preamble_ns, eifs_ack_ns: Some(2 * preamble_ns + ns_at(frame_bytes::ACK, rate_bps)), ..Phy::dsss(false) }
    }

    /// 802.11a, 20 MHz.
    pub const fn ofdm_a() -> Self {
        Phy {
            slot_ns: 9_000,
            sifs_ns: 16_000,
            preamble_ns: 20_000,
            cw_min: 15,
            cw_max: 1023,
            eifs_ack_ns: None,
            modulation: Modulation::Ofdm { extension_ns: 0 },
        }
    }

    /// 802.11g, OFDM rates only, short slots.
    pub const fn ofdm_g() -> Self {
        Phy { sifs_ns: 10_000, modulation: Modulation::Ofdm { extension_ns: 6_000 }, ..Phy::ofdm_a() }
    }

    /// 802.11b and g together: long slots, and the smaller contention window of g (IEEE 802.11-2016 Sec. 18.4.4:
    /// aSlotTime 20 us, aCWmin(1) 15).
    pub const fn dsss_and_ofdm() -> Self {
        Phy { cw_min: 15, modulation: Modulation::DsssAndOfdm, ..Phy::dsss(true) }
    }

    /// The physical layer of this kind. For `whole_us` see `Modulation::Dsss`.
    pub const fn of(kind: PhyKind, whole_us: bool) -> Self {
        match kind {
            PhyKind::B => Phy::dsss(whole_us),
            PhyKind::A => Phy::ofdm_a(),
            PhyKind::G => Phy::ofdm_g(),
            PhyKind::Bg => Phy::dsss_and_ofdm(),
        }
    }

    /// The physical layer, 802.11b or g, to which a frame of this rate belongs.
    const fn single(&self, rate_bps: u32) -> Self {
        match self.modulation {
            Modulation::DsssAndOfdm if is_dsss(rate_bps) => Phy::dsss(true),
            Modulation::DsssAndOfdm => Phy::ofdm_g(),
            _ => *self,
        }
    }

    /// Preamble and header of a frame whose body has this rate.
    pub const fn preamble_of_ns(&self, rate_bps: u32) -> Ns {
        self.single(rate_bps).preamble_ns
    }

    /// Rate at which the preamble and header of such a frame count as sent.
    pub(crate) const fn preamble_rate_bps(&self, rate_bps: u32) -> u32 {
        self.single(rate_bps).rates_bps()[0]
    }

    /// Receiver noise in W: thermal, and a noise figure of 7 dB.
    pub fn noise_w(&self) -> f64 {
        let bandwidth_hz = match self.modulation {
            Modulation::Dsss { .. } | Modulation::DsssAndOfdm => DSSS_BANDWIDTH_HZ,
            Modulation::Ofdm { .. } => OFDM_BANDWIDTH_HZ,
        };
        THERMAL_W_PER_HZ * bandwidth_hz * NOISE_FACTOR
    }

    /// Rates of this physical layer, ascending, bit/s.
    pub const fn rates_bps(&self) -> &'static [u32] {
        match self.modulation {
            Modulation::Dsss { .. } => &DSSS_RATES_BPS,
            Modulation::Ofdm { .. } => &OFDM_RATES_BPS,
            Modulation::DsssAndOfdm => PhyKind::Bg.rates_bps(),
        }
    }

    /// Whether the physical layer has this rate.
    pub fn has(&self, rate_bps: u32) -> bool {
        self.rates_bps().contains(&rate_bps)
    }

    /// DCF interframe space: SIFS and two slots.
    pub const fn difs_ns(&self) -> Ns {
        self.sifs_ns + 2 * self.slot_ns
    }

    /// Airtime of a frame of `bytes` (MAC header and FCS included) at `rate_bps`.
    #[inline]
    pub fn airtime_ns(&self, bytes: u32, rate_bps: u32) -> Ns {
        match self.modulation {
            Modulation::Dsss { whole_us: false } => self.preamble_ns + ns_at(bytes, rate_bps),
            _ => self.rounded_airtime_ns(bytes, rate_bps),
        }
    }

    /// Airtime in whole microseconds or symbols.
    #[inline(never)]
    fn rounded_airtime_ns(&self, bytes: u32, rate_bps: u32) -> Ns {
        let rate = u64::from(rate_bps);
        match self.modulation {
            Modulation::Dsss { .. } => {
                self.preamble_ns + (u64::from(bytes) * NS_PER_BYTE_AT_1_BPS).div_ceil(rate * 1_000) * 1_000
            }
            Modulation::Ofdm { extension_ns } => {
                let bits_per_symbol = rate * 4 / 1_000_000;
                let symbols = (16 + 8 * u64::from(bytes) + 6).div_ceil(bits_per_symbol);
                self.preamble_ns + 4_000 * symbols + extension_ns
            }
            Modulation::DsssAndOfdm => self.single(rate_bps).airtime_ns(bytes, rate_bps),
        }
    }

    /// Highest mandatory rate not above `data_rate_bps` (the lowest rate below all of them).
    pub fn mandatory_rate_bps(&self, data_rate_bps: u32) -> u32 {
        match self.modulation {
            Modulation::Dsss { .. } => DSSS_RATES_BPS[usize::from(data_rate_bps >= DSSS_RATES_BPS[1])],
            Modulation::Ofdm { .. } => {
                let fitting = OFDM_MANDATORY_BPS.iter().find(|&&rate| rate <= data_rate_bps);
                fitting.copied().unwrap_or(OFDM_RATES_BPS[0])
            }
            Modulation::DsssAndOfdm => self.single(data_rate_bps).mandatory_rate_bps(data_rate_bps),
        }
    }

    /// Extended interframe space: SIFS, an ACK at the lowest rate, DIFS (IEEE 802.11-2016 Sec. 10.3.7).
    pub fn eifs_ns(&self) -> Ns {
        let ack_ns = self.eifs_ack_ns.unwrap_or_else(|| self.airtime_ns(frame_bytes::ACK, self.rates_bps()[0]));
        self.sifs_ns + ack_ns + self.difs_ns()
    }
}

/// Rounds to the nearest ns. Division by a constant divisor is several times faster.
#[inline(always)]
const fn ns_at(bytes: u32, rate_bps: u32) -> Ns {
    match rate_bps {
        1_000_000 => rounded(bytes, 1_000_000),
        2_000_000 => rounded(bytes, 2_000_000),
        5_500_000 => rounded(bytes, 5_500_000),
        11_000_000 => rounded(bytes, 11_000_000),
        _ => rounded(bytes, rate_bps),
    }
}

#[inline(always)]
const fn rounded(bytes: u32, rate_bps: u32) -> Ns {
    (bytes as u64 * NS_PER_BYTE_AT_1_BPS + rate_bps as u64 / 2) / rate_bps as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_2001_all_bits_go_at_the_data_rate() {
        let phy = Phy::dsss_of_2001(2_000_000);
        // 24 + 20, 24 + 14 and 24 + 1508 bytes, 4 us each
        assert_eq!(phy.airtime_ns(frame_bytes::RTS, 2_000_000), 176_000);
        assert_eq!(phy.airtime_ns(frame_bytes::ACK, 2_000_000), 152_000);
        assert_eq!(phy.airtime_ns(1508, 2_000_000), 6_128_000);
        // 10 + (14 + 24 + 24) * 4 + 50
        assert_eq!(phy.eifs_ns(), 308_000);
        // 38 bytes of 8 / 5.5 us are 55.272727 us
        assert_eq!(Phy::dsss_of_2001(5_500_000).airtime_ns(frame_bytes::ACK, 5_500_000), 55_273);
    }

    #[test]
    fn dsss_times_are_those_computed_by_hand() {
        let exact = Phy::dsss(false);
        assert_eq!(exact.difs_ns(), 50_000);
        assert_eq!(exact.eifs_ns(), 364_000);
        // 192 us + 20 B * 8 at 1 Mbit/s
        assert_eq!(exact.airtime_ns(frame_bytes::RTS, 1_000_000), 352_000);
        // 1534 B at 11 Mbit/s: 12272 / 11 = 1115.6364 us
        assert_eq!(exact.airtime_ns(1534, 11_000_000), 192_000 + 1_115_636);
        assert_eq!(Phy::dsss(true).airtime_ns(1534, 11_000_000), 192_000 + 1_116_000);
        // 1534 B at 2 Mbit/s is 6136 us sharp: rounding up adds nothing
        assert_eq!(Phy::dsss(true).airtime_ns(1534, 2_000_000), 192_000 + 6_136_000);
    }

    #[test]
    fn ofdm_times_are_those_computed_by_hand() {
        // 1536 B: 16 + 12288 + 6 = 12310 bits; bits a symbol 24, 36, 48, 72, 96, 144, 192, 216
        let symbols = [513, 342, 257, 171, 129, 86, 65, 57];
        for (rate_bps, symbols) in OFDM_RATES_BPS.into_iter().zip(symbols) {
            assert_eq!(Phy::ofdm_a().airtime_ns(1536, rate_bps), 20_000 + 4_000 * symbols, "{rate_bps}");
            assert_eq!(Phy::ofdm_g().airtime_ns(1536, rate_bps), 26_000 + 4_000 * symbols, "{rate_bps}");
        }
        // ACK of 14 B: 134 bits; 6 Mbit/s 6 symbols, 12 Mbit/s 3, 24 Mbit/s 2
        let ack = |rate_bps| Phy::ofdm_a().airtime_ns(frame_bytes::ACK, rate_bps);
        assert_eq!([ack(6_000_000), ack(12_000_000), ack(24_000_000)], [44_000, 32_000, 28_000]);
        assert_eq!(Phy::ofdm_a().difs_ns(), 34_000);
        assert_eq!(Phy::ofdm_g().difs_ns(), 28_000);
        assert_eq!(Phy::ofdm_a().eifs_ns(), 16_000 + 44_000 + 34_000);
    }

    #[test]
    fn together_each_rate_keeps_its_own_standard() {
        let both = Phy::dsss_and_ofdm();
        // 192 us + 1536 B * 8 / 2; 26 us + 57 symbols of 4 us
        assert_eq!(both.airtime_ns(1536, 2_000_000), 192_000 + 6_144_000);
        assert_eq!(both.airtime_ns(1536, 54_000_000), 26_000 + 228_000);
        assert_eq!((both.mandatory_rate_bps(11_000_000), both.mandatory_rate_bps(9_000_000)), (2_000_000, 6_000_000));
        assert_eq!((both.slot_ns, both.sifs_ns, both.eifs_ns()), (20_000, 10_000, 364_000));
    }

    #[test]
    fn control_responses_use_the_highest_mandatory_rate() {
        let phy = Phy::ofdm_a();
        let rates = OFDM_RATES_BPS.map(|rate_bps| phy.mandatory_rate_bps(rate_bps) / 1_000_000);
        assert_eq!(rates, [6, 6, 12, 12, 24, 24, 24, 24]);
    }
}
