//! A set of MPDUs: those of an aggregate by their place, or those of a Block Ack by their distance from its first number.

use pacelab_air_config::HighThroughput;

const BITS: u32 = u64::BITS;

/// One bit for each of up to 256 MPDUs, in words of 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MpduSet([u64; (HighThroughput::MOST_FRAMES / BITS) as usize]);

impl MpduSet {
    /// Adds the MPDU at this place.
    pub fn insert(&mut self, place: u32) {
        self.0[(place / BITS) as usize] |= 1 << (place % BITS);
    }

    /// Whether the MPDU at this place is in the set.
    pub fn contains(&self, place: u32) -> bool {
        self.0[(place / BITS) as usize] >> (place % BITS) & 1 == 1
    }

    /// How many MPDUs are in the set.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether no MPDU is in the set.
    pub fn is_empty(&self) -> bool {
        self.0 == Self::default().0
    }

    /// The words, the first 64 MPDUs first.
    pub fn words(&self) -> &[u64] {
        &self.0
    }
}

impl FromIterator<u32> for MpduSet {
    fn from_iter<T: IntoIterator<Item = u32>>(places: T) -> Self {
        let mut set = MpduSet::default();
        places.into_iter().for_each(|place| set.insert(place));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_up_to_255_have_their_own_bit() {
        let set: MpduSet = [0, 2, 63, 64, 255].into_iter().collect();
        assert_eq!(set.words(), [1 << 63 | 0b101, 1, 0, 1 << 63]);
        assert_eq!((set.len(), set.is_empty(), MpduSet::default().is_empty()), (5, false, true));
        let found: Vec<u32> = (0..256).filter(|&place| set.contains(place)).collect();
        assert_eq!(found, [0, 2, 63, 64, 255]);
    }
}
