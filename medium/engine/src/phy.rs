//! Physical layer timing: how long a frame occupies the air, and the intervals of the DCF.
//!
//! 802.11b DSSS with the long preamble (IEEE 802.11-2016 Sec. 15.3, Table 15-2).

use crate::agenda::Ns;

const NS_PER_BYTE_AT_1_BPS: u64 = 8_000_000_000;

/// The rates of 802.11b in bit/s.
pub const DSSS_RATES_BPS: [u32; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];

/// MAC frame sizes in bytes, frame check sequence included (IEEE 802.11-2016 Sec. 9.3.1).
pub mod frame_bytes {
    /// Request to send.
    pub const RTS: u32 = 20;
    /// Clear to send.
    pub const CTS: u32 = 14;
    /// Acknowledgement.
    pub const ACK: u32 = 14;
}

/// Timing constants of one physical layer.
#[derive(Clone, Copy, Debug)]
pub struct Phy {
    /// Backoff slot.
    pub slot_ns: Ns,
    /// Short interframe space.
    pub sifs_ns: Ns,
    /// Preamble and PLCP header.
    pub preamble_ns: Ns,
    /// Smallest contention window, as the standard counts it (31: slots 0..=31).
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// Round airtimes up to whole microseconds, as the standard's TXTIME does; ns-2 keeps the fraction.
    pub whole_us: bool,
}

impl Phy {
    /// 802.11b DSSS/CCK, long preamble: 144 + 48 bits at 1 Mbit/s.
    pub const fn dsss(whole_us: bool) -> Self {
        Phy { slot_ns: 20_000, sifs_ns: 10_000, preamble_ns: 192_000, cw_min: 31, cw_max: 1023, whole_us }
    }

    /// DCF interframe space: SIFS and two slots.
    pub const fn difs_ns(&self) -> Ns {
        self.sifs_ns + 2 * self.slot_ns
    }

    /// Airtime of a frame of `bytes` (MAC header and FCS included) at `rate_bps`.
    pub fn airtime_ns(&self, bytes: u32, rate_bps: u32) -> Ns {
        let numerator = u64::from(bytes) * NS_PER_BYTE_AT_1_BPS;
        let rate = u64::from(rate_bps);
        if self.whole_us {
            self.preamble_ns + numerator.div_ceil(rate * 1_000) * 1_000
        } else {
            self.preamble_ns + (numerator + rate / 2) / rate
        }
    }

    /// Extended interframe space: SIFS, an ACK at the lowest rate, DIFS (IEEE 802.11-2016 Sec. 10.3.7).
    pub fn eifs_ns(&self) -> Ns {
        self.sifs_ns + self.airtime_ns(frame_bytes::ACK, DSSS_RATES_BPS[0]) + self.difs_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
