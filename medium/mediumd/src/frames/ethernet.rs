//! Ethernet frames of hosts: their destinations and access categories.

use pacelab_air_config::Category;
use pacelab_engine::{Id, Packet, PacketId, StationId};

use crate::config::Mac;
use crate::frames::pool::HEADER_BYTES;
use crate::frames::{DropCause, FrameFormat, FrameHead, IPV4, ethertype};

const IPV6: u16 = 0x86dd;
/// A VLAN tag may exceed the MTU.
const TAG_BYTES: usize = 4;

/// Ethernet frames between stations with one address each.
#[derive(Debug)]
pub struct Ethernet {
    macs: Vec<Mac>,
    mtu_bytes: usize,
}

impl Ethernet {
    /// `macs` are the addresses of the stations, in order.
    pub fn new(macs: Vec<Mac>, mtu_bytes: u32) -> Self {
        Ethernet { macs, mtu_bytes: mtu_bytes as usize }
    }
}

impl FrameFormat for Ethernet {
    type Tag = ();

    /// The frame is sent without its Ethernet header.
    fn packet(&self, station: StationId, slot: PacketId, frame: &[u8], (): &()) -> Result<(Packet, bool), DropCause> {
        let destination = destination(frame).ok_or(DropCause::Malformed)?;
        let bytes = frame.len() - HEADER_BYTES;
        if bytes > self.mtu_bytes + TAG_BYTES {
            return Err(DropCause::Malformed);
        }
        let to = match destination {
            Destination::Group => None,
            Destination::One(mac) => {
                let place = self.macs.iter().position(|&other| other == mac).map(StationId::from_index);
                Some(place.filter(|&to| to != station).ok_or(DropCause::NoStation)?)
            }
        };
        Ok((Packet { id: slot, to, bytes: bytes as u32, category: category(frame), rates: None }, false))
    }

    fn is_for(&self, _: StationId, _: &[u8]) -> bool {
        true
    }

    fn head(frame: &[u8]) -> FrameHead {
        FrameHead::of(frame)
    }
}

/// The destination of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// All stations that hear it.
    Group,
    /// One address.
    One(Mac),
}

/// The destination, or None for something shorter than an Ethernet header.
pub fn destination(frame: &[u8]) -> Option<Destination> {
    let &[a, b, c, d, e, f, ..] = frame.get(..HEADER_BYTES)? else { return None };
    let mac = Mac([a, b, c, d, e, f]);
    Some(if mac.is_group() { Destination::Group } else { Destination::One(mac) })
}

/// The access category, by IP precedence.
/// Source: Linux net/wireless/util.c cfg80211_classify8021d and net/mac80211/wme.c ieee802_1d_to_ac.
pub fn category(frame: &[u8]) -> Category {
    let byte = |at: usize| frame.get(at).copied().unwrap_or(0);
    let precedence = match ethertype(frame) {
        Some(IPV4) => byte(HEADER_BYTES + 1) >> 5,
        Some(IPV6) => (byte(HEADER_BYTES) & 0x0f) >> 1,
        _ => 0,
    };
    match precedence {
        1 | 2 => Category::Background,
        4 | 5 => Category::Video,
        6 | 7 => Category::Voice,
        _ => Category::BestEffort,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::tests::ipv4;
    use proptest::prelude::*;

    const TO: [u8; 6] = [2, 0, 0, 0, 0, 2];
    const UDP: u8 = 17;

    #[test]
    fn the_category_follows_the_precedence_as_in_mac80211() {
        use Category::{Background, BestEffort, Video, Voice};
        let expected = [BestEffort, Background, Background, BestEffort, Video, Video, Voice, Voice];
        for (precedence, expected) in (0u8..).zip(expected) {
            assert_eq!(category(&ipv4(TO, precedence << 5, UDP, &[])), expected);
            let mut six = ipv4(TO, 0, UDP, &[]);
            six[12..16].copy_from_slice(&[0x86, 0xdd, 0x60 | precedence << 1, 0]);
            assert_eq!(category(&six), expected);
        }
        assert_eq!(category(&[]), BestEffort);
    }

    proptest! {
        #[test]
        fn any_bytes_go_somewhere_or_not_but_never_break(frame in prop::collection::vec(any::<u8>(), 0..2400)) {
            prop_assert_eq!(destination(&frame).is_some(), frame.len() >= HEADER_BYTES);
            category(&frame);
        }
    }
}
