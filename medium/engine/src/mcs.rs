//! The modulation and coding schemes (MCS) of 802.11n and 802.11ac that a host chooses for each frame.
//!
//! In a simulation all stations have one format, so a rate in bit/s identifies its MCS. The kernel's rate control
//! chooses among streams, widths and guard intervals frame by frame, and several of its choices have the same rate. A
//! rate of such a frame is therefore a code, which every field for a rate can carry: see `Mcs::code`.
//!
//! Source: IEEE 802.11-2020 Sec. 19.3.9, 19.4.3, 19.5 (HT), 21.3.8, 21.4.3, 21.5 (VHT).

use crate::event_queue::Ns;

/// The format of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// 802.11n, mixed format.
    Ht,
    /// 802.11ac.
    Vht,
}

/// A modulation and coding scheme with everything else that determines the rate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mcs {
    format: Format,
    /// Modulation and code, 0 to 9. The MCS 8 to 31 of HT have their number modulo 8 here.
    index: u8,
    /// Spatial streams, 1 to 4.
    streams: u8,
    width: Width,
    short_guard: bool,
}

/// Width of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Width {
    Mhz20,
    Mhz40,
    Mhz80,
    Mhz160,
}

impl Width {
    const ALL: [Width; 4] = [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160];

    /// Width in MHz.
    pub const fn mhz(self) -> u32 {
        20 << self as u32
    }

    /// Subcarriers that carry data (IEEE 802.11-2020 Tables 19-6, 21-5).
    const fn data_subcarriers(self) -> u32 {
        match self {
            Width::Mhz20 => 52,
            Width::Mhz40 => 108,
            Width::Mhz80 => 234,
            Width::Mhz160 => 468,
        }
    }
}

/// Set in the code of an MCS. No rate in bit/s of the model is that high.
const CODE: u32 = 1 << 31;
const STREAMS_SHIFT: u32 = 4;
const WIDTH_SHIFT: u32 = 6;
const SHORT_GUARD: u32 = 1 << 8;
const VHT: u32 = 1 << 9;

const MOST_STREAMS: u8 = 4;
/// Coded bits per subcarrier and stream, and the code rate, by index.
const MODULATIONS: [(u32, (u32, u32)); 10] = [
    (1, (1, 2)),
    (2, (1, 2)),
    (2, (3, 4)),
    (4, (1, 2)),
    (4, (3, 4)),
    (6, (2, 3)),
    (6, (3, 4)),
    (6, (5, 6)),
    (8, (3, 4)),
    (8, (5, 6)),
];
/// The legacy rates with the same modulation and code, which determine the rates of responses (IEEE 802.11-2020 Table
/// 10-13). 64-QAM 5/6 and 256-QAM count as 64-QAM 3/4.
const REFERENCE_BPS: [u32; 10] = [
    6_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000, 48_000_000, 54_000_000, 54_000_000, 54_000_000,
    54_000_000,
];

const SYMBOL_NS: Ns = 4_000;
const SHORT_SYMBOL_NS: Ns = 3_600;
const SERVICE_BITS: u64 = 16;
const TAIL_BITS: u64 = 6;
/// Most data bits per symbol of one convolutional encoder. Source: the values of ns-3, which reproduce Sec. 19.5, 21.5.
const HT_ENCODER_BITS: u64 = 1_280;
const VHT_ENCODER_BITS: u64 = 2_160;
/// L-STF 8, L-LTF 8, L-SIG 4, HT-SIG or VHT-SIG-A 8, HT-STF or VHT-STF 4 us.
const PREAMBLE_NS: Ns = 32_000;
const TRAINING_FIELD_NS: Ns = 4_000;
const VHT_SIG_B_NS: Ns = 4_000;
/// Longest PPDU (aPPDUMaxTime).
const LONGEST_PPDU_NS: Ns = 5_484_000;
/// The largest A-MPDU of HT and of VHT, bytes (Maximum A-MPDU Length Exponent 3 and 7).
const HT_AMPDU_BYTES: u32 = 65_535;
const VHT_AMPDU_BYTES: u32 = 1_048_575;

impl Mcs {
    /// The MCS `number` (0 to 31) of HT at 20 or 40 MHz. None if HT has no such MCS.
    pub fn ht(number: u8, width: Width, short_guard: bool) -> Option<Mcs> {
        let (index, streams) = (number % 8, number / 8 + 1);
        let narrow = matches!(width, Width::Mhz20 | Width::Mhz40);
        (streams <= MOST_STREAMS && narrow).then_some(Mcs { format: Format::Ht, index, streams, width, short_guard })
    }

    /// The MCS `index` (0 to 9) of VHT with 1 to 4 streams. None if VHT has no such MCS.
    pub fn vht(index: u8, streams: u8, width: Width, short_guard: bool) -> Option<Mcs> {
        let mcs = Mcs { format: Format::Vht, index, streams, width, short_guard };
        let valid = (1..=MOST_STREAMS).contains(&streams) && usize::from(index) < MODULATIONS.len();
        // Some combinations, such as MCS 9 at 20 MHz with one stream, do not fill a symbol with whole bits.
        (valid && mcs.coded_bits() * mcs.code_rate().0 % mcs.code_rate().1 == 0).then_some(mcs)
    }

    /// A number for fields that usually hold a rate in bit/s.
    pub const fn code(self) -> u32 {
        let streams = (self.streams as u32 - 1) << STREAMS_SHIFT;
        let guard = if self.short_guard { SHORT_GUARD } else { 0 };
        let format = if matches!(self.format, Format::Vht) { VHT } else { 0 };
        CODE | self.index as u32 | streams | (self.width as u32) << WIDTH_SHIFT | guard | format
    }

    /// Whether this field for a rate holds a code.
    #[inline(always)]
    pub const fn is_code(rate: u32) -> bool {
        rate & CODE != 0
    }

    /// The MCS with this code; None if the number is a rate in bit/s.
    #[inline]
    pub const fn from_code(rate: u32) -> Option<Mcs> {
        if !Mcs::is_code(rate) {
            return None;
        }
        Some(Mcs {
            format: if rate & VHT != 0 { Format::Vht } else { Format::Ht },
            index: (rate & 15) as u8,
            streams: (rate >> STREAMS_SHIFT & 3) as u8 + 1,
            width: Width::ALL[(rate >> WIDTH_SHIFT & 3) as usize],
            short_guard: rate & SHORT_GUARD != 0,
        })
    }

    /// The format.
    pub const fn format(self) -> Format {
        self.format
    }

    /// Modulation and code, 0 to 9.
    pub const fn index(self) -> u8 {
        self.index
    }

    /// Spatial streams.
    pub const fn streams(self) -> u8 {
        self.streams
    }

    /// Width of the channel.
    pub const fn width(self) -> Width {
        self.width
    }

    /// Whether the guard interval is short (0.4 us).
    pub const fn short_guard(self) -> bool {
        self.short_guard
    }

    fn coded_bits(self) -> u32 {
        MODULATIONS[usize::from(self.index)].0 * self.width.data_subcarriers() * u32::from(self.streams)
    }

    fn code_rate(self) -> (u32, u32) {
        MODULATIONS[usize::from(self.index)].1
    }

    fn data_bits(self) -> u64 {
        let (part, whole) = self.code_rate();
        u64::from(self.coded_bits() * part / whole)
    }

    const fn symbol_ns(self) -> Ns {
        if self.short_guard { SHORT_SYMBOL_NS } else { SYMBOL_NS }
    }

    fn tail_bits(self) -> u64 {
        let most = if self.format == Format::Ht { HT_ENCODER_BITS } else { VHT_ENCODER_BITS };
        TAIL_BITS * self.data_bits().div_ceil(most)
    }

    /// Data rate, bit/s.
    pub fn rate_bps(self) -> u32 {
        let symbol_ns = self.symbol_ns();
        ((self.data_bits() * 1_000_000_000 + symbol_ns / 2) / symbol_ns) as u32
    }

    /// The legacy rate with the same modulation and code.
    pub fn reference_rate_bps(self) -> u32 {
        REFERENCE_BPS[usize::from(self.index)]
    }

    /// Duration of the preamble: as many training fields as streams, but four for three streams.
    pub fn preamble_ns(self) -> Ns {
        let fields = if self.streams == 3 { 4 } else { Ns::from(self.streams) };
        let sig_b_ns = if self.format == Format::Vht { VHT_SIG_B_NS } else { 0 };
        PREAMBLE_NS + fields * TRAINING_FIELD_NS + sig_b_ns
    }

    /// Airtime of a frame of `bytes`, without signal extension.
    pub fn airtime_ns(self, bytes: u32) -> Ns {
        let symbols = (SERVICE_BITS + 8 * u64::from(bytes) + self.tail_bits()).div_ceil(self.data_bits());
        // A frame of short symbols still ends on the grid of 4 us.
        self.preamble_ns() + (symbols * self.symbol_ns()).next_multiple_of(SYMBOL_NS)
    }

    /// Longest PSDU that a PPDU carries, bytes.
    pub fn longest_psdu_bytes(self) -> u32 {
        let symbols = (LONGEST_PPDU_NS - self.preamble_ns()) / self.symbol_ns();
        ((symbols * self.data_bits() - SERVICE_BITS - self.tail_bits()) / 8) as u32
    }

    /// Longest A-MPDU that every receiver of the format may accept, bytes.
    pub const fn longest_ampdu_bytes(self) -> u32 {
        match self.format {
            Format::Ht => HT_AMPDU_BYTES,
            Format::Vht => VHT_AMPDU_BYTES,
        }
    }
}

/// The rate in bit/s that a field for a rate stands for.
#[inline]
pub fn bit_rate_bps(rate: u32) -> u32 {
    match Mcs::from_code(rate) {
        Some(mcs) => mcs.rate_bps(),
        None => rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::Phy;
    use pacelab_air_config::GuardInterval;

    fn all() -> impl Iterator<Item = Mcs> {
        let modes = Width::ALL.into_iter().flat_map(|width| [false, true].map(|short| (width, short)));
        modes.flat_map(|(width, short)| {
            let ht = (0..32).filter_map(move |number| Mcs::ht(number, width, short));
            let pairs = (1..=4).flat_map(|streams| (0..10).map(move |index| (index, streams)));
            ht.chain(pairs.filter_map(move |(index, streams)| Mcs::vht(index, streams, width, short)))
        })
    }

    #[test]
    fn rates_are_those_of_the_standards_tables() {
        let mbps = |mcs: Option<Mcs>| mcs.map(|mcs| f64::from(mcs.rate_bps()) / 1e6);
        let ht = |number, width, short| mbps(Mcs::ht(number, width, short));
        // IEEE 802.11-2020 Tables 19-28, 19-30, 19-32, 19-34
        assert_eq!([0, 7, 8, 15].map(|number| ht(number, Width::Mhz20, false)), [6.5, 65.0, 13.0, 130.0].map(Some));
        assert_eq!([ht(7, Width::Mhz20, true), ht(15, Width::Mhz20, true)], [72.222_222, 144.444_444].map(Some));
        assert_eq!([ht(15, Width::Mhz40, true), ht(31, Width::Mhz40, true)], [300.0, 600.0].map(Some));
        assert_eq!((ht(32, Width::Mhz40, false), ht(0, Width::Mhz80, false)), (None, None));
        // IEEE 802.11-2020 Tables 21-30, 21-31, 21-44, 21-53
        let vht = |index, streams, width| mbps(Mcs::vht(index, streams, width, true));
        assert_eq!(vht(8, 1, Width::Mhz20), Some(86.666_667));
        assert_eq!((vht(9, 1, Width::Mhz20), vht(9, 3, Width::Mhz20)), (None, Some(288.888_889)));
        assert_eq!((vht(9, 1, Width::Mhz80), vht(9, 4, Width::Mhz80)), (Some(433.333_333), Some(1_733.333_333)));
        assert_eq!((vht(10, 1, Width::Mhz80), vht(0, 0, Width::Mhz80), vht(0, 5, Width::Mhz80)), (None, None, None));
    }

    #[test]
    fn every_mcs_has_a_code_of_its_own_that_is_no_rate() {
        let mut codes: Vec<u32> = all().map(Mcs::code).collect();
        assert!(all().all(|mcs| Mcs::from_code(mcs.code()) == Some(mcs)));
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
        assert_eq!((Mcs::from_code(54_000_000), Mcs::from_code(1_733_333_333)), (None, None));
    }

    #[test]
    fn one_stream_at_20_mhz_lasts_as_long_as_in_a_simulated_cell() {
        for guard_interval in [GuardInterval::Long, GuardInterval::Short] {
            let phy = Phy::ht(guard_interval);
            for (number, &rate_bps) in phy.rates_bps().iter().enumerate() {
                let short = guard_interval == GuardInterval::Short;
                let mcs = Mcs::ht(number as u8, Width::Mhz20, short).expect("an MCS");
                assert_eq!(mcs.rate_bps(), rate_bps);
                for bytes in [14, 100, 1538, 43_000] {
                    assert_eq!(mcs.airtime_ns(bytes), phy.airtime_ns(bytes, rate_bps), "{mcs:?} {bytes}");
                }
                assert_eq!(mcs.longest_psdu_bytes(), phy.longest_psdu_bytes(rate_bps));
            }
        }
    }

    #[test]
    fn streams_and_vht_lengthen_the_preamble() {
        let preamble = |mcs: Option<Mcs>| mcs.map(|mcs| mcs.preamble_ns() / 1_000);
        assert_eq!(
            [0, 8, 16, 24].map(|number| preamble(Mcs::ht(number, Width::Mhz20, false))),
            [36, 40, 48, 48].map(Some)
        );
        assert_eq!(preamble(Mcs::vht(0, 1, Width::Mhz80, false)), Some(40));
        // 16 + 12304 + 6 bits in symbols of 520 (MCS 15): 24 symbols
        assert_eq!(Mcs::ht(15, Width::Mhz20, false).map(|mcs| mcs.airtime_ns(1538)), Some(40_000 + 96_000));
        // 4 x 234 x 8 x 5 / 6 = 6240 bits a symbol, three encoders: 16 + 12304 + 18 bits are two symbols
        assert_eq!(Mcs::vht(9, 4, Width::Mhz80, false).map(|mcs| mcs.airtime_ns(1538)), Some(52_000 + 8_000));
    }
}
