//! The bytes of all frames on their way, in reusable slots of equal size. Memory depends on the largest number of
//! frames at one time, not on the total.

use pacelab_engine::{IdVec, Ns, PacketId};

/// Bytes of an Ethernet header.
pub const HEADER_BYTES: usize = 14;
/// Largest frame that is read: the largest configurable MTU with the headers of an 802.11 frame, which are longer than
/// those of Ethernet (36 bytes of header, 18 of mesh control, 8 of LLC, 16 of cipher), and one byte more to detect
/// longer frames.
pub const FRAME_BYTES: usize = 2290 + 36 + 18 + 8 + 16 + 1;

/// One frame.
#[derive(Debug)]
pub struct Slot<T> {
    bytes: Box<[u8; FRAME_BYTES]>,
    length: usize,
    /// When the host sent it.
    pub arrived_at: Ns,
    /// The data that accompanies it.
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
    /// Takes a free slot. Write its bytes through `space`, then call `fill`.
    pub fn take(&mut self) -> PacketId {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { bytes: Box::new([0; FRAME_BYTES]), length: 0, arrived_at: 0, tag: T::default() })
        })
    }

    /// The space for the bytes of a taken slot.
    pub fn space(&mut self, id: PacketId) -> &mut [u8] {
        &mut self.slots[id].bytes[..]
    }

    /// Sets the length, arrival time and tag of the frame in a slot.
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

    /// Returns a taken slot.
    pub fn give_back(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// Slots taken.
    pub fn taken(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// All slots, taken or free.
    #[cfg(test)]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }
}
