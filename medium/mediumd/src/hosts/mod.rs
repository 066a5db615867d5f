//! The hosts around the air: TAP devices, radios of mac80211_hwsim, and who is where.

pub mod namespace;
pub mod radio_hosts;
pub mod radio_socket;
pub mod tap;
pub mod tap_hosts;
pub mod world;
