//! Data frames of 802.11n, 802.11ac and 802.11ax: formats, channel widths, spatial streams, guard intervals, and the data
//! rates that follow from them.
//!
//! Source: IEEE 802.11-2020 Sec. 19.5 (HT MCS parameters) and 21.5 (VHT), IEEE 802.11ax-2021 Sec. 27.5 (HE).

use serde::Deserialize;

/// The format of data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// High throughput in the mixed format: 802.11n.
    Ht,
    /// Very high throughput for a single user: 802.11ac.
    Vht,
    /// High efficiency for a single user: 802.11ax.
    HeSu,
}

/// Channel width.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(try_from = "u32")]
pub enum Width {
    /// 20 MHz.
    #[default]
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
}

/// Guard interval between OFDM symbols.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum GuardInterval {
    /// 0.8 us: the long one of HT and VHT, the shortest one of HE.
    #[default]
    Long,
    /// 0.4 us, HT and VHT alone.
    Short,
    /// 1.6 us, HE alone.
    #[serde(rename = "1.6")]
    Double,
    /// 3.2 us, HE alone.
    #[serde(rename = "3.2")]
    Quadruple,
}

/// Frequency band. It determines the interframe spaces.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub enum Band {
    /// 5 GHz.
    #[default]
    #[serde(rename = "5")]
    Ghz5,
    /// 2.4 GHz without stations of 802.11b.
    #[serde(rename = "2.4")]
    Ghz2,
}

/// The properties that all data frames of a run share, whatever their modulation and coding scheme (MCS).
///
/// The MCS of HT counts from 0 to 7 here, with the number of spatial streams beside it. The standard's index of HT is
/// `mcs + 8 * (streams - 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// The format.
    pub format: Format,
    /// The channel width.
    pub width: Width,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// The guard interval.
    pub guard_interval: GuardInterval,
}

/// Data bits per subcarrier and stream of each MCS, times 6: bits of the constellation times the code rate. BPSK 1/2,
/// QPSK 1/2 and 3/4, 16-QAM 1/2 and 3/4, 64-QAM 2/3, 3/4 and 5/6, 256-QAM 3/4 and 5/6, 1024-QAM 3/4 and 5/6.
const SIXTHS_OF_BITS: [u32; 12] = [3, 6, 9, 12, 18, 24, 27, 30, 36, 40, 45, 50];

impl Width {
    /// All widths.
    pub const ALL: [Width; 3] = [Width::Mhz20, Width::Mhz40, Width::Mhz80];

    /// The width in MHz.
    pub const fn mhz(self) -> u32 {
        match self {
            Width::Mhz20 => 20,
            Width::Mhz40 => 40,
            Width::Mhz80 => 80,
        }
    }
}

impl TryFrom<u32> for Width {
    type Error = String;

    fn try_from(mhz: u32) -> Result<Self, String> {
        let found = Width::ALL.into_iter().find(|width| width.mhz() == mhz);
        found.ok_or_else(|| format!("width_mhz {mhz}: must be 20, 40 or 80"))
    }
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 3] = [Format::Ht, Format::Vht, Format::HeSu];

    /// Number of MCSs.
    pub const fn mcs_count(self) -> u8 {
        match self {
            Format::Ht => 8,
            Format::Vht => 10,
            Format::HeSu => 12,
        }
    }

    /// Whether frames of this format have this guard interval.
    pub const fn has(self, guard_interval: GuardInterval) -> bool {
        match guard_interval {
            GuardInterval::Long => true,
            GuardInterval::Short => !matches!(self, Format::HeSu),
            GuardInterval::Double | GuardInterval::Quadruple => matches!(self, Format::HeSu),
        }
    }

    /// Subcarriers with data.
    const fn data_subcarriers(self, width: Width) -> u32 {
        match (self, width) {
            (Format::HeSu, Width::Mhz20) => 234,
            (Format::HeSu, Width::Mhz40) => 468,
            (Format::HeSu, Width::Mhz80) => 980,
            (_, Width::Mhz20) => 52,
            (_, Width::Mhz40) => 108,
            (_, Width::Mhz80) => 234,
        }
    }
}

impl GuardInterval {
    /// All guard intervals.
    pub const ALL: [GuardInterval; 4] =
        [GuardInterval::Long, GuardInterval::Short, GuardInterval::Double, GuardInterval::Quadruple];

    /// Its duration, ns.
    pub const fn ns(self) -> u64 {
        match self {
            GuardInterval::Short => 400,
            GuardInterval::Long => 800,
            GuardInterval::Double => 1_600,
            GuardInterval::Quadruple => 3_200,
        }
    }
}

impl Mode {
    /// Most spatial streams of this model. VHT and HE have up to 8.
    pub const MOST_STREAMS: u8 = 4;

    /// 802.11n with one stream in 20 MHz.
    pub const fn ht20(guard_interval: GuardInterval) -> Self {
        Mode { format: Format::Ht, width: Width::Mhz20, streams: 1, guard_interval }
    }

    /// # Errors
    /// The format has no such width, number of streams or guard interval. One line with the value and what is valid.
    pub fn check(self) -> Result<(), String> {
        let Mode { format, width, streams, guard_interval } = self;
        if !(1..=Mode::MOST_STREAMS).contains(&streams) {
            return Err(format!("streams {streams}: must be from 1 to {}", Mode::MOST_STREAMS));
        }
        if format == Format::Ht && width == Width::Mhz80 {
            return Err("width_mhz 80: must be 20 or 40 with 802.11n".into());
        }
        if !format.has(guard_interval) {
            let valid = if format == Format::HeSu { "0.8, 1.6 or 3.2" } else { "0.8 or 0.4" };
            return Err(format!("guard_interval {} us: must be {valid} us", guard_interval.ns() as f64 / 1e3));
        }
        Ok(())
    }

    /// Duration of an OFDM symbol, ns.
    pub const fn symbol_ns(self) -> u64 {
        let without_guard_ns = if matches!(self.format, Format::HeSu) { 12_800 } else { 3_200 };
        without_guard_ns + self.guard_interval.ns()
    }

    /// Data bits of a symbol (N_DBPS). None: the mode has no such MCS.
    pub const fn bits_per_symbol(self, mcs: u8) -> Option<u32> {
        if mcs >= self.format.mcs_count() || self.is_excluded(mcs) {
            return None;
        }
        let subcarriers = self.format.data_subcarriers(self.width);
        Some(subcarriers * self.streams as u32 * SIXTHS_OF_BITS[mcs as usize] / 6)
    }

    /// The MCSs of VHT that do not exist because a symbol would not have a whole number of bits for each encoder
    /// (IEEE 802.11-2020 Sec. 21.5).
    const fn is_excluded(self, mcs: u8) -> bool {
        match (self.format, self.width, mcs) {
            (Format::Vht, Width::Mhz20, 9) => self.streams != 3,
            (Format::Vht, Width::Mhz80, 6) => self.streams == 3,
            _ => false,
        }
    }

    /// The data rate of an MCS, rounded to whole bit/s. None: the mode has no such MCS.
    pub const fn rate_bps(self, mcs: u8) -> Option<u32> {
        match self.bits_per_symbol(mcs) {
            Some(bits) => {
                let symbol_ns = self.symbol_ns();
                Some(((bits as u64 * 1_000_000_000 + symbol_ns / 2) / symbol_ns) as u32)
            }
            None => None,
        }
    }

    /// The MCS that has this data rate.
    pub fn mcs_of(self, rate_bps: u32) -> Option<u8> {
        let bits = self.bits_at(rate_bps);
        (0..self.format.mcs_count()).find(|&mcs| self.bits_per_symbol(mcs) == Some(bits))
    }

    /// Data bits of a symbol at one of the data rates of this mode.
    pub const fn bits_at(self, rate_bps: u32) -> u32 {
        ((rate_bps as u64 * self.symbol_ns() + 500_000_000) / 1_000_000_000) as u32
    }

    /// The data rates of all MCSs, ascending, bit/s. The list is empty for a mode that `check` refuses.
    pub fn rates_bps(self) -> &'static [u32] {
        let streams = usize::from(self.streams.clamp(1, Mode::MOST_STREAMS)) - 1;
        let rates = &RATES[self.format as usize][self.width as usize][streams][self.guard_interval as usize];
        &rates.bps[..rates.count]
    }

    /// Convolutional encoders (N_ES). Each adds tail bits. HE: 0, because its frames have an LDPC code, which HE requires
    /// beyond 20 MHz and for 1024-QAM.
    pub const fn encoders(self, bits_per_symbol: u32) -> u32 {
        // The last values before the number of encoders changes in the tables of the standard: HT 300 Mbit/s, VHT
        // 540 Mbit/s with the long guard interval.
        match self.format {
            Format::Ht => bits_per_symbol.div_ceil(1_200),
            Format::Vht => bits_per_symbol.div_ceil(2_160),
            Format::HeSu => 0,
        }
    }
}

/// The rates of one mode.
#[derive(Clone, Copy)]
struct Rates {
    bps: [u32; 12],
    count: usize,
}

const WIDTHS: usize = Width::ALL.len();
const STREAMS: usize = Mode::MOST_STREAMS as usize;
const INTERVALS: usize = GuardInterval::ALL.len();

static RATES: [[[[Rates; INTERVALS]; STREAMS]; WIDTHS]; Format::ALL.len()] = all_rates();

const fn all_rates() -> [[[[Rates; INTERVALS]; STREAMS]; WIDTHS]; Format::ALL.len()] {
    let none = Rates { bps: [0; 12], count: 0 };
    let mut all = [[[[none; INTERVALS]; STREAMS]; WIDTHS]; Format::ALL.len()];
    let mut place = 0;
    // A const function has no `for`.
    while place < INTERVALS * STREAMS * WIDTHS * Format::ALL.len() {
        let (interval, streams) = (place % INTERVALS, place / INTERVALS % STREAMS);
        let (width, format) = (place / INTERVALS / STREAMS % WIDTHS, place / INTERVALS / STREAMS / WIDTHS);
        let mode = Mode {
            format: Format::ALL[format],
            width: Width::ALL[width],
            streams: streams as u8 + 1,
            guard_interval: GuardInterval::ALL[interval],
        };
        let missing = matches!((mode.format, mode.width), (Format::Ht, Width::Mhz80));
        if mode.format.has(mode.guard_interval) && !missing {
            all[format][width][streams][interval] = rates_of(mode);
        }
        place += 1;
    }
    all
}

const fn rates_of(mode: Mode) -> Rates {
    let mut rates = Rates { bps: [0; 12], count: 0 };
    let mut mcs = 0;
    while mcs < mode.format.mcs_count() {
        if let Some(bps) = mode.rate_bps(mcs) {
            rates.bps[rates.count] = bps;
            rates.count += 1;
        }
        mcs += 1;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(format: Format, mhz: u32, streams: u8, guard_interval: GuardInterval) -> Mode {
        Mode { format, width: Width::try_from(mhz).expect("a width"), streams, guard_interval }
    }

    /// The rates of the mode in units of 0.1 Mbit/s, as the standard's tables print them.
    fn printed(mode: Mode) -> Vec<u32> {
        mode.rates_bps().iter().map(|&bps| (bps + 50_000) / 100_000).collect()
    }

    #[test]
    fn rates_of_ht_are_those_of_the_standards_tables() {
        use GuardInterval::{Long, Short};
        // IEEE 802.11-2020 Tables 19-27 to 19-34
        for (mhz, streams, interval, tenths) in [
            (20, 1, Long, [65, 130, 195, 260, 390, 520, 585, 650]),
            (20, 1, Short, [72, 144, 217, 289, 433, 578, 650, 722]),
            (20, 2, Long, [130, 260, 390, 520, 780, 1040, 1170, 1300]),
            (20, 3, Long, [195, 390, 585, 780, 1170, 1560, 1755, 1950]),
            (20, 4, Short, [289, 578, 867, 1156, 1733, 2311, 2600, 2889]),
            (40, 1, Long, [135, 270, 405, 540, 810, 1080, 1215, 1350]),
            (40, 2, Short, [300, 600, 900, 1200, 1800, 2400, 2700, 3000]),
            (40, 4, Long, [540, 1080, 1620, 2160, 3240, 4320, 4860, 5400]),
            (40, 4, Short, [600, 1200, 1800, 2400, 3600, 4800, 5400, 6000]),
        ] {
            assert_eq!(printed(mode(Format::Ht, mhz, streams, interval)), tenths, "{mhz} MHz, {streams} streams");
        }
    }

    #[test]
    fn rates_of_vht_are_those_of_the_standards_tables() {
        use GuardInterval::{Long, Short};
        // IEEE 802.11-2020 Tables 21-29 to 21-32, 21-37 to 21-40, 21-45 to 21-48
        for (mhz, streams, interval, tenths) in [
            (20, 1, Long, &[65, 130, 195, 260, 390, 520, 585, 650, 780][..]),
            (20, 3, Long, &[195, 390, 585, 780, 1170, 1560, 1755, 1950, 2340, 2600]),
            (40, 1, Short, &[150, 300, 450, 600, 900, 1200, 1350, 1500, 1800, 2000]),
            (80, 1, Long, &[293, 585, 878, 1170, 1755, 2340, 2633, 2925, 3510, 3900]),
            (80, 1, Short, &[325, 650, 975, 1300, 1950, 2600, 2925, 3250, 3900, 4333]),
            (80, 2, Short, &[650, 1300, 1950, 2600, 3900, 5200, 5850, 6500, 7800, 8667]),
            // without MCS 6
            (80, 3, Long, &[878, 1755, 2633, 3510, 5265, 7020, 8775, 10530, 11700]),
            (80, 4, Short, &[1300, 2600, 3900, 5200, 7800, 10400, 11700, 13000, 15600, 17333]),
        ] {
            assert_eq!(printed(mode(Format::Vht, mhz, streams, interval)), tenths, "{mhz} MHz, {streams} streams");
        }
    }

    #[test]
    fn rates_of_he_are_those_of_the_standards_tables() {
        use GuardInterval::{Double, Long, Quadruple};
        // IEEE 802.11ax-2021 Tables 27-77 to 27-80 (242 subcarriers), 27-85 (484), 27-93 and 27-94 (996)
        for (mhz, streams, interval, tenths) in [
            (20, 1, Long, [86, 172, 258, 344, 516, 688, 774, 860, 1032, 1147, 1290, 1434]),
            (20, 1, Double, [81, 163, 244, 325, 488, 650, 731, 813, 975, 1083, 1219, 1354]),
            (20, 1, Quadruple, [73, 146, 219, 293, 439, 585, 658, 731, 878, 975, 1097, 1219]),
            (40, 1, Long, [172, 344, 516, 688, 1032, 1376, 1549, 1721, 2065, 2294, 2581, 2868]),
            (80, 2, Long, [721, 1441, 2162, 2882, 4324, 5765, 6485, 7206, 8647, 9607, 10809, 12010]),
        ] {
            assert_eq!(printed(mode(Format::HeSu, mhz, streams, interval)), tenths, "{mhz} MHz, {streams} streams");
        }
    }

    #[test]
    fn vht_lacks_the_mcs_that_the_standard_excludes() {
        let missing = |mhz, mcs| {
            let modes = (1..=4).map(|streams| mode(Format::Vht, mhz, streams, GuardInterval::Long));
            modes.filter(|mode| mode.rate_bps(mcs).is_none()).map(|mode| mode.streams).collect::<Vec<_>>()
        };
        assert_eq!((missing(20, 9), missing(40, 9), missing(80, 9)), (vec![1, 2, 4], vec![], vec![]));
        assert_eq!((missing(20, 6), missing(40, 6), missing(80, 6)), (vec![], vec![], vec![3]));
    }

    #[test]
    fn a_rate_has_one_mcs_within_a_mode() {
        for format in Format::ALL {
            for width in Width::ALL {
                for streams in 1..=4 {
                    for guard_interval in GuardInterval::ALL {
                        let mode = Mode { format, width, streams, guard_interval };
                        if mode.check().is_err() {
                            assert!(mode.rates_bps().is_empty(), "{mode:?}");
                            continue;
                        }
                        let all: Vec<u8> =
                            (0..format.mcs_count()).filter(|&mcs| mode.bits_per_symbol(mcs).is_some()).collect();
                        let found: Vec<u8> = mode.rates_bps().iter().filter_map(|&bps| mode.mcs_of(bps)).collect();
                        assert_eq!(found, all, "{mode:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn encoders_are_those_of_the_standards_tables() {
        let encoders = |mode: Mode, mcs| mode.encoders(mode.bits_per_symbol(mcs).expect("an MCS"));
        let long = GuardInterval::Long;
        // HT in 40 MHz: index 20 with 243 Mbit/s has 1, index 21 with 324 Mbit/s and 31 with 540 Mbit/s have 2
        assert_eq!(
            [(3, 4), (3, 5), (4, 7)].map(|(streams, mcs)| encoders(mode(Format::Ht, 40, streams, long), mcs)),
            [1, 2, 2]
        );
        // VHT in 80 MHz: 2 streams MCS 6 with 526.5 Mbit/s has 1, MCS 7 with 585 has 2; 4 streams MCS 9 with 1560 has 3
        assert_eq!(
            [(2, 6), (2, 7), (4, 9)].map(|(streams, mcs)| encoders(mode(Format::Vht, 80, streams, long), mcs)),
            [1, 2, 3]
        );
        assert_eq!(encoders(mode(Format::HeSu, 40, 1, long), 0), 0);
    }

    #[test]
    fn modes_that_do_not_exist_are_refused_with_what_is_valid() {
        use GuardInterval::{Double, Long, Short};
        for (bad, reported) in [
            (mode(Format::Ht, 80, 1, Long), "width_mhz 80: must be 20 or 40 with 802.11n"),
            (mode(Format::Vht, 20, 5, Long), "streams 5: must be from 1 to 4"),
            (mode(Format::Vht, 20, 0, Long), "streams 0: must be from 1 to 4"),
            (mode(Format::HeSu, 20, 1, Short), "guard_interval 0.4 us: must be 0.8, 1.6 or 3.2 us"),
            (mode(Format::Ht, 20, 1, Double), "guard_interval 1.6 us: must be 0.8 or 0.4 us"),
        ] {
            assert_eq!(bad.check(), Err(reported.into()));
        }
        assert_eq!(Width::try_from(160), Err("width_mhz 160: must be 20, 40 or 80".into()));
    }
}
