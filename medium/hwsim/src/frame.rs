//! The parts of an 802.11 frame that a medium reads.

use crate::Mac;

/// Octets of the FCS, which the kernel's frames lack.
pub const FCS_BYTES: u32 = 4;

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Receiver address (addr1).
    pub receiver: Mac,
    /// Transmitter address (addr2); frames of the kernel's radios all have one.
    pub transmitter: Mac,
    /// Management, data, or control.
    pub class: Class,
    /// User priority 0..7 of a QoS data frame.
    pub priority: Option<u8>,
    /// A data frame without data, such as a null function.
    pub is_null: bool,
}

/// The type field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Class {
    Management,
    Control,
    Data,
}

impl Head {
    /// Reads a frame without FCS. None if it is not a frame with two addresses.
    ///
    /// Source: IEEE 802.11-2020 Sec. 9.2.4 (frame control), 9.3.2.1 (data), 9.2.4.5.2 (TID).
    pub fn read(frame: &[u8]) -> Option<Head> {
        let control = u16::from_le_bytes([*frame.first()?, *frame.get(1)?]);
        let class = match control >> 2 & 3 {
            0 => Class::Management,
            1 => Class::Control,
            2 => Class::Data,
            _ => return None,
        };
        let four_addresses = control & 0x0300 == 0x0300;
        let qos_at = if four_addresses { 30 } else { 24 };
        let is_qos = class == Class::Data && control & 0x0080 != 0;
        Some(Head {
            receiver: frame.get(4..10)?.try_into().ok()?,
            transmitter: frame.get(10..16)?.try_into().ok()?,
            class,
            priority: if is_qos { Some(frame.get(qos_at)? & 7) } else { None },
            is_null: class == Class::Data && control & 0x0040 != 0,
        })
    }

    /// Whether the receiver address is a group address.
    pub fn is_broadcast(&self) -> bool {
        self.receiver[0] & 1 == 1
    }
}

/// The kinds of rates that a station has: those of 802.11b, those of OFDM, and MCS of 802.11n or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Rates {
    pub dsss: bool,
    pub ofdm: bool,
    pub mcs: bool,
}

/// The rates that the sender of a beacon or an association request announces. None for other frames. A probe request
/// does not count, because it lists the rates of the radio and not those of its network.
///
/// Source: IEEE 802.11-2020 Sec. 9.3.3.2, 9.3.3.5, 9.3.3.7 (frame bodies), 9.4.2.3, 9.4.2.13 (supported rates), 9.4.2.55
/// (HT capabilities).
pub fn announced_rates(frame: &[u8]) -> Option<Rates> {
    const HEADER_BYTES: usize = 24;
    let fixed_bytes = match frame.first()? {
        0x80 => 12, // beacon: timestamp, interval, capabilities
        0x00 => 4,  // association request: capabilities, listen interval
        0x20 => 10, // reassociation request: also the previous access point
        _ => return None,
    };
    let mut elements = frame.get(HEADER_BYTES + fixed_bytes..)?;
    let mut rates = Rates { dsss: false, ofdm: false, mcs: false };
    while let [id, length, rest @ ..] = elements {
        let body = rest.get(..usize::from(*length))?;
        if matches!(id, 1 | 50) {
            for rate in body.iter().map(|octet| octet & 0x7f) {
                rates.dsss |= matches!(rate, 2 | 4 | 11 | 22); // units of 500 kbit/s
                rates.ofdm |= matches!(rate, 12 | 18 | 24 | 36 | 48 | 72 | 96 | 108);
            }
        }
        rates.mcs |= *id == HT_CAPABILITIES;
        elements = &rest[body.len()..];
    }
    (rates.dsss || rates.ofdm).then_some(rates)
}

const HT_CAPABILITIES: u8 = 45;

/// Changes an ADDBA request so that Linux declines it: the policy becomes a delayed Block Ack. Returns whether the frame
/// is a request. See `docs/hwsim.md` for the reason.
///
/// Source: IEEE 802.11-2020 Sec. 9.6.4.2 (ADDBA Request), 9.4.1.13 (Block Ack Parameter Set); the kernel's
/// net/mac80211/agg-rx.c, __ieee80211_start_rx_ba_session.
pub fn decline_block_ack(frame: &mut [u8]) -> bool {
    const ACTION: u8 = 0xd0;
    const BLOCK_ACK: u8 = 3;
    const ADDBA_REQUEST: u8 = 0;
    const PROTECTED: u8 = 0x40;
    const IMMEDIATE: u8 = 1 << 1;
    let [ACTION, flags, ..] = frame else { return false };
    if *flags & PROTECTED != 0 {
        return false;
    }
    match frame.get_mut(24..28) {
        Some([BLOCK_ACK, ADDBA_REQUEST, _token, parameters]) => {
            *parameters &= !IMMEDIATE;
            true
        }
        _ => false,
    }
}

/// Whether this is a channel at 5 GHz or above, where 802.11b does not exist.
pub fn is_above_2_4_ghz(frequency_mhz: u32) -> bool {
    frequency_mhz > BAND_EDGE_MHZ
}

/// Legacy rates in bit/s in the order of the kernel's radios: all of them at 2.4 GHz, from the fifth on at 5 GHz.
pub const RATES_BPS: [u32; 12] = [
    1_000_000, 2_000_000, 5_500_000, 11_000_000, 6_000_000, 9_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000,
    48_000_000, 54_000_000,
];
const FIRST_OFDM: usize = 4;
/// Channels above are in the 5 GHz band.
const BAND_EDGE_MHZ: u32 = 4_000;

/// The legacy rate with this index in the band, or None.
pub fn rate_bps(frequency_mhz: u32, index: i8) -> Option<u32> {
    RATES_BPS.get(first_of_band(frequency_mhz) + usize::try_from(index).ok()?).copied()
}

/// The index of this rate in the band.
pub fn rate_index(frequency_mhz: u32, rate_bps: u32) -> Option<u32> {
    let band = RATES_BPS.get(first_of_band(frequency_mhz)..)?;
    band.iter().position(|&rate| rate == rate_bps).map(|place| place as u32)
}

/// The legacy rate with the modulation and coding of an MCS, for any number of streams and any width. None for an
/// invalid MCS.
///
/// Source: IEEE 802.11-2020 Tables 17-4, 19-27 (eight per number of streams) and 21-29 (mac80211: streams less one in
/// the upper four bits). 64-QAM 5/6 and 256-QAM have no legacy rate and map to the highest one.
pub fn mcs_rate_bps(index: i8, is_vht: bool) -> Option<u32> {
    const MBPS: [u32; 10] = [6, 12, 18, 24, 36, 48, 54, 54, 54, 54];
    let index = usize::try_from(index).ok()?;
    let mcs = if is_vht { index & 15 } else { index % 8 };
    MBPS.get(mcs).map(|mbps| mbps * 1_000_000)
}

fn first_of_band(frequency_mhz: u32) -> usize {
    if is_above_2_4_ghz(frequency_mhz) { FIRST_OFDM } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QOS_DATA: [u8; 26] = [
        0x88, 0x01, 0x2c, 0x00, // QoS data, to DS, duration
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3, // three addresses
        0x10, 0x00, // sequence
        0x06, 0x00, // TID 6
    ];

    #[test]
    fn qos_data_has_addresses_and_priority() {
        let head = Head::read(&QOS_DATA).unwrap();
        assert_eq!((head.receiver, head.transmitter), ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]));
        assert_eq!((head.class, head.priority), (Class::Data, Some(6)));
        assert!(!head.is_broadcast());
    }

    #[test]
    fn a_beacon_is_management_for_all() {
        let mut beacon = [0_u8; 24];
        beacon[0] = 0x80;
        beacon[4..10].fill(0xff);
        let head = Head::read(&beacon).unwrap();
        assert!(head.is_broadcast());
        assert_eq!((head.class, head.priority), (Class::Management, None));
    }

    #[test]
    fn beacons_and_association_requests_tell_rates() {
        let frame = |kind: u8, fixed: usize, rates: &[u8], more: &[u8]| {
            let mut frame = vec![kind; 1];
            frame.resize(24 + fixed, 0);
            for (id, body) in [(0, &b"lab"[..]), (1, rates), (3, &[1]), (50, more)] {
                frame.extend([id, body.len() as u8]);
                frame.extend(body);
            }
            frame
        };
        let describe = |dsss, ofdm| Some(Rates { dsss, ofdm, mcs: false });
        let b = [0x82, 0x84, 11, 22]; // 1 and 2 Mbit/s are basic
        assert_eq!(announced_rates(&frame(0x80, 12, &b, &[])), describe(true, false));
        assert_eq!(announced_rates(&frame(0x00, 4, &b, &[12, 108])), describe(true, true));
        assert_eq!(announced_rates(&frame(0x20, 10, &[0x8c, 18, 255], &[])), describe(false, true)); // 255: a selector, no rate
        assert_eq!((announced_rates(&frame(0x40, 0, &b, &[])), announced_rates(&QOS_DATA)), (None, None));
        let whole = frame(0x80, 12, &b, &[12]);
        (0..24 + 12 + 5 + 6).for_each(|length| assert_eq!(announced_rates(&whole[..length]), None, "{length}"));
    }

    #[test]
    fn a_beacon_of_80211n_has_its_capabilities() {
        let mut beacon = vec![0x80; 1];
        beacon.resize(24 + 12, 0);
        beacon.extend([1, 2, 0x82, 12, 45, 2, 0, 0]);
        assert_eq!(announced_rates(&beacon), Some(Rates { dsss: true, ofdm: true, mcs: true }));
    }

    #[test]
    fn a_request_for_a_block_ack_session_becomes_one_that_linux_declines() {
        let mut request = vec![0; 24];
        request[0] = 0xd0;
        request.extend([3, 0, 7, 0x02, 0x10, 0, 0, 0x10, 0]); // token 7, immediate
        let mut changed = request.clone();
        assert!(decline_block_ack(&mut changed));
        assert_eq!(changed[27], request[27] & !2);
        assert_eq!((&changed[..27], &changed[28..]), (&request[..27], &request[28..]));
        for (at, value) in [(0, 0x80), (1, 0x40), (24, 4), (25, 1)] {
            let mut other = request.clone();
            other[at] = value;
            let before = other.clone();
            assert!(!decline_block_ack(&mut other) && other == before, "{at}");
        }
        (0..28).for_each(|length| assert!(!decline_block_ack(&mut request[..length].to_vec()), "{length}"));
    }

    #[test]
    fn truncated_frames_are_none() {
        for length in 0..16 {
            assert_eq!(Head::read(&QOS_DATA[..length]), None);
        }
        assert_eq!(Head::read(&QOS_DATA[..24]), None); // QoS without its field
    }

    #[test]
    fn rates_start_at_six_at_five_gigahertz() {
        assert_eq!(rate_bps(2412, 0), Some(1_000_000));
        assert_eq!(rate_bps(2412, 3), Some(11_000_000));
        assert_eq!(rate_bps(5180, 0), Some(6_000_000));
        assert_eq!(rate_bps(5180, 7), Some(54_000_000));
        assert_eq!(rate_bps(5180, 8), None);
        assert_eq!(rate_bps(2412, -1), None);
        assert_eq!((rate_index(2412, 6_000_000), rate_index(5180, 6_000_000)), (Some(4), Some(0)));
        assert_eq!(rate_index(5180, 1_000_000), None);
    }

    #[test]
    fn an_mcs_has_the_rate_of_its_modulation() {
        // HT: BPSK 1/2 with one and with two streams, 16-QAM 3/4, 64-QAM 5/6; MCS 32 is BPSK 1/2.
        let ht: Vec<_> = [0, 8, 12, 7, 32].map(|index| mcs_rate_bps(index, false)).into();
        assert_eq!(ht, [6, 6, 36, 54, 6].map(|mbps| Some(mbps * 1_000_000)));
        // VHT: two streams of QPSK 3/4, one of 256-QAM 5/6, and none of ten.
        let vht: Vec<_> = [0x12, 9].map(|index| mcs_rate_bps(index, true)).into();
        assert_eq!(vht, [Some(18_000_000), Some(54_000_000)]);
        assert_eq!((mcs_rate_bps(10, true), mcs_rate_bps(-1, false)), (None, None));
    }
}
