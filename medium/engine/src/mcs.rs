//! The modulation and coding scheme (MCS) of one frame, as a host's rate control chooses it.
//!
//! In a simulation all data frames have one `Mode`, so a rate in bit/s identifies their MCS. The kernel's rate control
//! chooses among formats, widths, streams and guard intervals frame by frame, and several of its choices have the same
//! rate in bit/s. The rate of such a frame is therefore a code, which every field for a rate can hold.

use pacelab_air_config::{Format, GuardInterval, Mode, Width};

use crate::event_queue::Ns;
use crate::ppdu;

/// A modulation and coding scheme with everything else that determines the rate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mcs {
    mode: Mode,
    index: u8,
}

/// Set in the code of an MCS. No rate in bit/s of the model is that high.
const CODE: u32 = 1 << 31;
/// A code has the index in bits 0 to 3, then the fields of `Mode`.
const STREAMS_SHIFT: u32 = 4;
const WIDTH_SHIFT: u32 = 6;
const GUARD_SHIFT: u32 = 8;
const FORMAT_SHIFT: u32 = 10;

impl Mcs {
    /// The MCS `index` of this mode. None if there is no such MCS.
    pub fn new(mode: Mode, index: u8) -> Option<Mcs> {
        (mode.check().is_ok() && mode.rate_bps(index).is_some()).then_some(Mcs { mode, index })
    }

    /// A number for fields that otherwise hold a rate in bit/s.
    pub const fn code(self) -> u32 {
        let Mode { format, width, streams, guard_interval } = self.mode;
        let of_mode = (streams as u32 - 1) << STREAMS_SHIFT | (width as u32) << WIDTH_SHIFT;
        CODE | self.index as u32 | of_mode | (guard_interval as u32) << GUARD_SHIFT | (format as u32) << FORMAT_SHIFT
    }

    /// Whether a field for a rate holds a code.
    #[inline(always)]
    pub const fn is_code(rate: u32) -> bool {
        rate & CODE != 0
    }

    /// The MCS with this code. None if the number is a rate in bit/s.
    #[inline]
    pub fn from_code(rate: u32) -> Option<Mcs> {
        if !Mcs::is_code(rate) {
            return None;
        }
        let field = |shift: u32| (rate >> shift & 3) as usize;
        let mode = Mode {
            format: *Format::ALL.get(field(FORMAT_SHIFT))?,
            width: *Width::ALL.get(field(WIDTH_SHIFT))?,
            streams: field(STREAMS_SHIFT) as u8 + 1,
            guard_interval: GuardInterval::ALL[field(GUARD_SHIFT)],
        };
        Some(Mcs { mode, index: (rate & 15) as u8 })
    }

    /// Format, width, streams and guard interval.
    pub const fn mode(self) -> Mode {
        self.mode
    }

    /// Modulation and code. The standard's index of HT is 8 higher for each further stream.
    pub const fn index(self) -> u8 {
        self.index
    }

    /// Data rate, bit/s.
    pub fn rate_bps(self) -> u32 {
        self.mode.rate_bps(self.index).unwrap_or(0)
    }

    /// The legacy rate with the same modulation and code, or 54 Mbit/s if there is none.
    pub fn reference_rate_bps(self) -> u32 {
        ppdu::non_ht_reference_bps(self.index)
    }

    /// Airtime of a PSDU of `bytes`, without signal extension.
    pub(crate) fn airtime_ns(self, bytes: u32) -> Ns {
        ppdu::airtime_ns(self.mode, bytes, self.rate_bps())
    }

    /// Longest PSDU that a PPDU carries, bytes.
    pub(crate) fn longest_psdu_bytes(self) -> u32 {
        ppdu::longest_psdu_bytes(self.mode, self.rate_bps())
    }
}

/// The rate in bit/s for which a field for a rate stands.
#[inline]
pub fn bit_rate_bps(rate: u32) -> u32 {
    if Mcs::is_code(rate) { Mcs::from_code(rate).map_or(0, Mcs::rate_bps) } else { rate }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Mcs> {
        Format::ALL.into_iter().flat_map(|format| {
            Width::ALL.into_iter().flat_map(move |width| {
                GuardInterval::ALL.into_iter().flat_map(move |guard_interval| {
                    (1..=4).flat_map(move |streams| {
                        let mode = Mode { format, width, streams, guard_interval };
                        (0..12).filter_map(move |index| Mcs::new(mode, index))
                    })
                })
            })
        })
    }

    #[test]
    fn every_mcs_has_a_code_of_its_own_that_is_no_rate() {
        let mut codes: Vec<u32> = all().map(Mcs::code).collect();
        assert!(all().all(|mcs| Mcs::from_code(mcs.code()) == Some(mcs)));
        let count = codes.len();
        // HT: 2 widths x 2 intervals x 4 streams x 8; VHT: 3 x 2 x 4 x 10 without 2 x 3 + 2 x 1; HE: 3 x 3 x 4 x 12
        assert_eq!(count, 128 + 232 + 432);
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
        assert_eq!((Mcs::from_code(54_000_000), bit_rate_bps(54_000_000)), (None, 54_000_000));
    }

    #[test]
    fn a_code_stands_for_its_rate() {
        let mode = Mode { format: Format::Ht, width: Width::Mhz40, streams: 2, guard_interval: GuardInterval::Short };
        let mcs = Mcs::new(mode, 7).expect("MCS 15 of HT");
        assert_eq!((bit_rate_bps(mcs.code()), mcs.reference_rate_bps()), (300_000_000, 54_000_000));
        assert_eq!((Mcs::new(mode, 8), Mcs::new(Mode { streams: 5, ..mode }, 7)), (None, None));
        assert_eq!(Mcs::new(Mode { width: Width::Mhz80, ..mode }, 7), None);
    }
}
