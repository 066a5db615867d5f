//! Blocks of capture files: writes pcapng, and reads pcap with nanosecond timestamps, as tcpdump writes it.
//!
//! ```text
//!   Writer::new    a section, which begins the file
//!   interface      one per host or station, before its packets; the first has the number 0
//!   packet         what the interface sent or received, with its direction and a comment
//! ```
//!
//! Source: draft-ietf-opsawg-pcapng, Sec. 3.5 (options) and 4.1 to 4.3 (blocks); draft-ietf-opsawg-pcap, Sec. 4 and 5.
//! Numbers are little endian, and times are nanoseconds since 1970. The crate pcap-file reads and writes the same files.
//! The tests use it as another implementation. Outside of tests it would bring two more versions of a parser of Rust into
//! everyone's first build.

pub mod link_type;
mod pcap;
mod pcapng;

pub use pcap::{Pcap, Record};
pub use pcapng::{CRC_ERROR, INBOUND, Interface, OUTBOUND, Packet, Writer};
