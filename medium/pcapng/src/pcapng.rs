//! The writer.

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const VERSION: [u16; 2] = [1, 0];
const UNKNOWN_LENGTH: u64 = u64::MAX;

/// Codes of options. Each kind of block has its own.
mod code {
    pub const END: u16 = 0;
    pub const COMMENT: u16 = 1;
    pub const SECTION_APPLICATION: u16 = 4;
    pub const INTERFACE_NAME: u16 = 2;
    pub const INTERFACE_IPV4: u16 = 4;
    pub const INTERFACE_MAC: u16 = 6;
    pub const INTERFACE_TIME_RESOLUTION: u16 = 9;
    pub const PACKET_FLAGS: u16 = 2;
}

/// A time is a number of units of 10 to the power of minus this.
const TIMES_IN_NS: u8 = 9;

/// Flag of a packet: the interface received it.
pub const INBOUND: u32 = 1;
/// Flag of a packet: the interface sent it.
pub const OUTBOUND: u32 = 2;
/// Flag of a packet: its frame check sequence was wrong.
pub const CRC_ERROR: u32 = 1 << 24;

/// An interface of the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Interface<'a> {
    /// What its packets begin with, for example [`crate::link_type::ETHERNET`].
    pub link_type: u16,
    /// Most bytes of a packet in the file; 0: no limit.
    pub snap_bytes: u32,
    /// Its name.
    pub name: &'a str,
    /// Its IPv4 address and network mask.
    pub ipv4: Option<[u8; 8]>,
    /// Its MAC address.
    pub mac: Option<[u8; 6]>,
}

/// A packet of an interface.
#[derive(Debug, Clone, Copy, Default)]
pub struct Packet<'a> {
    /// The number of its interface.
    pub interface: u32,
    /// Nanoseconds since 1970.
    pub at_ns: u64,
    /// Its length on the link, of which `data` may be the first part.
    pub length: u32,
    /// The bytes in the file.
    pub data: &'a [u8],
    /// Direction and errors, for example [`INBOUND`]; 0: unknown, and not written.
    pub flags: u32,
    /// A comment; empty: none.
    pub comment: &'a str,
}

/// Writes a capture file, block by block. A block is written as a whole.
#[derive(Debug)]
pub struct Writer<W> {
    file: W,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file, which names the application that writes it (empty: none).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: W, application: &str) -> io::Result<Self> {
        let mut writer = Writer { file, block: Vec::new() };
        writer.begin(SECTION_HEADER);
        writer.put(&BYTE_ORDER.to_le_bytes());
        writer.put(&VERSION.map(u16::to_le_bytes).concat());
        writer.put(&UNKNOWN_LENGTH.to_le_bytes());
        if !application.is_empty() {
            writer.option(code::SECTION_APPLICATION, application.as_bytes());
            writer.end_options();
        }
        writer.end()?;
        Ok(writer)
    }

    /// Describes the next interface.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn interface(&mut self, interface: &Interface<'_>) -> io::Result<()> {
        self.begin(INTERFACE_DESCRIPTION);
        self.put(&u32::from(interface.link_type).to_le_bytes());
        self.put(&interface.snap_bytes.to_le_bytes());
        self.option(code::INTERFACE_NAME, interface.name.as_bytes());
        if let Some(address) = interface.ipv4 {
            self.option(code::INTERFACE_IPV4, &address);
        }
        if let Some(address) = interface.mac {
            self.option(code::INTERFACE_MAC, &address);
        }
        self.option(code::INTERFACE_TIME_RESOLUTION, &[TIMES_IN_NS]);
        self.end_options();
        self.end()
    }

    /// Writes a packet of an interface that was described before.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        self.begin(ENHANCED_PACKET);
        let time = [(packet.at_ns >> 32) as u32, packet.at_ns as u32];
        let numbers = [packet.interface, time[0], time[1], packet.data.len() as u32, packet.length];
        self.put(&numbers.map(u32::to_le_bytes).concat());
        self.put(packet.data);
        self.pad();
        if packet.flags != 0 {
            self.option(code::PACKET_FLAGS, &packet.flags.to_le_bytes());
        }
        if !packet.comment.is_empty() {
            self.option(code::COMMENT, packet.comment.as_bytes());
        }
        if packet.flags != 0 || !packet.comment.is_empty() {
            self.end_options();
        }
        self.end()
    }

    /// Hands over to the system what the file has buffered.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// The file.
    pub fn into_inner(self) -> W {
        self.file
    }

    /// A block begins and ends with its length, which `end` knows.
    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.put(&kind.to_le_bytes());
        self.put(&[0; 4]);
    }

    fn end(&mut self) -> io::Result<()> {
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&length);
        self.put(&length);
        self.file.write_all(&self.block)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    /// Fields begin at multiples of 4 bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// The length of an option has 16 bits: a longer value is cut off.
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(u16::MAX.into())];
        self.put(&[code, value.len() as u16].map(u16::to_le_bytes).concat());
        self.put(value);
        self.pad();
    }

    fn end_options(&mut self) {
        self.option(code::END, &[]);
    }
}

#[cfg(test)]
mod tests {
    use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
    use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
    use pcap_file::pcapng::{Block, PcapNgReader};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_has_the_bytes_of_the_draft() {
        let mut writer = Writer::new(Vec::new(), "abc").unwrap();
        let mac = Some([2, 0, 0, 0, 0, 7]);
        writer.interface(&Interface { link_type: 127, snap_bytes: 9, name: "n0", ipv4: None, mac }).unwrap();
        let packet = Packet { interface: 0, at_ns: 1 << 32 | 5, length: 6, data: b"xyz", flags: 2, comment: "hello" };
        writer.packet(&packet).unwrap();
        // Sec. 4.1: type, length, byte order, version 1.0, length of the section; application (4); end of options
        let section: [&[u8]; 5] = [
            &[0x0a, 0x0d, 0x0d, 0x0a, 40, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0],
            &[0xff; 8],
            &[4, 0, 3, 0, b'a', b'b', b'c', 0],
            &[0; 4],
            &[40, 0, 0, 0],
        ];
        // Sec. 4.2: type, length, link type, reserved, snap length; name (2), MAC address (6), time resolution (9)
        let interface: [&[u8]; 6] = [
            &[1, 0, 0, 0, 52, 0, 0, 0, 127, 0, 0, 0, 9, 0, 0, 0],
            &[2, 0, 2, 0, b'n', b'0', 0, 0],
            &[6, 0, 6, 0, 2, 0, 0, 0, 0, 7, 0, 0],
            &[9, 0, 1, 0, 9, 0, 0, 0],
            &[0; 4],
            &[52, 0, 0, 0],
        ];
        // Sec. 4.3: type, length, interface, upper and lower half of the time, lengths; flags (2), comment (1)
        let packet: [&[u8]; 7] = [
            &[6, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0],
            b"xyz\0",
            &[2, 0, 4, 0, 2, 0, 0, 0],
            &[1, 0, 5, 0],
            b"hello\0\0\0",
            &[0; 4],
            &[60, 0, 0, 0],
        ];
        assert_eq!(writer.into_inner(), [section.concat(), interface.concat(), packet.concat()].concat());
    }

    #[test]
    fn a_comment_longer_than_its_length_field_is_cut_off() {
        let mut writer = Writer::new(Vec::new(), "").unwrap();
        writer.interface(&Interface::default()).unwrap();
        writer.packet(&Packet { comment: &"x".repeat(70_000), ..Packet::default() }).unwrap();
        let file = writer.into_inner();
        let comments: Vec<_> = packets(&file).into_iter().map(|packet| packet.4.len()).collect();
        assert_eq!(comments, [65_535]);
    }

    type Read = (u32, u64, u32, Vec<u8>, String, u32);

    /// Interface, time, length, data, comment and flags of each packet.
    fn packets(file: &[u8]) -> Vec<Read> {
        let mut reader = PcapNgReader::new(file).unwrap();
        let mut found = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.unwrap().into_owned() {
                let (mut text, mut flags) = (String::new(), 0);
                for option in &packet.options {
                    match option {
                        EnhancedPacketOption::Comment(comment) => text = comment.to_string(),
                        EnhancedPacketOption::Flags(word) => flags = *word,
                        other => panic!("{other:?}"),
                    }
                }
                let at_ns = packet.timestamp.as_nanos() as u64;
                found.push((packet.interface_id, at_ns, packet.original_len, packet.data.into(), text, flags));
            }
        }
        found
    }

    proptest! {
        #[test]
        fn another_implementation_reads_what_was_written(
            names in prop::collection::vec("[a-zäß0-9-]{0,9}", 1..4),
            written in prop::collection::vec(
                (0_u32..4, any::<u64>(), any::<u32>(), prop::collection::vec(any::<u8>(), 0..40), ".{0,9}", any::<u32>()),
                0..9,
            ),
        ) {
            let mut writer = Writer::new(Vec::new(), "PaceLab").unwrap();
            for name in &names {
                writer.interface(&Interface { name, ipv4: Some([10, 0, 0, 1, 255, 0, 0, 0]), ..Interface::default() }).unwrap();
            }
            let written: Vec<Read> =
                written.into_iter().map(|packet| (packet.0 % names.len() as u32, packet.1, packet.2, packet.3, packet.4, packet.5)).collect();
            for (interface, at_ns, length, data, comment, flags) in &written {
                let (interface, at_ns, length, flags) = (*interface, *at_ns, *length, *flags);
                writer.packet(&Packet { interface, at_ns, length, data, flags, comment }).unwrap();
            }
            let file = writer.into_inner();
            prop_assert_eq!(packets(&file), written);
            let mut reader = PcapNgReader::new(&file[..]).unwrap();
            while let Some(block) = reader.next_block() {
                block.unwrap();
            }
            let found: Vec<String> = reader.interfaces().iter().flat_map(|interface| &interface.options).filter_map(|option| match option {
                InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                _ => None,
            }).collect();
            prop_assert_eq!(found, names);
        }
    }
}
