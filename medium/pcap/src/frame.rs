//! Bytes of 802.11 frames (IEEE 802.11-2016 Sec. 9.3): RTS, CTS, data, ACK, check sequence included.

use pacelab_engine::{Kind, Sent};

use crate::address::{BROADCAST_MAC, BSSID, mac};
use crate::ip::IpPacket;

const TYPE_RTS: u8 = 0xb4;
const TYPE_CTS: u8 = 0xc4;
const TYPE_ACK: u8 = 0xd4;
const TYPE_DATA: u8 = 0x08;
const FLAG_RETRY: u8 = 0x08;
/// LLC and SNAP headers in front of IPv4.
const SNAP_IPV4: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];
const FCS_BYTES: usize = 4;
/// The duration field has 15 bits.
const LONGEST_DURATION_US: u64 = 32_767;

/// What a frame needs besides what the engine noted.
pub struct Content<'a> {
    /// Node numbers of transmitter and receiver.
    pub from: u32,
    pub to: Option<u32>,
    pub retry: bool,
    /// Of data; None if it is not known.
    pub packet: Option<&'a IpPacket>,
}

/// Appends up to `limit` bytes of the frame to `out`; returns its full length.
pub fn append(out: &mut Vec<u8>, sent: &Sent, content: &Content<'_>, limit: usize, spoiled: bool) -> usize {
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
        Kind::Data => {
            head(TYPE_DATA, if content.retry { FLAG_RETRY } else { 0 });
            out.extend(mac(content.from));
            out.extend(BSSID);
            out.extend(((sent.number & 0xfff) as u16 * 16).to_le_bytes());
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
        // What is left of the check sequence is of no use, but its place is.
        out.resize(start + limit, 0);
    }
    full
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(kind: Kind) -> Sent {
        Sent {
            at: 0,
            station: 0,
            to: Some(1),
            kind,
            airtime_ns: 0,
            duration_ns: 1_999_637,
            rate_bps: 1_000_000,
            packet: 0,
            number: 4_097,
        }
    }

    #[test]
    fn rts_is_twenty_bytes_with_its_duration_rounded_up() {
        let mut out = Vec::new();
        let content = Content { from: 0, to: Some(1), retry: false, packet: None };
        assert_eq!(append(&mut out, &sent(Kind::Rts), &content, 1_000, false), 20);
        assert_eq!(out[..16], [0xb4, 0, 0xd0, 0x07, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0]);
        assert_eq!(crc32fast::hash(&out), 0x2144_df1c, "the residue of CRC-32");
    }

    #[test]
    fn data_carries_sequence_number_retry_bit_and_ip() {
        let packet = IpPacket { headers: vec![0x45; 40], zeros: 1_460 };
        let content = Content { from: 0, to: Some(1), retry: true, packet: Some(&packet) };
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
}
