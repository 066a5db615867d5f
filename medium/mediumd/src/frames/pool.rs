//! The bytes of all frames on their way: slots of one size that are used again, so memory follows the fullest moment
//! and not the number of frames.

use pacelab_engine::{IdVec, Ns, PacketId};

/// Bytes of an Ethernet header.
pub const HEADER_BYTES: usize = 14;
/// Largest frame that is read: header, a VLAN tag, the largest MTU that the configuration allows, and one byte more, by
/// which a longer frame betrays itself. An 802.11 frame of as much payload has up to 36 bytes of header, 18 of mesh
/// control, 8 of LLC and 16 of cipher.
pub const FRAME_BYTES: usize = 2290 + 36 + 18 + 8 + 16 + 1;

/// One frame.
#[derive(Debug)]
pub struct Slot<T> {
    bytes: Box<[u8; FRAME_BYTES]>,
    length: usize,
    /// When the host handed it over.
    pub arrived_at: Ns,
    /// What came with it.
    pub tag: T,
}

impl<T> Slot<T> {
    /// Ethernet header and payload.
    pub fn frame(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// All slots.
#[derive(Debug, Default)]
pub struct Pool<T> {
    slots: IdVec<PacketId, Slot<T>>,
    free: Vec<PacketId>,
}

impl<T: Default> Pool<T> {
    /// Takes a free slot; its bytes are to be written through `space`, then `fill`ed.
    pub fn take(&mut self) -> PacketId {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { bytes: Box::new([0; FRAME_BYTES]), length: 0, arrived_at: 0, tag: T::default() })
        })
    }

    /// Where to write the bytes of a taken slot.
    pub fn space(&mut self, id: PacketId) -> &mut [u8] {
        &mut self.slots[id].bytes[..]
    }

    /// Says how many bytes were written, when they came, and what with.
    pub fn fill(&mut self, id: PacketId, length: usize, arrived_at: Ns, tag: T) {
        let slot = &mut self.slots[id];
        slot.length = length.min(FRAME_BYTES);
        slot.arrived_at = arrived_at;
        slot.tag = tag;
    }

    /// A filled slot.
    pub fn get(&self, id: PacketId) -> &Slot<T> {
        &self.slots[id]
    }

    /// Gives a taken slot back.
    pub fn give_back(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// Slots taken.
    pub fn taken(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Slots there are, taken or not.
    #[cfg(test)]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }
}
