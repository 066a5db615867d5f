//! The thread of the air: what it does, what it is asked, how late it is.

pub mod handle;
pub mod histogram;
pub mod lateness;
pub mod order;
pub mod pump;
pub mod tell;
