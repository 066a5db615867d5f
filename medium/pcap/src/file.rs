//! The pcapng file: blocks, radiotap headers, options.

use std::borrow::Cow;
use std::time::Duration;

use pacelab_air_config::{Capture, PhyKind};
use pacelab_engine::{Kind, Sent};
use pacelab_network::airlog::AirLog;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};

use crate::address::{ip, mac};
use crate::frame::{Content, append};
use crate::story::{Fate, How, Seen, tell};

pub(crate) const TIMES_IN_NS: u8 = 9;
const WHOLE_FRAMES: u32 = 262_144;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
const CRC_ERROR: u32 = 1 << 24;

mod radiotap {
    /// Present: TSFT, flags, rate, channel.
    pub const RECEIVED: u32 = 0b1111;
    /// And TX flags.
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
}

/// The capture file of a run.
pub fn pcapng(log: &AirLog, options: Capture) -> Vec<u8> {
    let story = tell(log, options.garbled);
    let snap_bytes = if options.snap_bytes == 0 { WHOLE_FRAMES } else { options.snap_bytes };
    let section = SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![SectionHeaderOption::UserApplication("PaceLab".into())],
        ..SectionHeaderBlock::default()
    };
    // A Vec takes all that is written to it: the results need no looking at.
    let Ok(mut writer) = PcapNgWriter::with_section_header(Vec::new(), section) else { return Vec::new() };
    for &node in &log.node_of {
        let _ = writer.write_pcapng_block(interface(node, &log.names[node as usize], snap_bytes));
    }
    let mut data = Vec::new();
    for seen in &story.seen {
        let (sent, fate) = (&log.frames[seen.frame], &story.fates[seen.frame]);
        let content = Content {
            from: log.node_of[sent.station as usize],
            to: sent.to.map(|to| log.node_of[to as usize]),
            retry: fate.retry,
            packet: fate.packet.map(|place| &story.packets[place]),
        };
        data.clear();
        radiotap(&mut data, seen, sent, fate, log);
        let header_bytes = data.len();
        let limit = (snap_bytes as usize).saturating_sub(header_bytes);
        let frame_bytes = append(&mut data, sent, &content, limit, seen.how == How::Garbled);
        let direction = match seen.how {
            How::Sent => OUTBOUND,
            How::Decoded => INBOUND,
            How::Garbled => INBOUND | CRC_ERROR,
        };
        let mut options = vec![EnhancedPacketOption::Flags(direction)];
        if !seen.comment.is_empty() {
            options.push(EnhancedPacketOption::Comment(Cow::Borrowed(&seen.comment)));
        }
        let _ = writer.write_pcapng_block(EnhancedPacketBlock {
            interface_id: seen.station,
            timestamp: Duration::from_nanos(seen.at),
            original_len: (header_bytes + frame_bytes) as u32,
            data: Cow::Borrowed(&data),
            options,
        });
    }
    writer.into_inner()
}

fn interface(node: u32, name: &str, snap_bytes: u32) -> InterfaceDescriptionBlock<'static> {
    let [a, b, c, d] = ip(node);
    InterfaceDescriptionBlock {
        linktype: DataLink::IEEE802_11_RADIOTAP,
        snaplen: snap_bytes,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(name.to_owned())),
            InterfaceDescriptionOption::IfIpv4Addr(Cow::Owned(vec![a, b, c, d, 255, 0, 0, 0])),
            InterfaceDescriptionOption::IfMacAddr(Cow::Owned(mac(node).to_vec())),
            InterfaceDescriptionOption::IfTsResol(TIMES_IN_NS),
        ],
    }
}

/// Radiotap header (radiotap.org): fields in the order of their bits, each aligned to its size.
///
/// Deviates: TSFT is the end of the frame, for which Wireshark takes it unless told otherwise, so that the durations,
/// starts and gaps that it shows are right.
fn radiotap(data: &mut Vec<u8>, seen: &Seen, sent: &Sent, fate: &Fate, log: &AirLog) {
    let is_sent = seen.how == How::Sent;
    let length: u16 = if is_sent { 24 } else { 22 };
    data.extend([0, 0]);
    data.extend(length.to_le_bytes());
    data.extend((if is_sent { radiotap::SENT } else { radiotap::RECEIVED }).to_le_bytes());
    data.extend(((seen.at + sent.airtime_ns) / 1_000).to_le_bytes());
    let spoiled = if seen.how == How::Garbled { radiotap::BAD_FCS } else { 0 };
    data.extend([radiotap::FCS_AT_END | spoiled, (sent.rate_bps / radiotap::RATE_UNIT_BPS) as u8]);
    let (megahertz, flags) = match log.phy {
        PhyKind::B => radiotap::CHANNEL_B,
        PhyKind::G | PhyKind::Bg => radiotap::CHANNEL_G,
        PhyKind::A => radiotap::CHANNEL_A,
    };
    data.extend(megahertz.to_le_bytes());
    data.extend(flags.to_le_bytes());
    if is_sent {
        let mut flags = 0;
        if fate.given_up {
            flags |= radiotap::TX_FAILED;
        }
        if sent.kind == Kind::Data && follows_rts(seen.frame, log) {
            flags |= radiotap::TX_AFTER_RTS;
        }
        if sent.to.is_none() || matches!(sent.kind, Kind::Cts | Kind::Ack) {
            flags |= radiotap::TX_WITHOUT_ACK;
        }
        data.extend(u16::to_le_bytes(flags));
    }
}

/// Whether the transmitter's frame before this one was the RTS for it.
fn follows_rts(place: usize, log: &AirLog) -> bool {
    let sent = &log.frames[place];
    let before = log.frames[..place].iter().rev().find(|frame| frame.station == sent.station);
    before.is_some_and(|frame| frame.kind == Kind::Rts && frame.number == sent.number)
}
