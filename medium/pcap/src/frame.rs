//! Bytes of 802.11 frames (IEEE 802.11-2016 Sec. 9.3): RTS, CTS, data, ACK, check sequence included; bytes of the
//! packets inside: IPv4, TCP, UDP and AODV headers. Payloads are zeros and are not kept.
//!
//! The identification field is zero, because packets are never fragmented (RFC 6864 Sec. 4.1).

use pacelab_engine::{Kind, Ns, SentFrame};
use pacelab_network::aodv::Message;
use pacelab_network::flow::ports;
use pacelab_network::ids::{FlowId, NodeId};
use pacelab_network::packet::{Body, Packet, TcpHeader, VoiceQuality, flag};

// The packet.

const IP_HEADER_BYTES: usize = 20;
const UDP_HEADER_BYTES: usize = 8;
const RTP_HEADER_BYTES: usize = 12;
/// Header of an RTCP extended report and its block of VoIP metrics.
const XR_BYTES: usize = 44;
const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const AODV_PORT: u16 = 654;
const DATAGRAM_PORT: u16 = 9;
/// TCP option kinds; 253 is for experiments (RFC 4727).
const OPTION_MSS: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_RTT_WIRED: u8 = 253;
const NO_OPERATION: u8 = 1;
/// Windows of up to 65535 << 7 = 8 MB; the same shift in all SYNs.
const WINDOW_SHIFT: u8 = 7;

/// Headers of an IP packet, and how many zeros follow them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IpPacket {
    pub headers: Vec<u8>,
    pub zeros: usize,
}

/// The bytes of a packet. `broadcast`: it goes to all neighbours.
pub fn encode(packet: &Packet, broadcast: bool) -> IpPacket {
    let (protocol, mut transport, zeros) = match &packet.body {
        Body::Tcp { header, forward } => (PROTOCOL_TCP, tcp(packet, header, *forward), header.payload_bytes as usize),
        Body::Udp { payload_bytes, .. } => {
            let client = ports(packet.flow).0 as u16;
            (PROTOCOL_UDP, udp(client, DATAGRAM_PORT, *payload_bytes as usize), *payload_bytes as usize)
        }
        Body::Voice { port, sequence, sent_at, .. } => {
            let bytes = (packet.bytes as usize).saturating_sub(IP_HEADER_BYTES + UDP_HEADER_BYTES);
            let mut datagram = udp(*port, *port, bytes);
            datagram.extend(rtp(packet.flow, *sequence, *sent_at));
            (PROTOCOL_UDP, datagram, bytes.saturating_sub(RTP_HEADER_BYTES))
        }
        Body::Report(quality) => {
            let bytes = (packet.bytes as usize).saturating_sub(IP_HEADER_BYTES + UDP_HEADER_BYTES);
            let (_, _, sport, dport) = quality.call;
            let mut datagram = udp(dport as u16 + 1, sport as u16 + 1, bytes);
            if bytes >= XR_BYTES {
                datagram.extend(extended_report(packet.flow, quality));
            }
            let zeros = bytes + UDP_HEADER_BYTES - datagram.len();
            (PROTOCOL_UDP, datagram, zeros)
        }
        Body::Echo { pair, number, is_reply, .. } => {
            let bytes = (packet.bytes as usize).saturating_sub(IP_HEADER_BYTES);
            let echo = icmp(*is_reply, *pair as u16, *number as u16);
            let zeros = bytes.saturating_sub(echo.len());
            (PROTOCOL_ICMP, echo, zeros)
        }
        Body::Aodv(message) => {
            let body = aodv(message);
            let mut bytes = udp(AODV_PORT, AODV_PORT, body.len());
            bytes.extend(body);
            (PROTOCOL_UDP, bytes, 0)
        }
    };
    let (src, dst) = (ip(packet.src), if broadcast { BROADCAST_IP } else { ip(packet.dst) });
    let transport_bytes = transport.len() + zeros;
    let mut pseudo = Vec::with_capacity(12 + transport.len());
    if protocol != PROTOCOL_ICMP {
        pseudo.extend(src);
        pseudo.extend(dst);
        pseudo.extend([0, protocol]);
        pseudo.extend((transport_bytes as u16).to_be_bytes());
    }
    pseudo.extend(&transport);
    let sum = checksum(&pseudo);
    let (place, sum) = match (protocol, sum) {
        (PROTOCOL_TCP, sum) => (16, sum),
        (PROTOCOL_ICMP, sum) => (2, sum),
        (_, 0) => (6, 0xffff), // RFC 768: 0 would mean no checksum
        (_, sum) => (6, sum),
    };
    transport[place..place + 2].copy_from_slice(&sum.to_be_bytes());

    let mut headers = Vec::with_capacity(IP_HEADER_BYTES + transport.len());
    headers.extend([0x45, 0]);
    headers.extend(((IP_HEADER_BYTES + transport_bytes) as u16).to_be_bytes());
    headers.extend([0, 0, 0x40, 0, packet.ttl, protocol, 0, 0]); // do not fragment
    headers.extend(src);
    headers.extend(dst);
    let sum = checksum(&headers);
    headers[10..12].copy_from_slice(&sum.to_be_bytes());
    headers.extend(transport);
    IpPacket { headers, zeros }
}

/// An echo request or reply (RFC 792), its checksum still 0.
fn icmp(is_reply: bool, identifier: u16, number: u16) -> Vec<u8> {
    let mut echo = vec![if is_reply { 0 } else { 8 }, 0, 0, 0];
    echo.extend(identifier.to_be_bytes());
    echo.extend(number.to_be_bytes());
    echo
}

fn tcp(packet: &Packet, header: &TcpHeader, forward: bool) -> Vec<u8> {
    let (client, server) = ports(packet.flow);
    let (source, destination) = if forward { (client, server) } else { (server, client) };
    let syn = header.flags & flag::SYN != 0;
    let window = if syn { header.window_bytes } else { header.window_bytes >> WINDOW_SHIFT }.min(0xffff);
    let mut options = Vec::new();
    if syn {
        options.extend([OPTION_MSS, 4]);
        options.extend(1460_u16.to_be_bytes());
        options.extend([NO_OPERATION, OPTION_WINDOW_SCALE, 3, WINDOW_SHIFT]);
    }
    if let Some(rtt_ns) = header.rtt_wired_ns {
        options.extend([OPTION_RTT_WIRED, 10]);
        options.extend(rtt_ns.to_be_bytes());
        options.extend([NO_OPERATION; 2]);
    }
    let mut bytes = Vec::with_capacity(20 + options.len());
    bytes.extend((source as u16).to_be_bytes());
    bytes.extend((destination as u16).to_be_bytes());
    bytes.extend(header.seq.to_be_bytes());
    bytes.extend(header.ack.to_be_bytes());
    bytes.extend([(((20 + options.len()) / 4) << 4) as u8, header.flags]);
    bytes.extend((window as u16).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(options);
    bytes
}

fn udp(source: u16, destination: u16, payload_bytes: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(UDP_HEADER_BYTES);
    bytes.extend(source.to_be_bytes());
    bytes.extend(destination.to_be_bytes());
    bytes.extend(((UDP_HEADER_BYTES + payload_bytes) as u16).to_be_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// RFC 3550 Sec. 5.1, at G.729's clock of 8 kHz; the flow is the source.
fn rtp(flow: FlowId, sequence: u16, sent_at: Ns) -> Vec<u8> {
    const VERSION: u8 = 2 << 6;
    const G729: u8 = 18; // RFC 3551 Table 4
    const NS_PER_TICK: u64 = 125_000;
    let mut bytes = vec![VERSION, G729];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(((sent_at / NS_PER_TICK) as u32).to_be_bytes());
    bytes.extend(flow.0.to_be_bytes());
    bytes
}

/// RFC 3611 Sec. 2 and 4.7 with the fields that the model knows; the others are zero or "unavailable" (127).
fn extended_report(flow: FlowId, quality: &VoiceQuality) -> Vec<u8> {
    let share = |count: u32| (u64::from(count) * 256 / u64::from(quality.expected.max(1))).min(255) as u8;
    let mut bytes = vec![2 << 6, 207];
    bytes.extend((XR_BYTES as u16 / 4 - 1).to_be_bytes());
    bytes.extend(flow.0.to_be_bytes());
    bytes.extend([7, 0, 0, 8]);
    bytes.extend(flow.0.to_be_bytes());
    bytes.extend([share(quality.lost), share(quality.late), 0, 0]);
    bytes.extend([0; 4]); // burst and gap duration
    bytes.extend((2 * quality.delay_ns / 1_000_000).min(65_535).to_be_bytes()[6..].iter()); // round trip, ms
    bytes.extend([0; 2]); // end system delay
    bytes.extend([127, 127, 127, 0, 127, 127, 127, 127]);
    bytes.resize(XR_BYTES, 0);
    bytes
}

/// RFC 3561 Sec. 5.1 to 5.3. The model counts hops from 1 as ns-2 does, the RFC from 0.
fn aodv(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(24);
    match message {
        Message::Request { id, hops, origin, origin_seq, target, target_seq, .. } => {
            bytes.extend([1, 0, 0, hops.saturating_sub(1) as u8]);
            bytes.extend(id.to_be_bytes());
            bytes.extend(ip(*target));
            bytes.extend(target_seq.to_be_bytes());
            bytes.extend(ip(*origin));
            bytes.extend(origin_seq.to_be_bytes());
        }
        Message::Reply { hops, target, target_seq, origin, lifetime_ns, .. } => {
            bytes.extend([2, 0, 0, hops.saturating_sub(1) as u8]);
            bytes.extend(ip(*target));
            bytes.extend(target_seq.to_be_bytes());
            bytes.extend(ip(*origin));
            bytes.extend(((lifetime_ns / 1_000_000) as u32).to_be_bytes());
        }
        Message::Error { unreachable } => {
            bytes.extend([3, 0, 0, unreachable.len() as u8]);
            for (node, seq) in unreachable {
                bytes.extend(ip(*node));
                bytes.extend(seq.to_be_bytes());
            }
        }
    }
    bytes
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

// The frame around it.

const TYPE_RTS: u8 = 0xb4;
const TYPE_CTS: u8 = 0xc4;
const TYPE_ACK: u8 = 0xd4;
const TYPE_BLOCK_ACK_REQUEST: u8 = 0x84;
const TYPE_BLOCK_ACK: u8 = 0x94;
const TYPE_DATA: u8 = 0x08;
const TYPE_QOS_DATA: u8 = 0x88;
/// Best effort, and an ACK or an implicit Block Ack.
const QOS_CONTROL: [u8; 2] = [0, 0];
/// Control field of a Block Ack and its request: a compressed bitmap, TID 0.
const BLOCK_ACK_CONTROL: [u8; 2] = [0x04, 0];
/// In the fragment number of a Block Ack: its bitmap has 32 bytes (IEEE 802.11ax-2021 Table 9-30a).
const LONG_BITMAP: u8 = 0x04;
const FLAG_RETRY: u8 = 0x08;
/// LLC and SNAP headers in front of IPv4.
const SNAP_IPV4: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];
const FCS_BYTES: usize = 4;
/// The duration field has 15 bits.
const LONGEST_DURATION_US: u64 = 32_767;

/// The data of a frame that the engine does not record.
pub struct Content<'a> {
    /// Node numbers of transmitter and receiver.
    pub from: NodeId,
    pub to: Option<NodeId>,
    pub retry: bool,
    /// Data has a QoS Control field, as in 802.11n, ac and ax.
    pub qos: bool,
    /// Block Acks have a bitmap of 32 bytes.
    pub long_block_ack: bool,
    /// The packet in a data frame; None if it is not known.
    pub packet: Option<&'a IpPacket>,
}

/// Appends up to `limit` bytes of the frame to `out`; returns its full length.
pub fn append(out: &mut Vec<u8>, sent: &SentFrame, content: &Content<'_>, limit: usize, spoiled: bool) -> usize {
    let start = out.len();
    let duration_us = sent.duration_ns.div_ceil(1_000).min(LONGEST_DURATION_US) as u16;
    let receiver = content.to.map_or(BROADCAST_MAC, mac);
    let mut head = |kind: u8, flags: u8| {
        out.extend([kind, flags]);
        out.extend(duration_us.to_le_bytes());
        out.extend(receiver);
    };
    let mut zeros = 0;
    match sent.kind {
        Kind::Rts => {
            head(TYPE_RTS, 0);
            out.extend(mac(content.from));
        }
        Kind::Cts => head(TYPE_CTS, 0),
        Kind::Ack => head(TYPE_ACK, 0),
        Kind::BlockAckRequest | Kind::BlockAck => {
            head(if sent.kind == Kind::BlockAck { TYPE_BLOCK_ACK } else { TYPE_BLOCK_ACK_REQUEST }, 0);
            out.extend(mac(content.from));
            out.extend(BLOCK_ACK_CONTROL);
            let [low, high] = sequence_control(sent.number);
            let long = content.long_block_ack && sent.kind == Kind::BlockAck;
            out.extend([low | if long { LONG_BITMAP } else { 0 }, high]);
            if sent.kind == Kind::BlockAck {
                let words = if content.long_block_ack { sent.bitmap.words() } else { &sent.bitmap.words()[..1] };
                words.iter().for_each(|word| out.extend(word.to_le_bytes()));
            }
        }
        Kind::Data | Kind::Aggregate => {
            head(if content.qos { TYPE_QOS_DATA } else { TYPE_DATA }, if content.retry { FLAG_RETRY } else { 0 });
            out.extend(mac(content.from));
            out.extend(BSSID);
            out.extend(sequence_control(sent.number));
            if content.qos {
                out.extend(QOS_CONTROL);
            }
            if let Some(packet) = content.packet {
                out.extend(SNAP_IPV4);
                out.extend(&packet.headers);
                zeros = packet.zeros;
            }
        }
    }
    let full = out.len() - start + zeros + FCS_BYTES;
    if full <= limit {
        out.resize(out.len() + zeros, 0);
        let fcs = crc32fast::hash(&out[start..]);
        out.extend((if spoiled { !fcs } else { fcs }).to_le_bytes());
    } else {
        let kept = (full - FCS_BYTES).min(limit);
        out.resize(start + kept, 0);
        // The rest of the check sequence is useless, but it must keep its place.
        out.resize(start + limit, 0);
    }
    full
}

/// A sequence number above four bits of fragment number.
fn sequence_control(number: u32) -> [u8; 2] {
    ((number & 0xfff) as u16 * 16).to_le_bytes()
}

// Addresses of a node: 02:00:00:00:00:nn and 10.0.0.(nn + 1), the last two octets a number of 16 bits.

/// All stations.
pub const BROADCAST_MAC: [u8; 6] = [0xff; 6];
/// The independent network that all stations form; its address is locally administered.
pub const BSSID: [u8; 6] = [0x02, 0x50, 0x61, 0x63, 0x65, 0x00];
pub const BROADCAST_IP: [u8; 4] = [255; 4];

pub fn mac(node: NodeId) -> [u8; 6] {
    let [.., high, low] = node.0.to_be_bytes();
    [0x02, 0, 0, 0, high, low]
}

pub fn ip(node: NodeId) -> [u8; 4] {
    let [.., high, low] = (node.0 + 1).to_be_bytes();
    [10, 0, high, low]
}

#[cfg(test)]
mod tests {
    use pacelab_engine::{PacketId, StationId};

    use super::*;

    #[test]
    fn an_echo_request_has_its_checksum_over_the_message_alone() {
        let mut request = packet(Body::Echo { pair: 3, number: 0x1234, is_reply: false, sent_at: 0 });
        request.bytes = 84;
        let found = encode(&request, false);
        assert_eq!((found.headers[9], found.zeros), (1, 56));
        // 0x0800 + 0x0003 + 0x1234 = 0x1a37; its complement is 0xe5c8
        assert_eq!(found.headers[20..28], [8, 0, 0xe5, 0xc8, 0, 3, 0x12, 0x34]);
    }

    #[test]
    fn checksum_of_rfc_1071s_example() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    fn packet(body: Body) -> Packet {
        Packet {
            src: NodeId(0),
            dst: NodeId(1),
            flow: FlowId(0),
            bytes: 0,
            ttl: 64,
            forwards: 0,
            previous: NodeId(0),
            congestion_experienced: false,
            body,
        }
    }

    #[test]
    fn datagram_has_the_lengths_and_checksums_computed_by_hand() {
        let found = encode(&packet(Body::Udp { number: 0, payload_bytes: 100 }), false);
        assert_eq!(found.zeros, 100);
        let ip_header = &found.headers[..20];
        assert_eq!(&ip_header[2..4], &[0, 128]);
        // 0x4500 + 0x0080 + 0x4000 + 0x4011 + 0x0a00 + 0x0001 + 0x0a00 + 0x0002 = 0xd994
        assert_eq!(&ip_header[10..12], &(!0xd994_u16).to_be_bytes());
        // ports 49152 and 9, length 108; pseudo header 0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 0x0011 + 0x006c
        // sum 0x1480, header 0xc000 + 0x0009 + 0x006c = 0xc075: together 0xd4f5
        assert_eq!(&found.headers[20..], &[0xc0, 0, 0, 9, 0, 108, 0x2b, 0x0a]);
    }

    #[test]
    fn syn_announces_segment_size_and_window_scale() {
        let header = TcpHeader { flags: flag::SYN, window_bytes: 65_535, ..TcpHeader::default() };
        let found = encode(&packet(Body::Tcp { header, forward: true }), false).headers;
        assert_eq!(found.len(), 48);
        assert_eq!(found[32..36], [0x70, 0x02, 0xff, 0xff]);
        assert_eq!(found[40..], [2, 4, 0x05, 0xb4, 1, 3, 3, 7]);
    }

    #[test]
    fn a_window_above_64_kib_is_shifted() {
        let header = TcpHeader { flags: flag::ACK, window_bytes: 93_440, ..TcpHeader::default() };
        let found = encode(&packet(Body::Tcp { header, forward: false }), false).headers;
        assert_eq!(found[34..36], 730_u16.to_be_bytes());
    }

    #[test]
    fn route_request_is_rfc_3561s() {
        let message = Message::Request {
            id: 5,
            hops: 2,
            origin: NodeId(0),
            origin_seq: 4,
            target: NodeId(8),
            target_seq: 6,
            sent_at: 0,
        };
        let found = encode(&packet(Body::Aodv(message)), true).headers;
        assert_eq!(found.len(), 20 + 8 + 24);
        assert_eq!(found[16..20], [255; 4]);
        assert_eq!(found[28..], [1, 0, 0, 1, 0, 0, 0, 5, 10, 0, 0, 9, 0, 0, 0, 6, 10, 0, 0, 1, 0, 0, 0, 4]);
    }

    fn sent(kind: Kind) -> SentFrame {
        SentFrame {
            at: 0,
            station: StationId(0),
            to: Some(StationId(1)),
            kind,
            airtime_ns: 0,
            duration_ns: 1_999_637,
            rate_bps: 1_000_000,
            packet: PacketId(0),
            number: 4_097,
            aggregate: None,
            bitmap: [0, 2].into_iter().collect(),
        }
    }

    #[test]
    fn rts_is_twenty_bytes_with_its_duration_rounded_up() {
        let mut out = Vec::new();
        let content = Content {
            from: NodeId(0),
            to: Some(NodeId(1)),
            retry: false,
            qos: false,
            long_block_ack: false,
            packet: None,
        };
        assert_eq!(append(&mut out, &sent(Kind::Rts), &content, 1_000, false), 20);
        assert_eq!(out[..16], [0xb4, 0, 0xd0, 0x07, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0]);
        assert_eq!(crc32fast::hash(&out), 0x2144_df1c, "the residue of CRC-32");
    }

    #[test]
    fn data_carries_sequence_number_retry_bit_and_ip() {
        let packet = IpPacket { headers: vec![0x45; 40], zeros: 1_460 };
        let content = Content {
            from: NodeId(0),
            to: Some(NodeId(1)),
            retry: true,
            qos: false,
            long_block_ack: false,
            packet: Some(&packet),
        };
        let mut out = Vec::new();
        assert_eq!(append(&mut out, &sent(Kind::Data), &content, usize::MAX, false), 24 + 8 + 1_500 + 4);
        assert_eq!(out.len(), 1_536);
        assert_eq!(out[..2], [0x08, 0x08]);
        assert_eq!(out[22..24], [0x10, 0x00], "4097 modulo 4096 is 1, above four bits of fragment");
        assert_eq!(crc32fast::hash(&out), 0x2144_df1c);
        let mut cut = Vec::new();
        assert_eq!(append(&mut cut, &sent(Kind::Data), &content, 100, false), 1_536);
        assert_eq!(cut, out[..100]);
    }

    #[test]
    fn qos_data_block_ack_and_request_have_the_bytes_of_the_standard() {
        let packet = IpPacket { headers: vec![0x45; 40], zeros: 1_460 };
        let content = Content {
            from: NodeId(0),
            to: Some(NodeId(1)),
            retry: false,
            qos: true,
            long_block_ack: false,
            packet: Some(&packet),
        };
        let mut out = Vec::new();
        assert_eq!(append(&mut out, &sent(Kind::Aggregate), &content, usize::MAX, false), 26 + 8 + 1_500 + 4);
        assert_eq!((out[0], &out[22..26]), (0x88, &[0x10, 0x00, 0, 0][..]));
        let control = Content { packet: None, ..content };
        let mut request = Vec::new();
        assert_eq!(append(&mut request, &sent(Kind::BlockAckRequest), &control, 1_000, false), 24);
        assert_eq!((request[0], &request[16..20]), (0x84, &[0x04, 0, 0x10, 0][..]));
        let mut answer = Vec::new();
        assert_eq!(append(&mut answer, &sent(Kind::BlockAck), &control, 1_000, false), 32);
        assert_eq!((answer[0], &answer[16..28]), (0x94, &[0x04, 0, 0x10, 0, 0b101, 0, 0, 0, 0, 0, 0, 0][..]));
        // The bitmap of 32 bytes: its length is in the fragment number.
        let far = SentFrame { bitmap: [0, 2, 255].into_iter().collect(), ..sent(Kind::BlockAck) };
        let mut answer = Vec::new();
        assert_eq!(append(&mut answer, &far, &Content { long_block_ack: true, ..control }, 1_000, false), 56);
        assert_eq!((&answer[18..21], answer[51]), (&[0x14, 0, 0b101][..], 0x80));
    }

    #[test]
    fn addresses_count_up_with_the_node() {
        assert_eq!(mac(NodeId(7)), [2, 0, 0, 0, 0, 7]);
        assert_eq!(mac(NodeId(300)), [2, 0, 0, 0, 1, 44]);
        assert_eq!(ip(NodeId(0)), [10, 0, 0, 1]);
        assert_eq!(ip(NodeId(299)), [10, 0, 1, 44]);
    }
}
