//! Messages of the generic netlink family MAC80211_HWSIM, version 1.
//!
//! Source: the kernel's drivers/net/wireless/virtual/mac80211_hwsim.h.

use netlink_packet_core::{DecodeError, DefaultNla, Emitable, NlaBuffer, NlasIterator, ParseableParametrized};
use netlink_packet_generic::{GenlFamily, GenlHeader};

use crate::Mac;

/// The sender requests the transmission status (HWSIM_TX_CTL_REQ_TX_STATUS).
pub const WANTS_STATUS: u32 = 1;
/// No acknowledgement is expected (HWSIM_TX_CTL_NO_ACK).
pub const NO_ACK: u32 = 2;
/// The frame was acknowledged (HWSIM_TX_STAT_ACK).
pub const ACKED: u32 = 4;

/// A stage's index is an HT MCS (MAC80211_HWSIM_TX_RC_MCS).
pub const STAGE_IS_HT: u16 = 1 << 3;
/// A stage's channel has 40 MHz (MAC80211_HWSIM_TX_RC_40_MHZ_WIDTH).
pub const STAGE_40_MHZ: u16 = 1 << 5;
/// A stage has the short guard interval (MAC80211_HWSIM_TX_RC_SHORT_GI).
pub const STAGE_SHORT_GUARD: u16 = 1 << 7;
/// A stage's channel has 80 MHz (MAC80211_HWSIM_TX_RC_80_MHZ_WIDTH).
pub const STAGE_80_MHZ: u16 = 1 << 9;
/// A stage's channel has 160 MHz (MAC80211_HWSIM_TX_RC_160_MHZ_WIDTH).
pub const STAGE_160_MHZ: u16 = 1 << 10;
/// A stage's index is a VHT MCS (MAC80211_HWSIM_TX_RC_VHT_MCS).
pub const STAGE_IS_VHT: u16 = 1 << 8;

mod command {
    pub const REGISTER: u8 = 1;
    pub const FRAME: u8 = 2;
    pub const TX_INFO_FRAME: u8 = 3;
    pub const ADD_MAC: u8 = 7;
    pub const DEL_MAC: u8 = 8;
}

mod attribute {
    pub const ADDR_RECEIVER: u16 = 1;
    pub const ADDR_TRANSMITTER: u16 = 2;
    pub const FRAME: u16 = 3;
    pub const FLAGS: u16 = 4;
    pub const RX_RATE: u16 = 5;
    pub const SIGNAL: u16 = 6;
    pub const TX_INFO: u16 = 7;
    pub const COOKIE: u16 = 8;
    pub const FREQ: u16 = 19;
    pub const TX_INFO_FLAGS: u16 = 21;
}

/// Entries of a TX_INFO: the stages of mac80211's retry chain.
pub const STAGES: usize = 4;

/// A stage of the retry chain: index into the band's rates (or an MCS), -1 when unused, and attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Index into the rates of the band.
    pub rate_index: i8,
    /// Attempts made or permitted.
    pub count: u8,
}

impl Stage {
    /// Ends the chain.
    pub const UNUSED: Stage = Stage { rate_index: -1, count: 0 };
}

/// A frame that a radio sends (kernel to medium).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The radio's hardware address (the second of its addresses).
    pub transmitter: Mac,
    /// The 802.11 frame without FCS.
    pub frame: Vec<u8>,
    /// `WANTS_STATUS`, `NO_ACK`.
    pub flags: u32,
    /// Centre of the channel in MHz, if the kernel gives it.
    pub frequency_mhz: Option<u32>,
    /// The retry chain of the rate control.
    pub chain: [Stage; STAGES],
    /// The kind of each stage's index: `STAGE_IS_HT`, `STAGE_IS_VHT`, or neither.
    pub stage_flags: [u16; STAGES],
    /// The kernel's identifier of the frame.
    pub cookie: u64,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Registers the sender of this message as the medium.
    Register,
    /// A radio sends.
    Sent(Sent),
    /// A radio receives (medium to kernel).
    Deliver {
        /// The radio's hardware address.
        receiver: Mac,
        /// The 802.11 frame without FCS.
        frame: Vec<u8>,
        /// Index in the band's rates.
        rate_index: u32,
        /// Received signal strength in dBm.
        signal_dbm: i32,
        /// Channel in MHz.
        frequency_mhz: u32,
    },
    /// Transmission status (medium to kernel).
    Status {
        /// As in `Sent`.
        transmitter: Mac,
        /// As in `Sent`, with `ACKED` where it was.
        flags: u32,
        /// Strength of the ACK in dBm.
        signal_dbm: i32,
        /// Attempts made.
        chain: [Stage; STAGES],
        /// As in `Sent`.
        cookie: u64,
    },
    /// A radio gets (true) or loses (false) a further address.
    Address {
        /// The radio's hardware address.
        transmitter: Mac,
        /// The interface's address.
        address: Mac,
        /// It is added.
        added: bool,
    },
    /// A command that does not concern a medium.
    Other(u8),
}

impl GenlFamily for Message {
    fn family_name() -> &'static str {
        "MAC80211_HWSIM"
    }

    fn command(&self) -> u8 {
        match self {
            Message::Register => command::REGISTER,
            Message::Sent(_) | Message::Deliver { .. } => command::FRAME,
            Message::Status { .. } => command::TX_INFO_FRAME,
            Message::Address { added: true, .. } => command::ADD_MAC,
            Message::Address { added: false, .. } => command::DEL_MAC,
            Message::Other(command) => *command,
        }
    }

    fn version(&self) -> u8 {
        1
    }
}

impl Message {
    fn attributes(&self) -> Vec<DefaultNla> {
        let put = |kind: u16, value: &[u8]| DefaultNla::new(kind, value.to_vec());
        match self {
            Message::Register | Message::Other(_) => Vec::new(),
            Message::Sent(sent) => {
                let mut all = vec![
                    put(attribute::ADDR_TRANSMITTER, &sent.transmitter),
                    put(attribute::FRAME, &sent.frame),
                    put(attribute::FLAGS, &sent.flags.to_ne_bytes()),
                    put(attribute::TX_INFO, &chain_bytes(&sent.chain)),
                    put(attribute::TX_INFO_FLAGS, &flags_bytes(&sent.chain, sent.stage_flags)),
                    put(attribute::COOKIE, &sent.cookie.to_ne_bytes()),
                ];
                all.extend(sent.frequency_mhz.map(|mhz| put(attribute::FREQ, &mhz.to_ne_bytes())));
                all
            }
            Message::Deliver { receiver, frame, rate_index, signal_dbm, frequency_mhz } => vec![
                put(attribute::ADDR_RECEIVER, receiver),
                put(attribute::FRAME, frame),
                put(attribute::RX_RATE, &rate_index.to_ne_bytes()),
                put(attribute::SIGNAL, &signal_dbm.to_ne_bytes()),
                put(attribute::FREQ, &frequency_mhz.to_ne_bytes()),
            ],
            Message::Status { transmitter, flags, signal_dbm, chain, cookie } => vec![
                put(attribute::ADDR_TRANSMITTER, transmitter),
                put(attribute::FLAGS, &flags.to_ne_bytes()),
                put(attribute::SIGNAL, &signal_dbm.to_ne_bytes()),
                put(attribute::TX_INFO, &chain_bytes(chain)),
                put(attribute::COOKIE, &cookie.to_ne_bytes()),
            ],
            Message::Address { transmitter, address, .. } => {
                vec![put(attribute::ADDR_TRANSMITTER, transmitter), put(attribute::ADDR_RECEIVER, address)]
            }
        }
    }
}

fn chain_bytes(chain: &[Stage; STAGES]) -> Vec<u8> {
    chain.iter().flat_map(|stage| [stage.rate_index as u8, stage.count]).collect()
}

/// Packed: index, flags.
fn flags_bytes(chain: &[Stage; STAGES], flags: [u16; STAGES]) -> Vec<u8> {
    let pairs = chain.iter().zip(flags);
    pairs.flat_map(|(stage, flags)| [&[stage.rate_index as u8][..], &flags.to_ne_bytes()].concat()).collect()
}

impl Emitable for Message {
    fn buffer_len(&self) -> usize {
        self.attributes().as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.attributes().as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Message {
    fn parse_with_param(buffer: &[u8], header: GenlHeader) -> Result<Self, DecodeError> {
        let attributes = NlasIterator::new(buffer).collect::<Result<Vec<_>, _>>()?;
        let found = Attributes(&attributes);
        Ok(match header.cmd {
            command::REGISTER => Message::Register,
            command::FRAME if found.get(attribute::ADDR_RECEIVER).is_some() => Message::Deliver {
                receiver: found.need(attribute::ADDR_RECEIVER)?,
                frame: found.bytes(attribute::FRAME)?.to_vec(),
                rate_index: u32::from_ne_bytes(found.need(attribute::RX_RATE)?),
                signal_dbm: i32::from_ne_bytes(found.need(attribute::SIGNAL)?),
                frequency_mhz: u32::from_ne_bytes(found.need(attribute::FREQ)?),
            },
            command::FRAME => Message::Sent(Sent {
                transmitter: found.need(attribute::ADDR_TRANSMITTER)?,
                frame: found.bytes(attribute::FRAME)?.to_vec(),
                flags: u32::from_ne_bytes(found.need(attribute::FLAGS)?),
                frequency_mhz: match found.get(attribute::FREQ) {
                    Some(_) => Some(u32::from_ne_bytes(found.need(attribute::FREQ)?)),
                    None => None,
                },
                chain: found.chain()?,
                stage_flags: found.stage_flags(),
                cookie: u64::from_ne_bytes(found.need(attribute::COOKIE)?),
            }),
            command::TX_INFO_FRAME => Message::Status {
                transmitter: found.need(attribute::ADDR_TRANSMITTER)?,
                flags: u32::from_ne_bytes(found.need(attribute::FLAGS)?),
                signal_dbm: i32::from_ne_bytes(found.need(attribute::SIGNAL)?),
                chain: found.chain()?,
                cookie: u64::from_ne_bytes(found.need(attribute::COOKIE)?),
            },
            command::ADD_MAC | command::DEL_MAC => Message::Address {
                transmitter: found.need(attribute::ADDR_TRANSMITTER)?,
                address: found.need(attribute::ADDR_RECEIVER)?,
                added: header.cmd == command::ADD_MAC,
            },
            other => Message::Other(other),
        })
    }
}

/// The attributes of a message, by kind.
struct Attributes<'a>(&'a [NlaBuffer<&'a [u8]>]);

impl<'a> Attributes<'a> {
    fn get(&self, kind: u16) -> Option<&'a [u8]> {
        self.0.iter().find(|attribute| attribute.kind() == kind).map(NlaBuffer::value)
    }

    fn bytes(&self, kind: u16) -> Result<&'a [u8], DecodeError> {
        self.get(kind).ok_or_else(|| DecodeError::from(format!("attribute {kind} is missing")))
    }

    /// The first N octets of an attribute.
    fn need<const N: usize>(&self, kind: u16) -> Result<[u8; N], DecodeError> {
        let bytes = self.bytes(kind)?;
        let head = bytes.get(..N).and_then(|head| head.try_into().ok());
        head.ok_or_else(|| DecodeError::from(format!("attribute {kind} has {} octets, not {N}", bytes.len())))
    }

    /// The retry chain; the kernel may send fewer stages than it has room for.
    fn chain(&self) -> Result<[Stage; STAGES], DecodeError> {
        let mut chain = [Stage::UNUSED; STAGES];
        for (stage, pair) in chain.iter_mut().zip(self.bytes(attribute::TX_INFO)?.chunks_exact(2)) {
            *stage = Stage { rate_index: pair[0] as i8, count: pair[1] };
        }
        Ok(chain)
    }

    /// Flags of each stage. Kernels before 5.10 do not send them.
    fn stage_flags(&self) -> [u16; STAGES] {
        let mut flags = [0; STAGES];
        for (flag, entry) in flags.iter_mut().zip(self.get(attribute::TX_INFO_FLAGS).unwrap_or(&[]).chunks_exact(3)) {
            *flag = u16::from_ne_bytes([entry[1], entry[2]]);
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(message: &Message) -> Vec<u8> {
        let mut buffer = vec![0; message.buffer_len()];
        message.emit(&mut buffer);
        buffer
    }

    fn parse(command: u8, bytes: &[u8]) -> Result<Message, DecodeError> {
        Message::parse_with_param(bytes, GenlHeader { cmd: command, version: 1 })
    }

    fn sent() -> Sent {
        Sent {
            transmitter: [0x42, 0, 0, 0, 1, 0],
            frame: vec![0x08, 0, 0, 0, 7],
            flags: WANTS_STATUS,
            frequency_mhz: Some(2412),
            chain: [Stage { rate_index: 4, count: 3 }, Stage { rate_index: 0, count: 2 }, Stage::UNUSED, Stage::UNUSED],
            stage_flags: [STAGE_IS_HT, 0, 0, 0],
            cookie: 0x0102_0304_0506_0708,
        }
    }

    #[test]
    fn register_carries_no_attributes() {
        assert_eq!(bytes(&Message::Register), Vec::<u8>::new());
        assert_eq!(Message::Register.command(), 1);
    }

    #[test]
    fn status_lies_in_memory_as_the_kernel_reads_it() {
        let status = Message::Status {
            transmitter: [1, 2, 3, 4, 5, 6],
            flags: WANTS_STATUS | ACKED,
            signal_dbm: -50,
            chain: [Stage { rate_index: 4, count: 2 }, Stage::UNUSED, Stage::UNUSED, Stage::UNUSED],
            cookie: 1,
        };
        // length, kind (little-endian here), value, padding to four
        #[rustfmt::skip]
        let expected = [
            10, 0, 2, 0,  1, 2, 3, 4, 5, 6, 0, 0,
            8, 0, 4, 0,  5, 0, 0, 0,
            8, 0, 6, 0,  0xce, 0xff, 0xff, 0xff,
            12, 0, 7, 0,  4, 2, 0xff, 0, 0xff, 0, 0xff, 0,
            12, 0, 8, 0,  1, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(bytes(&status), expected);
        assert_eq!(status.command(), 3);
    }

    #[test]
    fn a_sent_frame_comes_back_whole() {
        let message = Message::Sent(sent());
        assert_eq!(parse(2, &bytes(&message)).unwrap(), message);
    }

    #[test]
    fn a_chain_without_flags_is_one_of_legacy_rates() {
        let message = Message::Sent(sent());
        let mut octets = bytes(&message);
        let at = octets.windows(4).position(|head| head == [16, 0, 21, 0]).expect("TX_INFO_FLAGS, 4 + 4 * 3 octets");
        assert_eq!(octets[at + 4..at + 10], [4, 8, 0, 0, 0, 0]);
        octets.drain(at..at + 16);
        assert_eq!(parse(2, &octets).unwrap(), Message::Sent(Sent { stage_flags: [0; STAGES], ..sent() }));
    }

    #[test]
    fn a_frame_without_frequency_is_taken() {
        let message = Message::Sent(Sent { frequency_mhz: None, ..sent() });
        assert_eq!(parse(2, &bytes(&message)).unwrap(), message);
    }

    #[test]
    fn a_missing_or_short_attribute_is_named() {
        let error = parse(2, &[]).unwrap_err().to_string();
        assert!(error.contains("attribute 2 is missing"), "{error}");
        let error = parse(2, &[6, 0, 2, 0, 9, 9, 0, 0]).unwrap_err().to_string();
        assert!(error.contains("attribute 2 has 2 octets, not 6"), "{error}");
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(command: u8, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(command, &bytes);
        }

        #[test]
        fn a_damaged_message_is_read_or_refused(at in 0_usize..100, value: u8) {
            let mut whole = bytes(&Message::Sent(sent()));
            let place = at % whole.len();
            whole[place] = value;
            let _ = parse(2, &whole);
        }
    }
}
