//! What the packets of an interface begin with. Source: the registry of link types at tcpdump.org.

/// Ethernet.
pub const ETHERNET: u16 = 1;
/// 802.11 behind a radiotap header.
pub const IEEE802_11_RADIOTAP: u16 = 127;
