//! Capture files of the air: one pcapng file per run with one interface per station, 802.11 with radiotap. `join` makes
//! such a file from the captures that tcpdump wrote at each host of a guest.
//!
//! ```text
//!   AirLog  --->  annotate    which stations received a frame, and its outcome, as text
//!                 frame       bytes of the 802.11 frame and of the packet inside
//!                 lib         blocks, radiotap, options
//! ```
//!
//! Invariants
//! 1. The bytes are a pure function of the log and the options.
//! 2. Times are those of a frame's first bit: at its sender, and a propagation delay later at its receivers.
//! 3. Frames follow the standard, including the frame check sequence, also if a preset counts other sizes on the air
//!    (`ns2` adds 34 bytes to a packet instead of 36, and has no UDP header).

mod annotate;
mod frame;

use std::io;

use pacelab_air_config::{
    Band, Capture, Format, GuardInterval, HT_BASIC_RATES_BPS, HighThroughput, Mode, PhyKind, Width,
};
use pacelab_engine::{Kind, SentFrame};
use pacelab_network::airlog::AirLog;
use pacelab_pcapng::{CRC_ERROR, INBOUND, Interface, OUTBOUND, Packet, Pcap, Record, Writer, link_type};

use crate::annotate::{Annotation, Observation, ObservationKind, annotate};
use crate::frame::{Content, append, ip, mac};

const WHOLE_FRAMES: u32 = 262_144;

mod radiotap {
    /// Present: TSFT, flags, rate, channel.
    pub const RECEIVED: u32 = 0b1111;
    /// The same and TX flags.
    pub const SENT: u32 = RECEIVED | 1 << 15;
    pub const FCS_AT_END: u8 = 0x10;
    pub const BAD_FCS: u8 = 0x40;
    pub const TX_FAILED: u16 = 0x0001;
    pub const TX_AFTER_RTS: u16 = 0x0004;
    pub const TX_WITHOUT_ACK: u16 = 0x0008;
    /// Channel 1 with CCK or OFDM, channel 36: MHz and flags.
    pub const CHANNEL_B: (u16, u16) = (2_412, 0x00a0);
    pub const CHANNEL_G: (u16, u16) = (2_412, 0x00c0);
    pub const CHANNEL_A: (u16, u16) = (5_180, 0x0140);
    pub const RATE_UNIT_BPS: u32 = 500_000;
    // The fields of a header for 802.11n, ac and ax.
    pub const TSFT: u32 = 1;
    pub const FLAGS: u32 = 1 << 1;
    pub const CHANNEL: u32 = 1 << 3;
    pub const TX_FLAGS: u32 = 1 << 15;
    pub const MCS: u32 = 1 << 19;
    pub const AMPDU_STATUS: u32 = 1 << 20;
    pub const VHT: u32 = 1 << 21;
    pub const HE: u32 = 1 << 23;
    /// HT: bandwidth, MCS index, guard interval and format (mixed) are known.
    pub const MCS_KNOWN: u8 = 0x0f;
    pub const MCS_40_MHZ: u8 = 0x01;
    pub const MCS_SHORT_GI: u8 = 0x04;
    pub const AMPDU_LAST_KNOWN: u16 = 0x0004;
    pub const AMPDU_IS_LAST: u16 = 0x0008;
    /// VHT: that there is no STBC, guard interval, and bandwidth are known.
    pub const VHT_KNOWN: u16 = 0x0001 | 0x0004 | 0x0040;
    pub const VHT_SHORT_GI: u8 = 0x04;
    /// HE: the format is that for a single user (0); MCS, coding, bandwidth, and that there is neither DCM nor STBC are
    /// known.
    pub const HE_DATA_1: u16 = 0x0020 | 0x0040 | 0x0080 | 0x0200 | 0x4000;
    /// HE: the guard interval and the number of training fields are known.
    pub const HE_DATA_2: u16 = 0x0002 | 0x0004;
    /// HE: coding is LDPC; the MCS is in bits 8 to 11.
    pub const HE_LDPC: u16 = 0x2000;
    pub const HE_MCS_SHIFT: u16 = 8;
    /// HE: places of the guard interval, the size of a training field, and their number.
    pub const HE_GI_SHIFT: u16 = 4;
    pub const HE_LTF_SIZE_SHIFT: u16 = 6;
    pub const HE_LTF_COUNT_SHIFT: u16 = 8;
}

/// The capture file of a run.
pub fn pcapng(log: &AirLog, options: Capture) -> Vec<u8> {
    let annotated = annotate(log, options.garbled);
    let snap_bytes = if options.snap_bytes == 0 { WHOLE_FRAMES } else { options.snap_bytes };
    // Writing to a Vec cannot fail, so the results are ignored.
    let Ok(mut writer) = Writer::new(Vec::new(), "PaceLab") else { return Vec::new() };
    for &node in &log.node_of {
        let [a, b, c, d] = ip(node);
        let _ = writer.interface(&Interface {
            link_type: link_type::IEEE802_11_RADIOTAP,
            snap_bytes,
            name: &log.names[node],
            ipv4: Some([a, b, c, d, 255, 0, 0, 0]),
            mac: Some(mac(node)),
        });
    }
    let mut data = Vec::new();
    for seen in &annotated.observations {
        let (sent, annotation) = (&log.frames[seen.frame], &annotated.annotations[seen.frame]);
        let content = Content {
            from: log.node_of[sent.station],
            to: sent.to.map(|to| log.node_of[to]),
            retry: annotation.retry,
            qos: log.high_throughput.is_some(),
            long_block_ack: log
                .high_throughput
                .is_some_and(|(_, settings)| settings.window() > HighThroughput::USUAL_FRAMES),
            packet: annotation.packet.map(|place| &annotated.packets[place]),
        };
        data.clear();
        radiotap(&mut data, seen, sent, annotation, log);
        let header_bytes = data.len();
        let limit = (snap_bytes as usize).saturating_sub(header_bytes);
        let frame_bytes = append(&mut data, sent, &content, limit, seen.kind == ObservationKind::Garbled);
        let flags = match seen.kind {
            ObservationKind::Sent => OUTBOUND,
            ObservationKind::Decoded => INBOUND,
            ObservationKind::Garbled => INBOUND | CRC_ERROR,
        };
        let _ = writer.packet(&Packet {
            interface: seen.station.0,
            at_ns: seen.at,
            length: (header_bytes + frame_bytes) as u32,
            data: &data,
            flags,
            comment: &seen.comment,
        });
    }
    writer.into_inner()
}

/// Radiotap header (radiotap.org): fields in the order of their bits, each aligned to its size.
///
/// Deviates: TSFT is the end of the frame, as Wireshark assumes by default, so that Wireshark shows correct durations,
/// starts and gaps.
fn radiotap(data: &mut Vec<u8>, seen: &Observation, sent: &SentFrame, annotation: &Annotation, log: &AirLog) {
    let is_sent = seen.kind == ObservationKind::Sent;
    let of_mode = log.high_throughput.filter(|_| !HT_BASIC_RATES_BPS.contains(&sent.rate_bps));
    if let Some((mode, mcs)) = of_mode.and_then(|(mode, _)| mode.mcs_of(sent.rate_bps).map(|mcs| (mode, mcs))) {
        mode_radiotap(data, seen, sent, annotation, log, (mode, mcs));
        return;
    }
    let length: u16 = if is_sent { 24 } else { 22 };
    data.extend([0, 0]);
    data.extend(length.to_le_bytes());
    data.extend((if is_sent { radiotap::SENT } else { radiotap::RECEIVED }).to_le_bytes());
    data.extend(((seen.at + sent.airtime_ns) / 1_000).to_le_bytes());
    let spoiled = if seen.kind == ObservationKind::Garbled { radiotap::BAD_FCS } else { 0 };
    data.extend([radiotap::FCS_AT_END | spoiled, (sent.rate_bps / radiotap::RATE_UNIT_BPS) as u8]);
    let (megahertz, flags) = channel(log);
    data.extend(megahertz.to_le_bytes());
    data.extend(flags.to_le_bytes());
    if is_sent {
        data.extend(tx_flags(seen, sent, annotation, log).to_le_bytes());
    }
}

fn channel(log: &AirLog) -> (u16, u16) {
    match log.phy {
        PhyKind::B => radiotap::CHANNEL_B,
        PhyKind::G | PhyKind::Bg => radiotap::CHANNEL_G,
        _ if log.high_throughput.is_some_and(|(_, settings)| settings.band == Band::Ghz2) => radiotap::CHANNEL_G,
        PhyKind::A | PhyKind::N | PhyKind::Ac | PhyKind::Ax => radiotap::CHANNEL_A,
    }
}

fn tx_flags(seen: &Observation, sent: &SentFrame, annotation: &Annotation, log: &AirLog) -> u16 {
    let mut flags = 0;
    if annotation.given_up {
        flags |= radiotap::TX_FAILED;
    }
    if matches!(sent.kind, Kind::Data | Kind::Aggregate) && follows_rts(seen.frame, log) {
        flags |= radiotap::TX_AFTER_RTS;
    }
    if sent.to.is_none() || matches!(sent.kind, Kind::Cts | Kind::Ack | Kind::BlockAck) {
        flags |= radiotap::TX_WITHOUT_ACK;
    }
    flags
}

/// The radiotap header of data of 802.11n, ac and ax: with the MCS field, the VHT field or the HE field instead of the
/// rate, and the A-MPDU status.
fn mode_radiotap(
    data: &mut Vec<u8>,
    seen: &Observation,
    sent: &SentFrame,
    annotation: &Annotation,
    log: &AirLog,
    (mode, mcs): (Mode, u8),
) {
    let is_sent = seen.kind == ObservationKind::Sent;
    let start = data.len();
    let mut present = radiotap::TSFT | radiotap::FLAGS | radiotap::CHANNEL;
    present |= match mode.format {
        Format::Ht => radiotap::MCS,
        Format::Vht => radiotap::VHT,
        Format::HeSu => radiotap::HE,
    };
    if is_sent {
        present |= radiotap::TX_FLAGS;
    }
    if sent.aggregate.is_some() {
        present |= radiotap::AMPDU_STATUS;
    }
    data.extend([0, 0, 0, 0]); // the length follows
    data.extend(present.to_le_bytes());
    data.extend(((seen.at + sent.airtime_ns) / 1_000).to_le_bytes());
    let spoiled = if seen.kind == ObservationKind::Garbled { radiotap::BAD_FCS } else { 0 };
    data.extend([radiotap::FCS_AT_END | spoiled, 0]); // and a byte of padding
    let (megahertz, flags) = channel(log);
    data.extend(megahertz.to_le_bytes());
    data.extend(flags.to_le_bytes());
    if is_sent {
        data.extend(tx_flags(seen, sent, annotation, log).to_le_bytes());
    }
    if mode.format == Format::Ht {
        data.extend(mcs_field(mode, mcs));
    }
    if let Some(place) = sent.aggregate {
        data.resize(start + (data.len() - start).next_multiple_of(4), 0);
        data.extend(place.reference.to_le_bytes());
        let last = if place.last { radiotap::AMPDU_IS_LAST } else { 0 };
        data.extend((radiotap::AMPDU_LAST_KNOWN | last).to_le_bytes());
        data.extend([0, 0]); // the delimiter's CRC is unknown
    }
    match mode.format {
        Format::Ht => {}
        Format::Vht => data.extend(vht_field(mode, mcs)),
        Format::HeSu => he_field(mode, mcs).into_iter().for_each(|part| data.extend(part.to_le_bytes())),
    }
    let length = (data.len() - start) as u16;
    data[start + 2..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn mcs_field(mode: Mode, mcs: u8) -> [u8; 3] {
    let width = if mode.width == Width::Mhz40 { radiotap::MCS_40_MHZ } else { 0 };
    let guard_interval = if mode.guard_interval == GuardInterval::Short { radiotap::MCS_SHORT_GI } else { 0 };
    [radiotap::MCS_KNOWN, width | guard_interval, mcs + 8 * (mode.streams - 1)]
}

fn vht_field(mode: Mode, mcs: u8) -> [u8; 12] {
    let [low, high] = radiotap::VHT_KNOWN.to_le_bytes();
    let guard_interval = if mode.guard_interval == GuardInterval::Short { radiotap::VHT_SHORT_GI } else { 0 };
    let width = match mode.width {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 4,
    };
    // The first of four users has MCS and streams. Convolutional coding, group and partial AID are zero.
    [low, high, guard_interval, width, mcs << 4 | mode.streams, 0, 0, 0, 0, 0, 0, 0]
}

fn he_field(mode: Mode, mcs: u8) -> [u16; 6] {
    let (guard_interval, field_size) = match mode.guard_interval {
        GuardInterval::Long | GuardInterval::Short => (0, 2),
        GuardInterval::Double => (1, 2),
        GuardInterval::Quadruple => (2, 3),
    };
    // 0: one training field, 1: two, 2: four
    let fields = match mode.streams {
        1 => 0,
        2 => 1,
        _ => 2,
    };
    let width = mode.width as u16;
    [
        radiotap::HE_DATA_1,
        radiotap::HE_DATA_2,
        u16::from(mcs) << radiotap::HE_MCS_SHIFT | radiotap::HE_LDPC,
        0,
        width
            | guard_interval << radiotap::HE_GI_SHIFT
            | field_size << radiotap::HE_LTF_SIZE_SHIFT
            | fields << radiotap::HE_LTF_COUNT_SHIFT,
        u16::from(mode.streams),
    ]
}

/// Whether the transmitter's frame before this one was the RTS for it.
fn follows_rts(place: usize, log: &AirLog) -> bool {
    let sent = &log.frames[place];
    let before = log.frames[..place].iter().rev().find(|frame| frame.station == sent.station);
    let before = match sent.aggregate {
        // The MPDUs of one aggregate are frames of the same time.
        Some(_) => log.frames[..place].iter().rev().find(|frame| frame.station == sent.station && frame.at < sent.at),
        None => before,
    };
    before.is_some_and(|frame| frame.kind == Kind::Rts && (frame.number == sent.number || sent.aggregate.is_some()))
}

/// Joins pcap files of nanoseconds, each with its interface's name, to one pcapng file: an interface per host; packets
/// of the same time in the order of interfaces.
///
/// A record that was cut off at a file's end is left out. The error is one line.
pub fn join(captures: &[(&str, &[u8])]) -> Result<Vec<u8>, String> {
    let (mut interfaces, mut records) = (Vec::new(), Vec::new());
    for (number, (name, content)) in (0..).zip(captures) {
        let Some(file) = Pcap::read(content) else {
            return Err(format!("{name}: must be a pcap file with nanosecond timestamps"));
        };
        let (link_type, snap_bytes) = (file.link_type, file.snap_bytes);
        interfaces.push(Interface { link_type, snap_bytes, name, ..Interface::default() });
        records.extend(file.map(|record| (number, record)));
    }
    records.sort_by_key(|(interface, record)| (record.at_ns, *interface));
    write(&interfaces, &records).map_err(|error| format!("writing a capture file: {error}"))
}

/// Each record with the number of its interface.
fn write(interfaces: &[Interface<'_>], records: &[(u32, Record<'_>)]) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::new(), "")?;
    for interface in interfaces {
        writer.interface(interface)?;
    }
    for &(interface, Record { at_ns, length, data }) in records {
        writer.packet(&Packet { interface, at_ns, length, data, ..Packet::default() })?;
    }
    Ok(writer.into_inner())
}

#[cfg(test)]
mod tests {
    use pacelab_engine::{InAggregate, MpduSet, PacketId, StationId};

    use super::*;

    /// Nanoseconds, little endian, version 2.4, 8 bytes kept of each packet, Ethernet.
    const HEADER: [u8; 24] = [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0];

    /// A record at the given seconds and nanoseconds (below 256), with `length` bytes on the air.
    fn record(seconds: u8, ns: u8, length: u8, kept: &[u8]) -> Vec<u8> {
        let numbers = [seconds, ns, kept.len() as u8, length].map(|number| [number, 0, 0, 0]);
        [&numbers.concat(), kept].concat()
    }

    fn file(records: &[Vec<u8>]) -> Vec<u8> {
        [&HEADER[..], &records.concat()].concat()
    }

    /// Each begins with its kind and length, 4 bytes each.
    fn blocks(mut file: &[u8]) -> Vec<&[u8]> {
        let mut found = Vec::new();
        while !file.is_empty() {
            let (block, rest) = file.split_at(file[4].into());
            found.push(block);
            file = rest;
        }
        found
    }

    #[test]
    fn packets_are_in_the_order_of_time_then_of_interfaces_then_as_they_were() {
        let first = file(&[record(2, 5, 3, &[0xaa, 0xbb, 0xcc]), record(9, 0, 1, &[1])]);
        let second = file(&[record(1, 0, 90, &[1, 2, 3, 4]), record(9, 0, 1, &[2]), record(9, 0, 1, &[3])]);
        let joined = join(&[("n0", &first), ("n1", &second)]).unwrap();
        let [section, n0, n1, early, late, same @ ..] = &blocks(&joined)[..] else { panic!("too few blocks") };
        let unknown_length = [0xff; 8];
        let start = [0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
        assert_eq!(*section, [&start[..], &unknown_length, &[28, 0, 0, 0]].concat());
        let ethernet = [1, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0];
        for (block, digit) in [(n0, b'0'), (n1, b'1')] {
            let name = [2, 0, 2, 0, b'n', digit, 0, 0];
            let ends = [9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0];
            assert_eq!(**block, [&ethernet[..], &name, &ends].concat());
        }
        let packet = |content: &[u8]| [&[6, 0, 0, 0, 36, 0, 0, 0], content, &[36, 0, 0, 0]].concat();
        let expected = [1, 0, 0, 0, 0, 0, 0, 0, 0x00, 0xca, 0x9a, 0x3b, 4, 0, 0, 0, 90, 0, 0, 0, 1, 2, 3, 4];
        assert_eq!(*early, packet(&expected));
        let expected = [0, 0, 0, 0, 0, 0, 0, 0, 0x05, 0x94, 0x35, 0x77, 3, 0, 0, 0, 3, 0, 0, 0, 0xaa, 0xbb, 0xcc, 0];
        assert_eq!(*late, packet(&expected));
        let same: Vec<_> = same.iter().map(|block| (block[8], block[28])).collect();
        assert_eq!(same, [(0, 1), (1, 2), (1, 3)], "interface and content");
    }

    #[test]
    fn a_file_that_is_none_of_nanoseconds_is_named() {
        let micro = [&[0xd4, 0xc3, 0xb2, 0xa1], &HEADER[4..]].concat();
        for content in [&b""[..], &HEADER[..23], &[0; 64], &micro] {
            assert_eq!(
                join(&[("n0", &HEADER), ("n1", content)]),
                Err("n1: must be a pcap file with nanosecond timestamps".to_owned())
            );
        }
    }

    #[test]
    fn whatever_the_bytes_are_there_is_a_file_or_an_error() {
        let good = file(&[record(1, 0, 4, &[1, 2, 3, 4]), record(2, 0, 4, &[5, 6, 7, 8])]);
        let whole = join(&[("n0", &good)]).unwrap();
        for end in HEADER.len()..good.len() {
            let packets = (end - HEADER.len()) / 20;
            assert_eq!(join(&[("n0", &good[..end])]).unwrap(), whole[..whole.len() - (2 - packets) * 36]);
        }
        for place in 0..good.len() {
            for value in [0x00, 0x7f, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[place] = value;
                assert_eq!(
                    join(&[("n0", &bad)]).is_ok(),
                    place >= 4,
                    "byte {place}: only the first four say what it is"
                );
            }
        }
    }

    #[test]
    fn data_of_80211n_has_its_mcs_and_its_place_in_the_aggregate() {
        let sent = SentFrame {
            at: 0,
            station: StationId(0),
            to: Some(StationId(1)),
            kind: Kind::Aggregate,
            airtime_ns: 608_000,
            duration_ns: 48_000,
            rate_bps: 65_000_000,
            packet: PacketId(0),
            number: 5,
            aggregate: Some(InAggregate { reference: 0x0102, last: true }),
            bitmap: MpduSet::default(),
        };
        let settings = HighThroughput::default();
        let log = AirLog {
            phy: PhyKind::N,
            high_throughput: Some((settings.mode(Format::Ht), settings)),
            ..AirLog::default()
        };
        let seen = Observation {
            at: 0,
            station: StationId(1),
            frame: 0,
            kind: ObservationKind::Decoded,
            comment: String::new(),
        };
        let mut found = Vec::new();
        radiotap(&mut found, &seen, &sent, &Annotation::default(), &log);
        // TSFT, flags, channel, MCS and A-MPDU status, each aligned to its size
        let expected: [&[u8]; 8] = [
            &[0, 0, 36, 0],
            &[0x0b, 0, 0x18, 0],
            &608_u64.to_le_bytes(),
            &[0x10, 0],
            &[0x3c, 0x14, 0x40, 0x01],
            &[0x0f, 0, 7, 0, 0, 0],
            &[0x02, 0x01, 0, 0],
            &[0x0c, 0, 0, 0],
        ];
        assert_eq!(found, expected.concat());
        let ack = SentFrame { kind: Kind::BlockAck, rate_bps: 24_000_000, aggregate: None, ..sent };
        let mut found = Vec::new();
        radiotap(&mut found, &seen, &ack, &Annotation::default(), &log);
        assert_eq!((found.len(), found[17]), (22, 48), "a Block Ack has a rate, in units of 500 kbit/s");
    }
    #[test]
    fn data_of_vht_and_he_have_the_bytes_of_the_radiotap_standard() {
        let seen = Observation {
            at: 0,
            station: StationId(1),
            frame: 0,
            kind: ObservationKind::Decoded,
            comment: String::new(),
        };
        let header = |phy: PhyKind, settings: HighThroughput, mcs: u8| {
            let mode = settings.mode(phy.format().unwrap());
            let sent = SentFrame {
                at: 0,
                station: StationId(0),
                to: Some(StationId(1)),
                kind: Kind::Aggregate,
                airtime_ns: 608_000,
                duration_ns: 48_000,
                rate_bps: mode.rate_bps(mcs).unwrap(),
                packet: PacketId(0),
                number: 5,
                aggregate: Some(InAggregate { reference: 1, last: false }),
                bitmap: MpduSet::default(),
            };
            let log = AirLog { phy, high_throughput: Some((mode, settings)), ..AirLog::default() };
            let mut found = Vec::new();
            radiotap(&mut found, &seen, &sent, &Annotation::default(), &log);
            found
        };
        let settings = |mhz: u32, streams: u8, guard_interval: GuardInterval| HighThroughput {
            width: Width::try_from(mhz).unwrap(),
            streams,
            guard_interval,
            ..HighThroughput::default()
        };
        // Present: TSFT, flags, channel, A-MPDU status (bit 20), VHT (bit 21). Known: STBC, guard interval, bandwidth.
        let found = header(PhyKind::Ac, settings(80, 2, GuardInterval::Short), 9);
        assert_eq!(found[..8], [0, 0, 44, 0, 0x0b, 0, 0x30, 0]);
        assert_eq!(found[24..], [1, 0, 0, 0, 4, 0, 0, 0, 0x45, 0, 0x04, 4, 0x92, 0, 0, 0, 0, 0, 0, 0]);
        // HE is bit 23. 80 MHz is 2, 3.2 us is 2, a fourfold field is 3, four fields are 2: 0x0002 | 0x0020 | 0x00c0 | 0x0200
        let found = header(PhyKind::Ax, settings(80, 4, GuardInterval::Quadruple), 11);
        assert_eq!(found[..8], [0, 0, 44, 0, 0x0b, 0, 0x90, 0]);
        assert_eq!(found[32..], [0xe0, 0x42, 0x06, 0, 0, 0x2b, 0, 0, 0xe2, 0x02, 4, 0]);
        // HT: 40 MHz, short guard interval, index 8 * 3 + 7
        let found = header(PhyKind::N, settings(40, 4, GuardInterval::Short), 7);
        assert_eq!(found[22..25], [0x0f, 0x05, 31]);
        // 2.4 GHz is channel 1 with OFDM.
        let found = header(PhyKind::Ax, HighThroughput { band: Band::Ghz2, ..settings(20, 1, GuardInterval::Long) }, 0);
        assert_eq!(found[18..22], [0x6c, 0x09, 0xc0, 0]);
    }
}
