//! Between the carrier and its sides: what a frame is, where it goes, and what is told of it.

use pacelab_engine::{Ns, Packet};

use crate::frames::event::{Cause, Event};
use crate::frames::head::Head;

/// The kind of frames that hosts send.
pub trait Wire {
    /// What comes with a frame beside its bytes.
    type Tag: Copy + Default;

    /// The engine's packet for a frame in `slot`, and whether it goes before those that wait.
    ///
    /// # Errors
    /// Why it cannot be sent.
    fn packet(&self, station: u32, slot: u32, frame: &[u8], tag: &Self::Tag) -> Result<(Packet, bool), Cause>;

    /// Whether `station` hands up a frame that it has received as a broadcast.
    fn is_for(&self, station: u32, frame: &[u8]) -> bool;

    /// What listeners are told of a frame.
    fn head(frame: &[u8]) -> Head;

    /// Whether the host asked for a rate that stands for another one on the air.
    fn is_substituted(&self, _station: u32, _tag: &Self::Tag) -> bool {
        false
    }
}

/// What the link layer has to say of a frame that it is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The ACK came.
    Acknowledged,
    /// It was sent and nobody was to acknowledge it.
    Sent,
    /// The last attempt failed.
    Failed,
    /// It was never on the air: the queue was full, or it cannot be sent.
    Refused,
}

/// A frame that has reached its receiver.
#[derive(Debug)]
pub struct Delivery<'a, T> {
    /// When.
    pub due: Ns,
    /// As it was sent.
    pub frame: &'a [u8],
    /// What came with it.
    pub tag: &'a T,
    /// Received power.
    pub power_w: f64,
}

/// What the carrier wants from around it.
pub trait Surroundings<T> {
    /// Hands a frame to the host of `station`; false: the host does not take it.
    fn deliver(&mut self, station: u32, delivery: Delivery<'_, T>) -> bool;
    /// The link layer is done with a frame of `station`.
    fn finish(&mut self, station: u32, due: Ns, tag: &T, attempts: u32, fate: Fate);
    /// Whether anyone listens to events of this `kind`.
    fn listens(&self, kind: u32) -> bool;
    /// Tells of an event.
    fn tell(&mut self, event: Event);
}

/// What became of a frame from a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits for the air, or is on it.
    Taken,
    /// It was dropped.
    Dropped(Cause),
}

/// Frames from and to one station's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames that its host sent.
    pub from_host: u64,
    /// Frames that its host took.
    pub to_host: u64,
    /// Of those from the host: at rates that the air has not, for which others stand.
    pub substituted: u64,
}
