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
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use pacelab_engine::{Kind, Ns, SentFrame, StationId, TraceEvent, TraceRecord};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError, PcapResult};

use crate::config::Mac;

/// Longer than any frame lasts: packets that began before that are complete.
const SETTLED_NS: Ns = 50_000_000;
/// Frames are kept this long for receptions that are recorded late.
const KEPT_NS: Ns = 1_000_000_000;
const TIMES_IN_NS: u8 = 9;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
const CRC_ERROR: u32 = 1 << 24;
/// The retry bit. Source: IEEE 802.11-2020 Sec. 9.2.4.1.
const RETRY: u8 = 0x08;
/// First octets of control frames. Source: IEEE 802.11-2020 Table 9-1.
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;

/// Radiotap (radiotap.org): TSFT, flags, rate, channel.
const RADIOTAP_PRESENT: u32 = 0b1111;
const RADIOTAP_BYTES: u16 = 22;
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
    frequency_mhz: u32,
    bytes: Arc<[u8]>,
    comment: String,
}

/// The capture file.
pub struct Capture {
    writer: PcapNgWriter<Box<dyn Write + Send>>,
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
    pub fn new(file: Box<dyn Write + Send>, epoch: Duration) -> PcapResult<Self> {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication("PaceLab".into())],
            ..SectionHeaderBlock::default()
        };
        Ok(Capture {
            writer: PcapNgWriter::with_section_header(file, section)?,
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
        let same = |sent: &&Sent| {
            (sent.frame.station, sent.frame.number, sent.frame.kind) == (frame.station, frame.number, Kind::Data)
        };
        let retry = frame.kind == Kind::Data && self.sent.iter().rev().any(|sent| same(&sent));
        let asked = || self.sent.iter().rev().find(|sent| Some(sent.frame.station) == frame.to);
        let asking = asked().and_then(|sent| sent.bytes.get(10..16).map(<[u8]>::to_vec));
        let answered = asking.or(address.map(|address| address.0.to_vec())).unwrap_or_default();
        let mut bytes = match frame.kind {
            Kind::Data => data.to_vec(),
            Kind::Rts => [&[RTS, 0, 0, 0], data.get(4..16).unwrap_or_default()].concat(),
            Kind::Cts => [&[CTS, 0, 0, 0], &answered[..]].concat(),
            Kind::Ack => [&[ACK, 0, 0, 0], &answered[..]].concat(),
            Kind::Aggregate | Kind::BlockAckRequest | Kind::BlockAck => return, // the hosts' frames are not aggregated
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
        let observation = observe(sent, record.at - sent.frame.airtime_ns, seen, record.station);
        self.pending.push(Observation { comment, ..observation });
    }

    /// Whether `flush` is due at `now`.
    pub fn is_due(&self, now: Ns) -> bool {
        now >= self.flushed_at + 2 * SETTLED_NS
    }

    /// Writes the packets that are complete at `now`; all of them if the capture `ends`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush(&mut self, now: Ns, ends: bool, name: impl Fn(StationId) -> String) -> PcapResult<()> {
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
        self.writer.get_mut().flush().map_err(PcapError::IoError)?;
        Ok(())
    }

    fn write(&mut self, seen: &Observation, name: impl Fn(StationId) -> String) -> PcapResult<()> {
        let interface_id = self.interface(seen.station, name)?;
        let mut data = radiotap(seen);
        data.extend(&*seen.bytes);
        let direction = match seen.seen {
            Seen::Sent => OUTBOUND,
            Seen::Decoded => INBOUND,
            Seen::Garbled => INBOUND | CRC_ERROR,
        };
        let mut options = vec![EnhancedPacketOption::Flags(direction)];
        if !seen.comment.is_empty() {
            options.push(EnhancedPacketOption::Comment(seen.comment.as_str().into()));
        }
        let timestamp = self.epoch + Duration::from_nanos(seen.at);
        let original_len = data.len() as u32;
        let block = EnhancedPacketBlock { interface_id, timestamp, original_len, data: data.into(), options };
        self.writer.write_pcapng_block(block).map(|_| ())
    }

    /// The number of a station's interface, which is described before its first packet.
    fn interface(&mut self, station: StationId, name: impl Fn(StationId) -> String) -> PcapResult<u32> {
        if let Some(&number) = self.interfaces.get(&station) {
            return Ok(number);
        }
        let options = vec![
            InterfaceDescriptionOption::IfName(name(station).into()),
            InterfaceDescriptionOption::IfTsResol(TIMES_IN_NS),
        ];
        let linktype = DataLink::IEEE802_11_RADIOTAP;
        self.writer.write_pcapng_block(InterfaceDescriptionBlock { linktype, snaplen: 0, options })?;
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
        frequency_mhz: sent.frequency_mhz,
        bytes: sent.bytes.clone(),
        comment: String::new(),
    }
}

/// TSFT is the end of the frame, as Wireshark assumes by default.
fn radiotap(seen: &Observation) -> Vec<u8> {
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

#[cfg(test)]
pub mod tests {
    use std::io;
    use std::sync::Mutex;

    use super::*;
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
                        let frame = &packet.data[usize::from(RADIOTAP_BYTES)..];
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
