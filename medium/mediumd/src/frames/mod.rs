//! Frames over the air, without I/O and without a clock.

pub mod carrier;
pub mod ethernet;
pub mod event;
pub mod head;
pub mod pool;
pub mod radio;
pub mod wire;
