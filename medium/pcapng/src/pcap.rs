//! The reader.

const MAGIC_NS: u32 = 0xa1b2_3c4d;
const HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;

/// A pcap file of nanoseconds, in memory. Iterates over its records, up to the first that is cut off.
#[derive(Debug, Clone, Copy)]
pub struct Pcap<'a> {
    number: fn([u8; 4]) -> u32,
    rest: &'a [u8],
    /// What its packets begin with, for example [`crate::link_type::ETHERNET`].
    pub link_type: u16,
    /// Most bytes of a packet in the file, as its header says. A packet may have more.
    pub snap_bytes: u32,
}

/// A packet of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Nanoseconds since 1970.
    pub at_ns: u64,
    /// Its length on the link, of which `data` may be the first part.
    pub length: u32,
    /// The bytes in the file.
    pub data: &'a [u8],
}

impl<'a> Pcap<'a> {
    /// None if the bytes do not begin as a pcap file of nanoseconds, of either byte order.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
        let magic = header.first_chunk()?;
        let orders: [fn([u8; 4]) -> u32; 2] = [u32::from_le_bytes, u32::from_be_bytes];
        let number = orders.into_iter().find(|order| order(*magic) == MAGIC_NS)?;
        let field = |place: usize| header[place..].first_chunk().map(|bytes| number(*bytes));
        // The upper half of the last field says whether frames end with their check sequence.
        Some(Pcap { number, rest, snap_bytes: field(16)?, link_type: field(20)? as u16 })
    }
}

impl<'a> Iterator for Pcap<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let (header, rest) = self.rest.split_at_checked(RECORD_HEADER_BYTES)?;
        let field = |place: usize| header[place..].first_chunk().map(|bytes| (self.number)(*bytes));
        let (seconds, ns) = (field(0)?, field(4)?);
        let (data, rest) = rest.split_at_checked(field(8)? as usize)?;
        let record = Record { at_ns: u64::from(seconds) * 1_000_000_000 + u64::from(ns), length: field(12)?, data };
        self.rest = rest;
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pcap_file::pcap::{PcapHeader, PcapWriter, RawPcapPacket};
    use pcap_file::{DataLink, Endianness, TsResolution};

    use super::*;

    #[test]
    fn a_file_of_another_implementation_is_read_in_both_byte_orders() {
        for endianness in [Endianness::Big, Endianness::Little] {
            let header = PcapHeader {
                endianness,
                ts_resolution: TsResolution::NanoSecond,
                snaplen: 3,
                datalink: DataLink::ETHERNET,
                ..PcapHeader::default()
            };
            let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
            // As long as the number says, although the header's snap length is less.
            let (ts_sec, ts_frac) = (1_700_000_000, 999_999_999);
            for data in [&b"abcd"[..], b""] {
                let record =
                    RawPcapPacket { ts_sec, ts_frac, incl_len: data.len() as u32, orig_len: 9, data: data.into() };
                writer.write_raw_packet(&record).unwrap();
            }
            let bytes = writer.into_writer();
            let file = Pcap::read(&bytes).unwrap();
            assert_eq!((file.link_type, file.snap_bytes), (crate::link_type::ETHERNET, 3));
            let at_ns = Duration::new(ts_sec.into(), ts_frac).as_nanos() as u64;
            let expected = [&b"abcd"[..], b""].map(|data| Record { at_ns, length: 9, data });
            assert_eq!(file.collect::<Vec<_>>(), expected);
            let cut = Pcap::read(&bytes[..bytes.len() - 1]).unwrap();
            assert_eq!(cut.collect::<Vec<_>>(), expected[..1], "a record that is cut off ends the file");
        }
    }
}
