//! Physical layer timing: the airtime of frames, and the intervals of the DCF.
//!
//! 802.11b DSSS with the long preamble (IEEE 802.11-2016 Sec. 15.3, Table 15-2), 802.11a OFDM (Sec. 17.4.3,
//! Table 17-21) and 802.11g ERP-OFDM without 802.11b stations (Sec. 18.4.4: short slots, signal extension). 802.11n HT
//! in the mixed format (IEEE 802.11-2020 Sec. 19.4.3), 802.11ac VHT (Sec. 21.4.3) and 802.11ax HE SU (IEEE 802.11ax-2021
//! Sec. 27.4.3) at 5 GHz, or at 2.4 GHz with the timing of 802.11g. `pacelab_air_config::Mode` has their data rates.

use pacelab_air_config::{
    Band, DSSS_RATES_BPS, Format, GuardInterval, HT_BASIC_RATES_BPS, Mode, OFDM_RATES_BPS, PhyKind, Width,
};

use crate::event_queue::Ns;
use crate::mcs::Mcs;
use crate::ppdu::{SERVICE_BITS, TAIL_BITS, airtime_ns, longest_psdu_bytes, non_ht_reference_bps, preamble_ns};

/// Thermal noise at 290 K, W/Hz, and a receiver's noise figure of 7 dB.
const THERMAL_W_PER_HZ: f64 = 1.380_649e-23 * 290.0;
const NOISE_FACTOR: f64 = 5.011_872_336_272_722;
pub(crate) const DSSS_BANDWIDTH_HZ: f64 = 22.0e6;
const OFDM_BANDWIDTH_HZ: f64 = 20.0e6;
const HZ_PER_MHZ: f64 = 1e6;

const NS_PER_BYTE_AT_1_BPS: u64 = 8_000_000_000;
/// Preamble of 802.11b (144 bits) and PLCP header (48 bits).
const PREAMBLE_BYTES: u32 = 24;

const fn is_dsss(rate_bps: u32) -> bool {
    matches!(rate_bps, 1_000_000 | 2_000_000 | 5_500_000 | 11_000_000)
}

/// Mandatory rates of OFDM: control responses use the highest not above the data rate.
const OFDM_MANDATORY_BPS: [u32; 3] = [24_000_000, 12_000_000, 6_000_000];

/// Silence that belongs to each OFDM frame at 2.4 GHz (aSignalExtension).
const SIGNAL_EXTENSION_NS: Ns = 6_000;
/// MAC frame sizes in bytes, frame check sequence included (IEEE 802.11-2016 Sec. 9.3.1).
pub mod frame_bytes {
    /// Request to send.
    pub const RTS: u32 = 20;
    /// Clear to send.
    pub const CTS: u32 = 14;
    /// Acknowledgement.
    pub const ACK: u32 = 14;
    /// Compressed Block Ack: Frame Control, Duration, two addresses, BA Control, Starting Sequence Control, a bitmap of
    /// 8 bytes, FCS.
    pub const BLOCK_ACK: u32 = 32;
    /// Compressed Block Ack with a bitmap of 32 bytes.
    pub const LONG_BLOCK_ACK: u32 = 56;
    /// Compressed Block Ack Request: the same without the bitmap.
    pub const BLOCK_ACK_REQUEST: u32 = 24;
    /// The delimiter before each MPDU of an aggregate.
    pub const DELIMITER: u32 = 4;
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
    /// 802.11n, ac and ax: data frames in this mode. The rates of `HT_BASIC_RATES_BPS` are frames in the format of
    /// 802.11a. After each frame there is silence that belongs to it (2.4 GHz: 6 us).
    HighThroughput {
        /// Format, width, streams and guard interval of data frames.
        mode: Mode,
        /// The signal extension.
        extension_ns: Ns,
    },
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
    /// Beside the rates of the modulation, frames may have an MCS of 802.11n or ac (see `Mcs`).
    pub mcs_per_frame: bool,
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
            mcs_per_frame: false,
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
            mcs_per_frame: false,
        }
    }

    /// 802.11g, OFDM rates only, short slots.
    pub const fn ofdm_g() -> Self {
        Phy { sifs_ns: 10_000, modulation: Modulation::Ofdm { extension_ns: SIGNAL_EXTENSION_NS }, ..Phy::ofdm_a() }
    }

    /// 802.11b and g together: long slots, and the smaller contention window of g (IEEE 802.11-2016 Sec. 18.4.4:
    /// aSlotTime 20 us, aCWmin(1) 15).
    pub const fn dsss_and_ofdm() -> Self {
        Phy { cw_min: 15, modulation: Modulation::DsssAndOfdm, ..Phy::dsss(true) }
    }

    /// 802.11n, ac or ax with data frames of this mode.
    pub const fn high_throughput(mode: Mode, band: Band) -> Self {
        match band {
            Band::Ghz5 => Phy { modulation: Modulation::HighThroughput { mode, extension_ns: 0 }, ..Phy::ofdm_a() },
            Band::Ghz2 => Phy {
                modulation: Modulation::HighThroughput { mode, extension_ns: SIGNAL_EXTENSION_NS },
                ..Phy::ofdm_g()
            },
        }
    }

    const fn of_format(format: Format) -> Self {
        let mode = Mode { format, width: Width::Mhz20, streams: 1, guard_interval: GuardInterval::Long };
        Phy::high_throughput(mode, Band::Ghz5)
    }

    /// The physical layer of this kind; of 802.11n, ac and ax at 5 GHz with one stream in 20 MHz. For `whole_us` see `Modulation::Dsss`.
    pub const fn of(kind: PhyKind, whole_us: bool) -> Self {
        match kind {
            PhyKind::B => Phy::dsss(whole_us),
            PhyKind::A => Phy::ofdm_a(),
            PhyKind::G => Phy::ofdm_g(),
            PhyKind::N => Phy::of_format(Format::Ht),
            PhyKind::Ac => Phy::of_format(Format::Vht),
            PhyKind::Ax => Phy::of_format(Format::HeSu),
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
    pub fn preamble_of_ns(&self, rate_bps: u32) -> Ns {
        match self.modulation {
            _ if Mcs::is_code(rate_bps) => Mcs::from_code(rate_bps).map_or(0, |mcs| preamble_ns(mcs.mode())),
            Modulation::HighThroughput { mode, .. } if !is_ht_basic(rate_bps) => preamble_ns(mode),
            _ => self.single(rate_bps).preamble_ns,
        }
    }

    /// Rate at which the preamble and header of such a frame count as sent.
    pub(crate) fn preamble_rate_bps(&self, rate_bps: u32) -> u32 {
        match self.modulation {
            Modulation::HighThroughput { .. } => HT_BASIC_RATES_BPS[0],
            _ => self.single(rate_bps).rates_bps()[0],
        }
    }

    /// Receiver noise in W: thermal, and a noise figure of 7 dB. In a wide channel also control frames are sent over the
    /// whole width, as copies in each 20 MHz, so that all frames meet the same noise.
    pub fn noise_w(&self) -> f64 {
        let bandwidth_hz = match self.modulation {
            Modulation::Dsss { .. } | Modulation::DsssAndOfdm => DSSS_BANDWIDTH_HZ,
            Modulation::Ofdm { .. } => OFDM_BANDWIDTH_HZ,
            Modulation::HighThroughput { mode, .. } => f64::from(mode.width.mhz()) * HZ_PER_MHZ,
        };
        THERMAL_W_PER_HZ * bandwidth_hz * NOISE_FACTOR
    }

    /// Rates of this physical layer, ascending, bit/s.
    pub fn rates_bps(&self) -> &'static [u32] {
        match self.modulation {
            Modulation::Dsss { .. } => &DSSS_RATES_BPS,
            Modulation::Ofdm { .. } => &OFDM_RATES_BPS,
            Modulation::DsssAndOfdm => PhyKind::Bg.rates_bps(),
            Modulation::HighThroughput { mode, .. } => mode.rates_bps(),
        }
    }

    /// Whether the physical layer has this rate.
    pub fn has(&self, rate_bps: u32) -> bool {
        if Mcs::is_code(rate_bps) {
            return self.mcs_per_frame;
        }
        let basic = matches!(self.modulation, Modulation::HighThroughput { .. }) && is_ht_basic(rate_bps);
        basic || self.rates_bps().contains(&rate_bps)
    }

    /// The rate of broadcasts, and of the control frames in EIFS.
    pub fn lowest_basic_bps(&self) -> u32 {
        match self.modulation {
            Modulation::HighThroughput { .. } => HT_BASIC_RATES_BPS[0],
            _ => self.rates_bps()[0],
        }
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
        if let Some(mcs) = Mcs::from_code(rate_bps) {
            return mcs.airtime_ns(bytes) + self.extension_ns();
        }
        let rate = u64::from(rate_bps);
        match self.modulation {
            Modulation::Dsss { .. } => {
                self.preamble_ns + (u64::from(bytes) * NS_PER_BYTE_AT_1_BPS).div_ceil(rate * 1_000) * 1_000
            }
            Modulation::Ofdm { extension_ns } => {
                let bits_per_symbol = rate * 4 / 1_000_000;
                let symbols = (SERVICE_BITS + 8 * u64::from(bytes) + TAIL_BITS).div_ceil(bits_per_symbol);
                self.preamble_ns + 4_000 * symbols + extension_ns
            }
            Modulation::DsssAndOfdm => self.single(rate_bps).airtime_ns(bytes, rate_bps),
            Modulation::HighThroughput { extension_ns, .. } if is_ht_basic(rate_bps) => {
                Phy::ofdm_a().airtime_ns(bytes, rate_bps) + extension_ns
            }
            Modulation::HighThroughput { mode, extension_ns } => airtime_ns(mode, bytes, rate_bps) + extension_ns,
        }
    }

    /// Highest mandatory rate not above `data_rate_bps` (the lowest rate below all of them).
    pub fn mandatory_rate_bps(&self, data_rate_bps: u32) -> u32 {
        if let Some(mcs) = Mcs::from_code(data_rate_bps) {
            return Phy::ofdm_a().mandatory_rate_bps(mcs.reference_rate_bps());
        }
        match self.modulation {
            Modulation::Dsss { .. } => DSSS_RATES_BPS[usize::from(data_rate_bps >= DSSS_RATES_BPS[1])],
            Modulation::Ofdm { .. } => {
                let fitting = OFDM_MANDATORY_BPS.iter().find(|&&rate| rate <= data_rate_bps);
                fitting.copied().unwrap_or(OFDM_RATES_BPS[0])
            }
            Modulation::DsssAndOfdm => self.single(data_rate_bps).mandatory_rate_bps(data_rate_bps),
            Modulation::HighThroughput { mode, .. } => {
                let reference = mode.mcs_of(data_rate_bps).filter(|_| !is_ht_basic(data_rate_bps));
                Phy::ofdm_a().mandatory_rate_bps(reference.map_or(data_rate_bps, non_ht_reference_bps))
            }
        }
    }

    /// Bytes of the PSDU that carries one MPDU alone at this rate. In 802.11ac and ax it is an aggregate of one, with a delimiter.
    pub(crate) fn psdu_bytes(&self, mpdu_bytes: u32, rate_bps: u32) -> u32 {
        let mcs = Mcs::from_code(rate_bps);
        match self.modulation {
            _ if mcs.is_some_and(|mcs| mcs.mode().format != Format::Ht) => frame_bytes::DELIMITER + mpdu_bytes,
            Modulation::HighThroughput { mode, .. } if mode.format != Format::Ht => frame_bytes::DELIMITER + mpdu_bytes,
            _ => mpdu_bytes,
        }
    }

    /// Longest PSDU that a PPDU at this rate carries, bytes.
    pub(crate) fn longest_psdu_bytes(&self, rate_bps: u32) -> u32 {
        match self.modulation {
            _ if Mcs::is_code(rate_bps) => Mcs::from_code(rate_bps).map_or(0, Mcs::longest_psdu_bytes),
            Modulation::HighThroughput { mode, .. } => longest_psdu_bytes(mode, rate_bps),
            _ => u32::MAX,
        }
    }

    /// The signal extension after an OFDM frame: silence that belongs to it.
    fn extension_ns(&self) -> Ns {
        match self.modulation {
            Modulation::HighThroughput { extension_ns, .. } | Modulation::Ofdm { extension_ns } => extension_ns,
            Modulation::DsssAndOfdm => SIGNAL_EXTENSION_NS,
            Modulation::Dsss { .. } => 0,
        }
    }

    /// When the byte `offset` of a PSDU of `bytes` begins, from the start of a PPDU that lasts `airtime_ns`.
    pub(crate) fn byte_begins_ns(&self, offset: u32, bytes: u32, airtime_ns: Ns, rate_bps: u32) -> Ns {
        let body_ns = airtime_ns - self.preamble_of_ns(rate_bps) - self.extension_ns();
        let bits = |bytes: u32| SERVICE_BITS + 8 * u64::from(bytes);
        self.preamble_of_ns(rate_bps) + body_ns * bits(offset) / (bits(bytes) + TAIL_BITS)
    }

    /// Extended interframe space: SIFS, an ACK at the lowest rate, DIFS (IEEE 802.11-2016 Sec. 10.3.7).
    pub fn eifs_ns(&self) -> Ns {
        let ack_ns = self.eifs_ack_ns.unwrap_or_else(|| self.airtime_ns(frame_bytes::ACK, self.lowest_basic_bps()));
        self.sifs_ns + ack_ns + self.difs_ns()
    }
}

pub(crate) const fn is_ht_basic(rate_bps: u32) -> bool {
    rate_bps == HT_BASIC_RATES_BPS[0] || rate_bps == HT_BASIC_RATES_BPS[1] || rate_bps == HT_BASIC_RATES_BPS[2]
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

    fn mode(format: Format, width: Width, streams: u8, guard_interval: GuardInterval) -> Mode {
        Mode { format, width, streams, guard_interval }
    }

    fn ht20(guard_interval: GuardInterval) -> Phy {
        Phy::high_throughput(Mode::ht20(guard_interval), Band::Ghz5)
    }

    /// Airtime of a PSDU of 1536 bytes at an MCS, us.
    fn us(mode: Mode, mcs: u8) -> f64 {
        airtime_ns(mode, 1536, mode.rate_bps(mcs).unwrap()) as f64 / 1e3
    }

    #[test]
    fn preambles_have_a_training_field_for_each_stream_and_4_for_3() {
        let of = |format, guard_interval| {
            [1, 2, 3, 4].map(|streams| preamble_ns(mode(format, Width::Mhz40, streams, guard_interval)))
        };
        // 8 + 8 + 4 + 8 + 4, then 4 us for each of 1, 2, 4, 4 fields
        assert_eq!(of(Format::Ht, GuardInterval::Short), [36_000, 40_000, 48_000, 48_000]);
        // 8 + 8 + 4 + 8 + 4 + 4
        assert_eq!(of(Format::Vht, GuardInterval::Long), [40_000, 44_000, 52_000, 52_000]);
        // 8 + 8 + 4 + 4 + 8 + 4; fields of 6.4 + 0.8, 6.4 + 1.6 and 12.8 + 3.2 us
        assert_eq!(of(Format::HeSu, GuardInterval::Long), [43_200, 50_400, 64_800, 64_800]);
        assert_eq!(of(Format::HeSu, GuardInterval::Double), [44_000, 52_000, 68_000, 68_000]);
        assert_eq!(of(Format::HeSu, GuardInterval::Quadruple), [52_000, 68_000, 100_000, 100_000]);
    }

    #[test]
    fn airtimes_of_wide_channels_and_several_streams_are_those_computed_by_hand() {
        use GuardInterval::{Double, Long, Quadruple, Short};
        // 1536 B: 16 + 12288 + 6 = 12310 bits with one encoder
        // HT 40 MHz, 2 streams, MCS 7: 108 * 6 * 5/6 * 2 = 1080 bits a symbol, 12 symbols
        assert_eq!(us(mode(Format::Ht, Width::Mhz40, 2, Long), 7), 40.0 + 12.0 * 4.0);
        // 12 symbols of 3.6 us are 43.2 us, rounded up to 44
        assert_eq!(us(mode(Format::Ht, Width::Mhz40, 2, Short), 7), 40.0 + 44.0);
        // HT 40 MHz, 4 streams, MCS 7 (index 31): 2160 bits, 2 encoders: 12316 bits, 6 symbols
        assert_eq!(us(mode(Format::Ht, Width::Mhz40, 4, Long), 7), 48.0 + 6.0 * 4.0);
        // VHT 80 MHz, 1 stream, MCS 9: 234 * 8 * 5/6 = 1560 bits, 8 symbols
        assert_eq!(us(mode(Format::Vht, Width::Mhz80, 1, Long), 9), 40.0 + 8.0 * 4.0);
        // VHT 80 MHz, 2 streams, MCS 9: 3120 bits, 2 encoders: 12316 bits, 4 symbols of 3.6 us are 14.4, rounded to 16
        assert_eq!(us(mode(Format::Vht, Width::Mhz80, 2, Short), 9), 44.0 + 16.0);
        // VHT 20 MHz, 1 stream, MCS 8: 312 bits, 40 symbols
        assert_eq!(us(mode(Format::Vht, Width::Mhz20, 1, Long), 8), 40.0 + 40.0 * 4.0);
        // HE without tail bits: 12304 bits. 20 MHz, MCS 7: 234 * 6 * 5/6 = 1170 bits, 11 symbols of 13.6 us
        assert_eq!(us(mode(Format::HeSu, Width::Mhz20, 1, Long), 7), 43.2 + 11.0 * 13.6);
        assert_eq!(us(mode(Format::HeSu, Width::Mhz20, 1, Double), 7), 44.0 + 11.0 * 14.4);
        assert_eq!(us(mode(Format::HeSu, Width::Mhz20, 1, Quadruple), 7), 52.0 + 11.0 * 16.0);
        // 80 MHz, 2 streams, MCS 11: 980 * 2 * 10 * 5/6 = 16333.3, rounded down, 1 symbol
        assert_eq!(us(mode(Format::HeSu, Width::Mhz80, 2, Long), 11), 50.4 + 13.6);
        // 20 MHz, MCS 0: 117 bits, 105.2 symbols
        assert_eq!(us(mode(Format::HeSu, Width::Mhz20, 1, Long), 0), 43.2 + 106.0 * 13.6);
    }

    #[test]
    fn no_ppdu_of_vht_or_he_lasts_longer_than_5484_us() {
        // VHT 80 MHz, 2 streams, MCS 9, short: (5484 - 44) / 3.6 = 1511 symbols of 3120 bits; 28 service and tail bits
        let vht = mode(Format::Vht, Width::Mhz80, 2, GuardInterval::Short);
        let rate_bps = vht.rate_bps(9).unwrap();
        assert_eq!(longest_psdu_bytes(vht, rate_bps), (1511 * 3120 - 28) / 8);
        assert_eq!(airtime_ns(vht, (1511 * 3120 - 28) / 8, rate_bps), 5_484_000);
        // HE 80 MHz, 2 streams, MCS 11: (5484 - 50.4) / 13.6 = 399 symbols of 16333 bits; 16 service bits
        let he = mode(Format::HeSu, Width::Mhz80, 2, GuardInterval::Long);
        assert_eq!(longest_psdu_bytes(he, he.rate_bps(11).unwrap()), (399 * 16_333 - 16) / 8);
    }

    #[test]
    fn at_2_4_ghz_times_are_those_of_802_11g() {
        let phy = Phy::high_throughput(Mode::ht20(GuardInterval::Long), Band::Ghz2);
        assert_eq!((phy.sifs_ns, phy.slot_ns, phy.difs_ns()), (10_000, 9_000, 28_000));
        // 36 us, 48 symbols and the signal extension; an ACK at 24 Mbit/s: 20 us, 2 symbols and the extension
        assert_eq!(phy.airtime_ns(1536, 65_000_000), 36_000 + 192_000 + 6_000);
        assert_eq!(phy.airtime_ns(frame_bytes::ACK, 24_000_000), 34_000);
        // 10 + (44 + 6) + 28
        assert_eq!(phy.eifs_ns(), 88_000);
        // The last byte ends before the extension.
        assert_eq!(phy.byte_begins_ns(0, 1536, 234_000, 65_000_000), 36_000 + 192_000 * 16 / 12_310);
    }

    #[test]
    fn responses_to_vht_and_he_use_24_mbit_s_from_16_qam_on() {
        for (format, expected) in [
            (Format::Vht, &[6, 12, 12, 24, 24, 24, 24, 24, 24][..]),
            (Format::HeSu, &[6, 12, 12, 24, 24, 24, 24, 24, 24, 24, 24, 24]),
        ] {
            let phy = Phy::high_throughput(mode(format, Width::Mhz20, 2, GuardInterval::Long), Band::Ghz5);
            let rates: Vec<u32> = phy.rates_bps().iter().map(|&bps| phy.mandatory_rate_bps(bps) / 1_000_000).collect();
            assert_eq!(rates, expected);
        }
    }

    #[test]
    fn a_long_block_ack_lasts_as_computed_by_hand() {
        let phy = ht20(GuardInterval::Long);
        // 56 B: 470 bits; 24 Mbit/s 5 symbols
        assert_eq!(phy.airtime_ns(frame_bytes::LONG_BLOCK_ACK, 24_000_000), 40_000);
    }

    #[test]
    fn ht_times_are_those_computed_by_hand() {
        // 1536 B: 12310 bits; bits a symbol 26, 52, 78, 104, 156, 208, 234, 260
        let symbols = [474, 237, 158, 119, 79, 60, 53, 48];
        let long = ht20(GuardInterval::Long);
        for (&rate_bps, symbols) in long.rates_bps().iter().zip(symbols) {
            assert_eq!(long.airtime_ns(1536, rate_bps), 36_000 + 4_000 * symbols, "{rate_bps}");
        }
        // Symbols of 3.6 us, rounded up to 4 us: 474 are 1706.4 us, 48 are 172.8 us
        let short = ht20(GuardInterval::Short);
        assert_eq!(short.airtime_ns(1536, 7_222_222), 36_000 + 1_708_000);
        assert_eq!(short.airtime_ns(1536, 72_222_222), 36_000 + 176_000);
        // Block Ack of 32 B: 278 bits; 24 Mbit/s 3 symbols, 6 Mbit/s 12. Request of 24 B: 214 bits, 3 symbols
        assert_eq!(long.airtime_ns(frame_bytes::BLOCK_ACK, 24_000_000), 32_000);
        assert_eq!(long.airtime_ns(frame_bytes::BLOCK_ACK, 6_000_000), 68_000);
        assert_eq!(long.airtime_ns(frame_bytes::BLOCK_ACK_REQUEST, 24_000_000), 32_000);
        assert_eq!((long.difs_ns(), long.eifs_ns()), (34_000, 16_000 + 44_000 + 34_000));
    }

    #[test]
    fn a_ppdu_of_ht_lasts_at_most_5484_us() {
        // (5484 - 36) / 4 = 1362 symbols; (1362 * 260 - 22) / 8 and (1362 * 26 - 22) / 8 bytes
        let long = ht20(GuardInterval::Long);
        assert_eq!((long.longest_psdu_bytes(65_000_000), long.longest_psdu_bytes(6_500_000)), (44_262, 4_423));
        assert_eq!(long.airtime_ns(44_262, 65_000_000), 5_484_000);
        // (5484 - 36) / 3.6 = 1513 symbols
        assert_eq!(ht20(GuardInterval::Short).longest_psdu_bytes(72_222_222), (1513 * 260 - 22) / 8);
    }

    #[test]
    fn responses_to_ht_use_the_mandatory_rate_of_their_reference_rate() {
        let phy = ht20(GuardInterval::Long);
        let rates: Vec<u32> = phy.rates_bps().iter().map(|&bps| phy.mandatory_rate_bps(bps) / 1_000_000).collect();
        assert_eq!(rates, [6, 12, 12, 24, 24, 24, 24, 24]);
        assert_eq!([6, 12, 24].map(|mbps| phy.mandatory_rate_bps(mbps * 1_000_000) / 1_000_000), [6, 12, 24]);
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
