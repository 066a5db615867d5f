//! Addresses of a node: 02:00:00:00:00:nn and 10.0.0.(nn + 1), the last two octets a number of 16 bits.

/// All stations.
pub const BROADCAST_MAC: [u8; 6] = [0xff; 6];
/// The independent network that all stations form; its address is locally administered.
pub const BSSID: [u8; 6] = [0x02, 0x50, 0x61, 0x63, 0x65, 0x00];
pub const BROADCAST_IP: [u8; 4] = [255; 4];

pub fn mac(node: u32) -> [u8; 6] {
    let [.., high, low] = node.to_be_bytes();
    [0x02, 0, 0, 0, high, low]
}

pub fn ip(node: u32) -> [u8; 4] {
    let [.., high, low] = (node + 1).to_be_bytes();
    [10, 0, high, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_count_up_with_the_node() {
        assert_eq!(mac(7), [2, 0, 0, 0, 0, 7]);
        assert_eq!(mac(300), [2, 0, 0, 0, 1, 44]);
        assert_eq!(ip(0), [10, 0, 0, 1]);
        assert_eq!(ip(299), [10, 0, 1, 44]);
    }
}
