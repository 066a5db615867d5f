//! The netlink socket to mac80211_hwsim.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};
use nix::sys::socket::{setsockopt, sockopt};
use pacelab_hwsim::message::Message;

/// Frames of a second at 20 Mbit/s.
const KERNEL_BUFFER_BYTES: usize = 4 << 20;
const MESSAGE_BYTES: usize = 16_384;
/// Above all process numbers (22 bits), below those that the kernel counts down from the top.
const OWN_PORTS: u32 = 1 << 30;
const PORT_ATTEMPT_SHIFT: u32 = 22;
const PORT_ATTEMPTS: u32 = 16;

/// What the kernel says.
#[derive(Debug)]
pub enum Heard {
    /// A message of a radio.
    Message(Message),
    /// The answer to a registration: Ok, or the error number.
    Registered(Result<(), i32>),
    /// Not understood.
    Malformed,
    /// An answer that nobody waits for.
    Other,
}

/// The socket.
pub struct RadioSocket {
    socket: Socket,
    family: u16,
    sequence: u32,
    registration: u32,
    buffer: Vec<u8>,
}

impl RadioSocket {
    /// Opens it and makes it the medium of all radios of this network namespace.
    ///
    /// # Errors
    /// One line: what the host lacks.
    pub fn open() -> Result<Self, String> {
        let told = |error: io::Error| format!("netlink: {error}");
        let mut socket = Socket::new(NETLINK_GENERIC).map_err(told)?;
        bind(&mut socket).map_err(told)?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(told)?;
        let family = resolve(&socket)?;
        let (sequence, registration) = (1, 0);
        let mut opened = RadioSocket { socket, family, sequence, registration, buffer: vec![0; MESSAGE_BYTES] };
        opened.register().map_err(told)?;
        loop {
            match opened.read().map_err(told)? {
                Heard::Registered(Ok(())) => break,
                Heard::Registered(Err(code)) => {
                    return Err(format!("registering with mac80211_hwsim: {}", refusal(code)));
                }
                _ => {}
            }
        }
        let _ = setsockopt(&opened.socket, sockopt::RcvBufForce, &KERNEL_BUFFER_BYTES); // else what there is must do
        opened.socket.set_non_blocking(true).map_err(told)?;
        Ok(opened)
    }

    /// Asks to be the medium; `Heard::Registered` is the answer, EBUSY if it is already.
    ///
    /// # Errors
    /// When the kernel takes no message.
    pub fn register(&mut self) -> io::Result<()> {
        self.registration = self.sequence;
        self.put(Message::Register, NLM_F_REQUEST | NLM_F_ACK)
    }

    /// Tells the kernel something.
    ///
    /// # Errors
    /// When the kernel takes no message.
    pub fn tell(&mut self, message: Message) -> io::Result<()> {
        self.put(message, NLM_F_REQUEST)
    }

    fn put(&mut self, message: Message, flags: u16) -> io::Result<()> {
        let mut message = GenlMessage::from_payload(message);
        message.set_resolved_family_id(self.family);
        send(&self.socket, message, flags, self.sequence)?;
        self.sequence = self.sequence.wrapping_add(1);
        Ok(())
    }

    /// Reads one message.
    ///
    /// # Errors
    /// `WouldBlock` when there is none; ENOBUFS when the kernel had to lose some.
    pub fn read(&mut self) -> io::Result<Heard> {
        let mut space = self.buffer.as_mut_slice();
        let (length, from) = self.socket.recv_from(&mut space, 0)?;
        if from.port_number() != 0 {
            return Ok(Heard::Other); // another process
        }
        let Ok(message) = NetlinkMessage::<GenlMessage<Message>>::deserialize(&self.buffer[..length]) else {
            return Ok(Heard::Malformed);
        };
        Ok(match message.payload {
            NetlinkPayload::InnerMessage(inner) => Heard::Message(inner.payload),
            NetlinkPayload::Error(error) if message.header.sequence_number == self.registration => {
                Heard::Registered(error.code.map_or(Ok(()), |code| Err(-code.get())))
            }
            _ => Heard::Other,
        })
    }
}

impl AsFd for RadioSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Takes a port that nobody gets by itself. hwsim takes the end of *any* netlink socket with its medium's port number for
/// the medium's end, whatever that socket's protocol is; and what the kernel gives is the process's number, to one socket
/// of each protocol, and in each namespace of processes.
fn bind(socket: &mut Socket) -> io::Result<()> {
    let own = std::process::id();
    let mut result = Ok(());
    for attempt in 0..PORT_ATTEMPTS {
        result = socket.bind(&SocketAddr::new(OWN_PORTS | attempt << PORT_ATTEMPT_SHIFT | own, 0));
        if !result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse) {
            break;
        }
    }
    result
}

fn refusal(code: i32) -> String {
    let advice = match code {
        libc::EBUSY => "; another medium (wmediumd, mediumd) has its radios: end it first",
        libc::EPERM => "; run as root",
        libc::EOPNOTSUPP => "; its radios have several channels: load it with channels=1",
        _ => "",
    };
    format!("{}{advice}", io::Error::from_raw_os_error(code))
}

/// The number that the kernel gave to the family.
fn resolve(socket: &Socket) -> Result<u16, String> {
    let name = Message::family_name();
    let nlas = vec![GenlCtrlAttrs::FamilyName(name.into())];
    let request = GenlMessage::from_payload(GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas });
    let told = |error: io::Error| format!("netlink: looking for {name}: {error}");
    send(socket, request, NLM_F_REQUEST, 0).map_err(told)?;
    let (answer, _) = socket.recv_from_full().map_err(told)?;
    let answer = NetlinkMessage::<GenlMessage<GenlCtrl>>::deserialize(&answer);
    let attributes = match answer.map_err(|error| format!("netlink: looking for {name}: {error}"))?.payload {
        NetlinkPayload::InnerMessage(message) => message.payload.nlas,
        _ => return Err("there is no mac80211_hwsim here; try: modprobe mac80211_hwsim radios=3".into()),
    };
    let number = attributes.iter().find_map(|attribute| match attribute {
        GenlCtrlAttrs::FamilyId(number) => Some(*number),
        _ => None,
    });
    number.ok_or_else(|| format!("netlink: {name} has no number"))
}

fn send<I>(socket: &Socket, message: I, flags: u16, sequence: u32) -> io::Result<()>
where
    I: NetlinkSerializable + NetlinkDeserializable + Into<NetlinkPayload<I>>,
{
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    header.sequence_number = sequence;
    let mut message = NetlinkMessage::new(header, message.into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0).map(|_| ())
}
