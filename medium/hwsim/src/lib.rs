//! The messages of a medium for `mac80211_hwsim`, without I/O.
//!
//! # Messages of the kernel (`message`, `frame`)
//! Generic netlink, family MAC80211_HWSIM, version 1. After a medium has registered, it gets every frame that a
//! simulated radio sends. It alone decides which radios receive the frame and when, and which status the sender gets.
//!
//! # Files and socket of wmediumd (`libconfig`, `wmediumd_config`, `wmediumd_socket`, `mesh`)
//! Mininet-WiFi starts its medium with a libconfig file and changes it through packed messages on a Unix socket.

pub mod frame;
pub mod libconfig;
pub mod mesh;
pub mod message;
pub mod wmediumd_config;
pub mod wmediumd_socket;

/// A MAC address.
pub type Mac = [u8; 6];
