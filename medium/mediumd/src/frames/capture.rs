//! A capture of the air between radios: pcapng with one interface per station, 802.11 with radiotap.
//!
//! ```text
//!   tracer: frames, records  --->  sent, read    who sent and who decoded or lost which frame
//!                                  flush         packets of the file, by time
//! ```
//!
//! Stations are evaluated lazily, so a reception may be recorded after later frames. Packets are therefore written
//! some time after they happened.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use pacelab_air_config::{Format, GuardInterval, Mode, Width};
use pacelab_engine::{InAggregate, Kind, Mcs, Ns, SentFrame, StationId, TraceEvent, TraceRecord};
use pacelab_pcapng::{CRC_ERROR, INBOUND, Interface, OUTBOUND, Packet, Writer, link_type};

use crate::config::Mac;

/// Longer than any frame lasts: packets that began before that are complete.
const SETTLED_NS: Ns = 50_000_000;
/// Frames are kept this long for receptions that are recorded late.
const KEPT_NS: Ns = 1_000_000_000;
/// The retry bit. Source: IEEE 802.11-2020 Sec. 9.2.4.1.
const RETRY: u8 = 0x08;
/// First octets of control frames. Source: IEEE 802.11-2020 Table 9-1.
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;
const BLOCK_ACK_REQUEST: u8 = 0x84;
const BLOCK_ACK: u8 = 0x94;
/// BA Control and BAR Control: a compressed bitmap. Source: IEEE 802.11-2020 Fig. 9-40.
const COMPRESSED: u16 = 1 << 2;
/// MPDUs that a compressed bitmap covers.
const BITMAP: u16 = 64;

/// Radiotap (radiotap.org): TSFT, flags, rate, channel.
const RADIOTAP_PRESENT: u32 = 0b1111;
const RADIOTAP_BYTES: u16 = 22;
/// Radiotap of frames with an MCS: TSFT, flags, channel; then MCS, A-MPDU status or VHT.
const PRESENT_WITH_MCS: u32 = 0b1011;
const HT_PRESENT: u32 = 1 << 19;
const AMPDU_PRESENT: u32 = 1 << 20;
const VHT_PRESENT: u32 = 1 << 21;
/// Bandwidth, MCS, guard interval and format are known; and their flags.
const HT_KNOWN: u8 = 0b1111;
const HT_40_MHZ: u8 = 1;
const HT_SHORT_GUARD: u8 = 1 << 2;
/// Guard interval and bandwidth are known; and the flag of the former.
const VHT_KNOWN: u16 = 1 << 2 | 1 << 6;
const VHT_SHORT_GUARD: u8 = 1 << 2;
const AMPDU_LAST_KNOWN: u16 = 1 << 2;
const AMPDU_IS_LAST: u16 = 1 << 3;
/// Bytes of a CTS or ACK, which name no sender.
const BARE_BYTES: usize = 14;
const FCS_AT_END: u8 = 0x10;
const BAD_FCS: u8 = 0x40;
const CHANNEL_CCK: u16 = 0x00a0;
const CHANNEL_OFDM: u16 = 0x00c0;
const CHANNEL_5_GHZ: u16 = 0x0140;
const RATE_UNIT_BPS: u32 = 500_000;
const CCK_BPS: [u32; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];

/// A frame on the air.
#[derive(Debug)]
struct Sent {
    frame: SentFrame,
    /// Includes the frame check sequence.
    bytes: Arc<[u8]>,
    frequency_mhz: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Sent,
    Decoded,
    Garbled,
}

/// One station's view of one frame.
#[derive(Debug)]
struct Observation {
    /// When its first bit was sent or arrived.
    at: Ns,
    seen: Seen,
    station: StationId,
    airtime_ns: Ns,
    rate_bps: u32,
    aggregate: Option<InAggregate>,
    frequency_mhz: u32,
    bytes: Arc<[u8]>,
    comment: String,
}

/// The capture file.
pub struct Capture {
    writer: Writer<Box<dyn Write + Send>>,
    /// Clock time of the start of the air, since 1970.
    epoch: Duration,
    interfaces: BTreeMap<StationId, u32>,
    channels: BTreeMap<StationId, u32>,
    sent: VecDeque<Sent>,
    /// Stations whose frames overlap the one that a station receives.
    overlaps: BTreeMap<StationId, Vec<StationId>>,
    pending: Vec<Observation>,
    flushed_at: Ns,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Capture").field("interfaces", &self.interfaces).finish_non_exhaustive()
    }
}

impl Capture {
    /// A capture that begins at `epoch` of the clock.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: Box<dyn Write + Send>, epoch: Duration) -> io::Result<Self> {
        Ok(Capture {
            writer: Writer::new(file, "PaceLab")?,
            epoch,
            interfaces: BTreeMap::new(),
            channels: BTreeMap::new(),
            sent: VecDeque::new(),
            overlaps: BTreeMap::new(),
            pending: Vec::new(),
            flushed_at: 0,
        })
    }

    /// Notes the channel that a station sends on.
    pub fn set_channel(&mut self, station: StationId, frequency_mhz: u32) {
        self.channels.insert(station, frequency_mhz);
    }

    /// Notes a frame that began. `data` is the kernel's frame that it carries or announces; `address` is that of the
    /// station which an answer is for.
    pub fn sent(&mut self, frame: SentFrame, data: &[u8], address: Option<Mac>) {
        let is_data = |frame: &SentFrame| matches!(frame.kind, Kind::Data | Kind::Aggregate);
        let same = |sent: &&Sent| {
            let it = sent.frame;
            (it.station, it.to, it.number, it.packet) == (frame.station, frame.to, frame.number, frame.packet)
                && is_data(&it)
        };
        let retry = is_data(&frame) && self.sent.iter().rev().any(|sent| same(&sent));
        let asked = || self.sent.iter().rev().find(|sent| Some(sent.frame.station) == frame.to);
        let asking = asked().and_then(|sent| sent.bytes.get(10..16).map(<[u8]>::to_vec));
        let answered = asking.or(address.map(|address| address.0.to_vec())).unwrap_or_default();
        let mut bytes = match frame.kind {
            Kind::Data | Kind::Aggregate => data.to_vec(),
            Kind::Rts => [&[RTS, 0, 0, 0], data.get(4..16).unwrap_or_default()].concat(),
            Kind::Cts => [&[CTS, 0, 0, 0], &answered[..]].concat(),
            Kind::Ack => [&[ACK, 0, 0, 0], &answered[..]].concat(),
            Kind::BlockAckRequest => self.block_ack_request(&frame, &answered),
            Kind::BlockAck => self.block_ack(&frame, &answered),
        };
        if let Some([_, flags, low, high]) = bytes.first_chunk_mut() {
            *flags |= if retry { RETRY } else { 0 };
            [*low, *high] = (frame.duration_ns.div_ceil(1_000).min(0x7fff) as u16).to_le_bytes();
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        let frequency_mhz = self.channels.get(&frame.station).copied().unwrap_or(0);
        let sent = Sent { frame, bytes: bytes.into(), frequency_mhz };
        self.pending.push(observe(&sent, frame.at, Seen::Sent, frame.station));
        self.sent.push_back(sent);
    }

    /// The kernel's sequence number of the MPDU that the engine calls `number`.
    fn sequence(&self, from: StationId, to: StationId, number: u32) -> Option<u16> {
        let is_it = |sent: &&Sent| {
            (sent.frame.station, sent.frame.to, sent.frame.number) == (from, Some(to), number)
                && matches!(sent.frame.kind, Kind::Data | Kind::Aggregate)
        };
        let sent = self.sent.iter().rev().find(is_it)?;
        Some(u16::from_le_bytes([*sent.bytes.get(22)?, *sent.bytes.get(23)?]) >> 4)
    }

    fn block_ack_request(&self, frame: &SentFrame, receiver: &[u8]) -> Vec<u8> {
        let sequence = frame.to.and_then(|to| self.sequence(frame.station, to, frame.number)).unwrap_or(0);
        let sender = self.address_of(frame.station);
        let fields = [COMPRESSED.to_le_bytes(), (sequence << 4).to_le_bytes()].concat();
        [&[BLOCK_ACK_REQUEST, 0, 0, 0], receiver, &sender, &fields].concat()
    }

    /// The bits stand for the kernel's sequence numbers, which have gaps where the engine's numbers have none.
    fn block_ack(&self, frame: &SentFrame, receiver: &[u8]) -> Vec<u8> {
        let from = frame.to.unwrap_or(frame.station);
        let sequence = |number| self.sequence(from, frame.station, number);
        let start = sequence(frame.number).unwrap_or(0);
        let received = (0..u32::from(BITMAP)).filter(|&place| frame.bitmap.contains(place));
        let offsets = received.filter_map(|place| Some(sequence(frame.number + place)?.wrapping_sub(start) & 0xfff));
        let bitmap = offsets.filter(|&offset| offset < BITMAP).fold(0_u64, |bits, offset| bits | 1 << offset);
        let fields = [&COMPRESSED.to_le_bytes()[..], &(start << 4).to_le_bytes(), &bitmap.to_le_bytes()].concat();
        [&[BLOCK_ACK, 0, 0, 0], receiver, &self.address_of(frame.station), &fields].concat()
    }

    /// The address that a station's last data frame has, or zeros.
    fn address_of(&self, station: StationId) -> [u8; 6] {
        let sent = self.sent.iter().rev().find(|sent| sent.frame.station == station && sent.bytes.len() > BARE_BYTES);
        let address = sent.and_then(|sent| sent.bytes.get(10..16)).and_then(|bytes| bytes.try_into().ok());
        address.unwrap_or_default()
    }

    /// Reads the trace records of all stations, in order of time.
    pub fn read(&mut self, records: &[TraceRecord], name: impl Fn(StationId) -> String) {
        for record in records {
            let overlaps = self.overlaps.entry(record.station).or_default();
            match (record.what, record.peer) {
                (TraceEvent::Lock, _) => overlaps.clear(),
                (TraceEvent::Collide, Some(peer)) => overlaps.push(peer),
                (TraceEvent::Decode, Some(peer)) => {
                    overlaps.clear();
                    self.received(record, peer, Seen::Decoded, String::new());
                }
                (TraceEvent::Garbled, Some(peer)) => {
                    let mut others = std::mem::take(overlaps);
                    others.dedup();
                    let names = others.iter().map(|&other| name(other)).collect::<Vec<_>>().join(" and ");
                    let why = if names.is_empty() { "noise".into() } else { format!("collided with {names}") };
                    self.received(record, peer, Seen::Garbled, why);
                }
                _ => {}
            }
        }
    }

    fn received(&mut self, record: &TraceRecord, peer: StationId, seen: Seen, comment: String) {
        let over = |sent: &&Sent| sent.frame.station == peer && sent.frame.at + sent.frame.airtime_ns <= record.at;
        let Some(sent) = self.sent.iter().rev().find(over) else { return };
        let at = record.at - sent.frame.airtime_ns;
        if sent.frame.aggregate.is_none() {
            self.pending.push(Observation { comment, ..observe(sent, at, seen, record.station) });
            return;
        }
        // Each MPDU of an aggregate is a frame of its own, in order; the record has a bit for each that was decoded.
        let began = sent.frame.at;
        let mpdus = self.sent.iter().filter(|sent| (sent.frame.station, sent.frame.at) == (peer, began));
        let observations = mpdus.enumerate().map(|(place, mpdu)| {
            let decoded = seen == Seen::Decoded && record.value >> place & 1 == 1;
            let lost = if comment.is_empty() { "noise or collision" } else { &comment };
            let seen = if decoded { Seen::Decoded } else { Seen::Garbled };
            let comment = if decoded { String::new() } else { lost.to_owned() };
            Observation { comment, ..observe(mpdu, at, seen, record.station) }
        });
        self.pending.extend(observations);
    }

    /// Whether `flush` is due at `now`.
    pub fn is_due(&self, now: Ns) -> bool {
        now >= self.flushed_at + 2 * SETTLED_NS
    }

    /// Writes the packets that are complete at `now`; all of them if the capture `ends`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush(&mut self, now: Ns, ends: bool, name: impl Fn(StationId) -> String) -> io::Result<()> {
        self.flushed_at = now;
        let settled = now.saturating_sub(SETTLED_NS);
        self.pending.sort_by_key(|seen| (seen.at, seen.seen, seen.station));
        let complete = if ends { self.pending.len() } else { self.pending.partition_point(|seen| seen.at <= settled) };
        for seen in self.pending.drain(..complete).collect::<Vec<_>>() {
            self.write(&seen, &name)?;
        }
        while self.sent.front().is_some_and(|sent| sent.frame.at + KEPT_NS < now) {
            self.sent.pop_front();
        }
        self.writer.flush()
    }

    fn write(&mut self, seen: &Observation, name: impl Fn(StationId) -> String) -> io::Result<()> {
        let interface = self.interface(seen.station, name)?;
        let mut data = radiotap(seen);
        data.extend(&*seen.bytes);
        let flags = match seen.seen {
            Seen::Sent => OUTBOUND,
            Seen::Decoded => INBOUND,
            Seen::Garbled => INBOUND | CRC_ERROR,
        };
        self.writer.packet(&Packet {
            interface,
            at_ns: self.epoch.as_nanos() as u64 + seen.at,
            length: data.len() as u32,
            data: &data,
            flags,
            comment: &seen.comment,
        })
    }

    /// The number of a station's interface, which is described before its first packet.
    fn interface(&mut self, station: StationId, name: impl Fn(StationId) -> String) -> io::Result<u32> {
        if let Some(&number) = self.interfaces.get(&station) {
            return Ok(number);
        }
        let (link_type, name) = (link_type::IEEE802_11_RADIOTAP, &name(station));
        self.writer.interface(&Interface { link_type, name, ..Interface::default() })?;
        let number = self.interfaces.len() as u32;
        self.interfaces.insert(station, number);
        Ok(number)
    }
}

fn observe(sent: &Sent, at: Ns, seen: Seen, station: StationId) -> Observation {
    Observation {
        at,
        seen,
        station,
        airtime_ns: sent.frame.airtime_ns,
        rate_bps: sent.frame.rate_bps,
        aggregate: sent.frame.aggregate,
        frequency_mhz: sent.frequency_mhz,
        bytes: sent.bytes.clone(),
        comment: String::new(),
    }
}

/// TSFT is the end of the frame, as Wireshark assumes by default.
fn radiotap(seen: &Observation) -> Vec<u8> {
    if let Some(mcs) = Mcs::from_code(seen.rate_bps) {
        return radiotap_with_mcs(seen, mcs);
    }
    let mut header = vec![0, 0];
    header.extend(RADIOTAP_BYTES.to_le_bytes());
    header.extend(RADIOTAP_PRESENT.to_le_bytes());
    header.extend(((seen.at + seen.airtime_ns) / 1_000).to_le_bytes());
    let spoiled = if seen.seen == Seen::Garbled { BAD_FCS } else { 0 };
    header.extend([FCS_AT_END | spoiled, (seen.rate_bps / RATE_UNIT_BPS).min(255) as u8]);
    let flags = match seen {
        Observation { frequency_mhz: 4_000.., .. } => CHANNEL_5_GHZ,
        Observation { rate_bps, .. } if CCK_BPS.contains(rate_bps) => CHANNEL_CCK,
        _ => CHANNEL_OFDM,
    };
    header.extend((seen.frequency_mhz as u16).to_le_bytes());
    header.extend(flags.to_le_bytes());
    header
}

fn radiotap_with_mcs(seen: &Observation, mcs: Mcs) -> Vec<u8> {
    let Mode { format, width, streams, guard_interval } = mcs.mode();
    let is_ht = format == Format::Ht;
    let is_short = guard_interval == GuardInterval::Short;
    let mut present = PRESENT_WITH_MCS | if is_ht { HT_PRESENT } else { VHT_PRESENT };
    present |= if seen.aggregate.is_some() { AMPDU_PRESENT } else { 0 };
    let mut header = vec![0, 0, 0, 0]; // the length follows
    header.extend(present.to_le_bytes());
    header.extend(((seen.at + seen.airtime_ns) / 1_000).to_le_bytes());
    let spoiled = if seen.seen == Seen::Garbled { BAD_FCS } else { 0 };
    header.extend([FCS_AT_END | spoiled, 0]); // and a byte of padding
    header.extend((seen.frequency_mhz as u16).to_le_bytes());
    header.extend(if seen.frequency_mhz >= 4_000 { CHANNEL_5_GHZ } else { CHANNEL_OFDM }.to_le_bytes());
    if is_ht {
        let wide = if width == Width::Mhz40 { HT_40_MHZ } else { 0 };
        let short = if is_short { HT_SHORT_GUARD } else { 0 };
        header.extend([HT_KNOWN, wide | short, 8 * (streams - 1) + mcs.index()]);
    }
    if let Some(place) = seen.aggregate {
        header.resize(header.len().next_multiple_of(4), 0);
        header.extend(place.reference.to_le_bytes());
        header.extend((AMPDU_LAST_KNOWN | if place.last { AMPDU_IS_LAST } else { 0 }).to_le_bytes());
        header.extend([0, 0]); // the delimiter's CRC is unknown
    }
    if !is_ht {
        // Radiotap's numbers of bandwidths
        let width = match width {
            Width::Mhz20 => 0,
            Width::Mhz40 => 1,
            Width::Mhz80 => 4,
        };
        header.extend(VHT_KNOWN.to_le_bytes());
        let short = if is_short { VHT_SHORT_GUARD } else { 0 };
        header.extend([short, width, mcs.index() << 4 | streams, 0, 0, 0, 0, 0, 0, 0]);
    }
    let length = (header.len() as u16).to_le_bytes();
    header[2..4].copy_from_slice(&length);
    header
}

#[cfg(test)]
pub mod tests {
    use std::sync::Mutex;

    use super::*;
    use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
    use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
    use pcap_file::pcapng::{Block, PcapNgReader};

    /// A file in memory.
    #[derive(Clone, Default)]
    pub struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("one thread").write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A packet of a capture: interface, first octet of the frame and retry bit, direction, comment.
    pub type Packet = (String, u8, bool, u32, String);

    impl Memory {
        /// The packets of the file.
        pub fn packets(&self) -> Vec<Packet> {
            let bytes = self.0.lock().expect("one thread").clone();
            let mut reader = PcapNgReader::new(&bytes[..]).expect("a capture");
            let (mut names, mut packets, mut last) = (Vec::new(), Vec::new(), Duration::ZERO);
            while let Some(block) = reader.next_block() {
                match block.expect("a block").into_owned() {
                    Block::InterfaceDescription(interface) => {
                        names.extend(interface.options.iter().find_map(|option| match option {
                            InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                            _ => None,
                        }));
                    }
                    Block::EnhancedPacket(packet) => {
                        assert!(packet.timestamp >= last, "by time");
                        last = packet.timestamp;
                        let (mut direction, mut comment) = (0, String::new());
                        for option in &packet.options {
                            match option {
                                EnhancedPacketOption::Flags(flags) => direction = *flags,
                                EnhancedPacketOption::Comment(text) => comment = text.to_string(),
                                _ => {}
                            }
                        }
                        let header_bytes = u16::from_le_bytes([packet.data[2], packet.data[3]]);
                        let frame = &packet.data[usize::from(header_bytes)..];
                        let (content, check) = frame.split_at(frame.len() - 4);
                        assert_eq!(check, crc32fast::hash(content).to_le_bytes());
                        let name = names[packet.interface_id as usize].clone();
                        packets.push((name, frame[0], frame[1] & RETRY != 0, direction, comment));
                    }
                    _ => {}
                }
            }
            packets
        }
    }
}
