//! What a medium under `mac80211_hwsim` hears and says, without I/O.
//!
//! # Messages of the kernel (`message`, `frame`)
//! Generic netlink, family MAC80211_HWSIM, version 1. A medium registers; from then on every frame that a simulated radio
//! sends comes to it, and it alone decides who receives the frame, when, and what the sender is told.
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
