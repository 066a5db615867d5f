//! Hosts with radios of mac80211_hwsim: one netlink socket carries all frames.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{setsockopt, sockopt};
use pacelab_engine::{Id, IdVec, Mcs, Ns, Phy, StationId, bit_rate_bps};
use pacelab_hwsim::frame::{Head, decline_block_ack, rate_index};
use pacelab_hwsim::mesh::Mesh;
use pacelab_hwsim::message::{Message, Sent};

use crate::air::Monitor;
use crate::air::pump::{Hosts, Telemetry};
use crate::config::Mac;
use crate::frames::associations::{Associations, Transit};
use crate::frames::carrier::Carrier;
use crate::frames::radio::{Radios, Tag, carried_out};
use crate::frames::{CarrierHandler, Delivery, DropCause, Event, TxStatus};
use crate::wmediumd_network::WmediumdNetwork;

/// Messages read in a row before the air continues.
const BATCH: usize = 32;
/// Interval of repeated registrations. Some set-ups lose the registration without a message.
const REGISTRATION_NS: Ns = 2_000_000_000;
/// The hardware address in hwsim is the permanent address with this bit set.
const HARDWARE_BIT: u8 = 0x40;
/// The retry bit in the second octet of the frame control field (IEEE 802.11-2020 Sec. 9.2.4.1).
const RETRY: u8 = 0x08;
/// Signal strength of an ACK if the link of its sender is no longer known.
const ACK_DBM: i32 = -50;

/// The hosts, by station.
pub struct RadioHosts {
    socket: RadioSocket,
    /// Hardware addresses.
    hardware: IdVec<StationId, Mac>,
    /// The network of wmediumd's configuration. None: the configuration is mediumd's own.
    network: Option<WmediumdNetwork>,
    associations: Associations,
    register_at: Ns,
    telemetry: Telemetry,
}

impl RadioHosts {
    /// Hosts with these permanent addresses.
    pub fn new(
        socket: RadioSocket,
        macs: impl IntoIterator<Item = Mac>,
        network: Option<WmediumdNetwork>,
        telemetry: Telemetry,
    ) -> Self {
        let hardware: IdVec<StationId, Mac> = macs.into_iter().map(hardware_of).collect();
        let associations = Associations::new(hardware.len());
        RadioHosts { socket, hardware, network, associations, register_at: REGISTRATION_NS, telemetry }
    }

    /// The sending station, by the frame's second address or else by the radio. Learns the radio of the station.
    fn sender(&mut self, carrier: &Carrier<Radios>, sent: &Sent) -> Option<StationId> {
        let transmitter = Mac(sent.transmitter);
        let by_frame = Head::read(&sent.frame).and_then(|head| carrier.format.station_of(Mac(head.transmitter)));
        if let Some(station) = by_frame {
            self.hardware[station] = transmitter;
        }
        by_frame.or_else(|| self.with_hardware(transmitter))
    }

    fn with_hardware(&self, address: Mac) -> Option<StationId> {
        self.hardware.iter().position(|&hardware| hardware == address).map(StationId::from_index)
    }

    fn sent(&mut self, sent: &Sent, carrier: &mut Carrier<Radios>) {
        let now = self.telemetry.now();
        carrier.advance(now, self);
        let tag = Tag {
            transmitter: Mac(sent.transmitter),
            flags: sent.flags,
            frequency_mhz: sent.frequency_mhz.unwrap_or(0),
            chain: sent.chain,
            stage_flags: sent.stage_flags,
            cookie: sent.cookie,
        };
        let Some(station) = self.sender(carrier, sent) else {
            carrier.count_drop(DropCause::NoStation);
            self.finish(StationId(0), now, &tag, 0, TxStatus::Failed);
            return;
        };
        self.associations.sent(station, &sent.frame, now);
        carrier.set_channel(station, tag.frequency_mhz);
        let changed =
            self.network.as_mut().map(|network| network.heard(station.index(), sent.frequency_mhz, &sent.frame));
        if changed == Some(true) {
            self.tune(station, carrier);
        }
        if tag.is_mcs(0) {
            self.note_mcs(station, &sent.frame, carrier);
        }
        let told_before = carrier.traffic(station).substituted > 0;
        let slot = carrier.slot();
        let space = carrier.space(slot);
        let length = sent.frame.len().min(space.len());
        space[..length].copy_from_slice(&sent.frame[..length]);
        carrier.arrive(now, station, slot, length, tag, self);
        if !told_before && carrier.traffic(station).substituted > 0 {
            let stands = carrier.format.rates(station, &tag, false).map_or(0, |chain| bit_rate_bps(chain.rate_bps(0)));
            eprintln!(
                "mediumd: {} sends at {}: the air has no such rate there: it counts as {} Mbit/s. Told once; the \
                 statistics count further ones",
                self.hardware[station],
                tag.wanted(),
                f64::from(stands) / 1e6
            );
        }
    }

    /// Updates a station that changed its channel or announced other rates.
    fn tune(&self, station: StationId, carrier: &mut Carrier<Radios>) {
        let Some(network) = &self.network else { return };
        let phy = network.phy(station.index());
        let high_throughput = network.has_high_throughput(station.index());
        carrier.set_phy(station, phy, high_throughput);
        carrier.set_queue_limit(station, network.queue_limit(station.index()));
        carrier.format.set_rates(station, Phy::of(phy, true).rates_bps(), high_throughput);
        carrier.set_links(station, network.leaving(station.index()), network.arriving(station.index()));
    }

    /// A station that sends with an MCS, and its receiver, have 802.11n, whatever they have announced so far.
    fn note_mcs(&mut self, station: StationId, frame: &[u8], carrier: &mut Carrier<Radios>) {
        let receiver = Head::read(frame).and_then(|head| carrier.format.station_of(Mac(head.receiver)));
        for station in std::iter::once(station).chain(receiver) {
            if self.network.as_mut().is_some_and(|network| network.note_mcs(station.index())) {
                self.tune(station, carrier);
            }
        }
    }

    /// Writes to the log what the users of wmediumd have to know.
    fn report(&mut self, carrier: &Carrier<Radios>, now: Ns) {
        for (station, reason) in self.associations.failures(now) {
            let address = carrier.format.address_of(station).unwrap_or(self.hardware[station]);
            eprintln!("wmediumd: {address} {reason}");
        }
        let line = self.telemetry.lateness.change(now);
        line.into_iter().for_each(|line| eprintln!("wmediumd: {line}"));
    }

    fn address(&self, hardware: Mac, address: Mac, added: bool, format: &mut Radios) {
        let Some(station) = self.with_hardware(hardware) else { return };
        if !added {
            format.remove(station, address);
        } else if format.station_of(address).is_none() {
            format.add(station, address);
        }
    }
}

fn hardware_of(mut mac: Mac) -> Mac {
    mac.0[0] |= HARDWARE_BIT;
    mac
}

impl CarrierHandler<Tag> for RadioHosts {
    fn deliver(&mut self, station: StationId, delivery: Delivery<'_, Tag>) -> bool {
        let Delivery { due, frame, tag, power_w, rate_bps, retry, from, sent_at, is_copy } = delivery;
        // The kernel takes only legacy rates from a medium.
        let rate_bps = rate_bps.or(tag.rate_bps(0)).unwrap_or(0);
        let rate_bps = Mcs::from_code(rate_bps).map_or(rate_bps, Mcs::reference_rate_bps);
        let original = frame;
        let mut frame = frame.to_vec();
        if let Some(flags) = frame.get_mut(1).filter(|_| retry) {
            *flags |= RETRY;
        }
        // hwsim reports no status of frames under a Block Ack session of the kernel to its rate control. The medium has
        // agreements of its own, so the kernel needs no session.
        if self.network.as_ref().is_some_and(|network| network.has_high_throughput(from.index())) {
            decline_block_ack(&mut frame);
        }
        let shift_db = self.network.as_ref().map_or(0.0, |network| network.shift_db(station.index()));
        let message = Message::Deliver {
            receiver: self.hardware[station].0,
            frame,
            rate_index: rate_index(tag.frequency_mhz, rate_bps).unwrap_or(0),
            signal_dbm: (10.0 * power_w.max(1e-16).log10() + 30.0 + shift_db).clamp(-100.0, 20.0) as i32,
            frequency_mhz: tag.frequency_mhz,
        };
        let taken = self.socket.send_message(message).is_ok();
        if !is_copy {
            self.telemetry.delivered(due, taken);
            let late = self.telemetry.now().saturating_sub(due);
            self.associations.delivered(Some(from), station, original, Transit { sent_at, due, late });
        }
        taken
    }

    fn finish(&mut self, _: StationId, _: Ns, tag: &Tag, attempts: u32, fate: TxStatus) {
        let status = Message::Status {
            transmitter: tag.transmitter.0,
            flags: tag.status_flags(fate),
            signal_dbm: ACK_DBM,
            chain: carried_out(&tag.chain, attempts),
            cookie: tag.cookie,
        };
        let _ = self.socket.send_message(status); // the radio may be gone
    }

    fn listens(&self, kind: u32) -> bool {
        self.telemetry.event_sender.listens(kind)
    }

    fn send_event(&mut self, event: Event) {
        self.telemetry.event_sender.send(event);
    }
}

impl Hosts for RadioHosts {
    type FrameFormat = Radios;

    fn watch(&self, epoll: &Epoll) -> io::Result<()> {
        Ok(epoll.add(&self.socket, EpollEvent::new(EpollFlags::EPOLLIN, 0))?)
    }

    fn wanted_at(&self) -> Ns {
        self.register_at
    }

    fn read(&mut self, _: u64, carrier: &mut Carrier<Radios>, _: &Epoll) -> io::Result<()> {
        for _ in 0..BATCH {
            match self.socket.read() {
                Ok(Heard::Message(Message::Sent(sent))) => self.sent(&sent, carrier),
                Ok(Heard::Message(Message::Address { transmitter, address, added })) => {
                    self.address(Mac(transmitter), Mac(address), added, &mut carrier.format);
                }
                Ok(Heard::Registered(Ok(()))) => eprintln!("mediumd: the registration was lost; registered again"),
                Ok(Heard::Malformed) => carrier.count_drop(DropCause::Malformed),
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => {
                    let now = self.telemetry.now();
                    self.telemetry.lateness.lost(now);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn on_timer(&mut self, carrier: &mut Carrier<Radios>, _: &Epoll) -> io::Result<()> {
        let now = self.telemetry.now();
        if now >= self.register_at {
            self.register_at = now + REGISTRATION_NS;
            let _ = self.socket.register(); // repeated after the interval
            // mediumd's own clients read the fidelity from the socket, and wmediumd's have only the log.
            if self.network.is_some() {
                self.report(carrier, now);
            }
        }
        Ok(())
    }

    fn set_mesh(&mut self, carrier: &mut Carrier<Radios>, mesh: Mesh) {
        let Some(network) = &mut self.network else { return };
        let changed = network.replace(mesh);
        for &station in &changed {
            let (before, now) =
                (carrier.format.address_of(StationId::from_index(station)), network.address(station).map(Mac));
            if before != now {
                carrier.format.set(StationId::from_index(station), now);
                self.hardware[StationId::from_index(station)] = now.map_or(Mac([0; 6]), hardware_of);
            }
        }
        // Most requests move one station, and there may be many per second.
        if let &[station] = &changed[..] {
            carrier.set_links(StationId::from_index(station), network.leaving(station), network.arriving(station));
        } else {
            carrier.set_all_links(network.links());
        }
    }

    fn set_monitors(&mut self, carrier: &mut Carrier<Radios>, monitors: &[Monitor]) {
        let mut stations = Vec::new();
        for monitor in monitors {
            let radio = monitor.radio.map(hardware_of);
            let by_address = carrier.format.station_of(monitor.address);
            let Some(station) = radio.and_then(|radio| self.with_hardware(radio)).or(by_address) else { continue };
            if let Some(radio) = radio {
                self.hardware[station] = radio; // a radio that has only listened has not been heard
            }
            stations.push(station);
        }
        carrier.set_monitors(stations);
    }

    fn telemetry(&mut self) -> &mut Telemetry {
        &mut self.telemetry
    }
}

// The netlink socket to mac80211_hwsim.

/// Frames of a second at 20 Mbit/s.
const KERNEL_BUFFER_BYTES: usize = 4 << 20;
const MESSAGE_BYTES: usize = 16_384;
/// First netlink port: above all process numbers (22 bits), and below the ports that the kernel assigns from the top.
const FIRST_PORT: u32 = 1 << 30;
const PORT_ATTEMPT_SHIFT: u32 = 22;
const PORT_ATTEMPTS: u32 = 16;

/// A message from the kernel.
#[derive(Debug)]
pub enum Heard {
    /// A message of a radio.
    Message(Message),
    /// The reply to a registration: Ok, or the error number.
    Registered(Result<(), i32>),
    /// A message that could not be decoded.
    Malformed,
    /// A reply that nothing waits for.
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
    /// Opens the socket and registers it as the medium of all radios in this network namespace.
    ///
    /// # Errors
    /// The host lacks something. The message is one line.
    pub fn open() -> Result<Self, String> {
        let describe = |error: io::Error| format!("netlink: {error}");
        let mut socket = Socket::new(NETLINK_GENERIC).map_err(describe)?;
        bind(&mut socket).map_err(describe)?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(describe)?;
        let family = resolve(&socket)?;
        let (sequence, registration) = (1, 0);
        let mut opened = RadioSocket { socket, family, sequence, registration, buffer: vec![0; MESSAGE_BYTES] };
        opened.register().map_err(describe)?;
        loop {
            match opened.read().map_err(describe)? {
                Heard::Registered(Ok(())) => break,
                Heard::Registered(Err(code)) => {
                    return Err(format!("registering with mac80211_hwsim: {}", refusal(code)));
                }
                _ => {}
            }
        }
        let _ = setsockopt(&opened.socket, sockopt::RcvBufForce, &KERNEL_BUFFER_BYTES); // optional: needs a privilege
        opened.socket.set_non_blocking(true).map_err(describe)?;
        Ok(opened)
    }

    /// Registers as the medium. The reply is `Heard::Registered`; EBUSY means that this process is registered already.
    ///
    /// # Errors
    /// The kernel accepts no message.
    pub fn register(&mut self) -> io::Result<()> {
        self.registration = self.sequence;
        self.put(Message::Register, NLM_F_REQUEST | NLM_F_ACK)
    }

    /// Sends a message to the kernel.
    ///
    /// # Errors
    /// The kernel accepts no message.
    pub fn send_message(&mut self, message: Message) -> io::Result<()> {
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
    /// `WouldBlock` if there is none; ENOBUFS if the kernel dropped messages.
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

/// Binds the socket to a port that the kernel does not assign. hwsim treats the close of *any* netlink socket with the
/// port number of its medium as the end of the medium, whatever the protocol of that socket. The kernel assigns the
/// process number as port, to one socket of each protocol and in each PID namespace.
fn bind(socket: &mut Socket) -> io::Result<()> {
    let process = std::process::id();
    let mut result = Ok(());
    for attempt in 0..PORT_ATTEMPTS {
        result = socket.bind(&SocketAddr::new(FIRST_PORT | attempt << PORT_ATTEMPT_SHIFT | process, 0));
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

/// The number of the netlink family.
fn resolve(socket: &Socket) -> Result<u16, String> {
    let name = Message::family_name();
    let nlas = vec![GenlCtrlAttrs::FamilyName(name.into())];
    let request = GenlMessage::from_payload(GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas });
    let describe = |error: io::Error| format!("netlink: looking for {name}: {error}");
    send(socket, request, NLM_F_REQUEST, 0).map_err(describe)?;
    let (answer, _) = socket.recv_from_full().map_err(describe)?;
    let answer = NetlinkMessage::<GenlMessage<GenlCtrl>>::deserialize(&answer);
    let attributes = match answer.map_err(|error| format!("netlink: looking for {name}: {error}"))?.payload {
        NetlinkPayload::InnerMessage(message) => message.payload.nlas,
        _ => return Err("mac80211_hwsim is not loaded; try: modprobe mac80211_hwsim radios=3".into()),
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
    socket.send(&encode(message, flags, sequence), 0).map(|_| ())
}

fn encode<I>(message: I, flags: u16, sequence: u32) -> Vec<u8>
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
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::line;
    use crate::frames::radio::with_null_station;
    use nix::time::{ClockId, clock_gettime};
    use pacelab_air_config::{PhyKind, Preset};
    use pacelab_engine::Link;
    use pacelab_hwsim::message::{STAGE_40_MHZ, STAGE_IS_HT, STAGE_SHORT_GUARD, STAGES, Stage, WANTS_STATUS};

    const FAMILY: u16 = 30;

    /// A kernel that takes the messages of a medium without a system call.
    #[derive(Default)]
    struct Kernel {
        delivered: u64,
        finished: u64,
        bytes: usize,
    }

    impl Kernel {
        fn take(&mut self, message: Message) {
            let mut message = GenlMessage::from_payload(message);
            message.set_resolved_family_id(FAMILY);
            self.bytes += encode(message, NLM_F_REQUEST, 1).len();
        }
    }

    impl CarrierHandler<Tag> for Kernel {
        fn deliver(&mut self, _: StationId, delivery: Delivery<'_, Tag>) -> bool {
            self.delivered += 1;
            self.take(Message::Deliver {
                receiver: [2; 6],
                frame: delivery.frame.to_vec(),
                rate_index: 0,
                signal_dbm: -40,
                frequency_mhz: delivery.tag.frequency_mhz,
            });
            true
        }
        fn finish(&mut self, _: StationId, _: Ns, tag: &Tag, attempts: u32, fate: TxStatus) {
            self.finished += 1;
            self.take(Message::Status {
                transmitter: tag.transmitter.0,
                flags: tag.status_flags(fate),
                signal_dbm: ACK_DBM,
                chain: carried_out(&tag.chain, attempts),
                cookie: tag.cookie,
            });
        }
        fn listens(&self, _: u32) -> bool {
            false
        }
        fn send_event(&mut self, _: Event) {}
    }

    fn cpu_ns() -> u64 {
        let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock");
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    }

    /// Prints the processor time of a frame of 1500 bytes at 200 Mbit/s in aggregates, without the system calls: read the
    /// message of the kernel, carry the frame, write the delivery and the status.
    ///
    /// `cargo test --release -p pacelab-mediumd -- --ignored --nocapture processor_time`
    #[test]
    #[ignore = "a measurement"]
    fn processor_time_of_a_frame_in_an_aggregate() {
        const FRAMES: u64 = 100_000;
        const GAP_NS: Ns = 60_000; // 1500 bytes at 200 Mbit/s
        let mut config = line(2, 5.0, "standard").air();
        (config.radio.phy, config.radio.preset) = (PhyKind::A, Preset::Sinr);
        let mut air = with_null_station(config);
        let link = |to| {
            let to = StationId(to);
            vec![Link { to, delay_ns: 17, power_w: 1e-7, decodable: true, loss: 0.0, fading: None }]
        };
        air.links = Some(vec![link(1), link(0), Vec::new()].into());
        let mac = |last| Mac([2, 0, 0, 0, last, 0]);
        let rates_bps = Phy::of(PhyKind::A, true).rates_bps();
        let mut carrier = Carrier::new(air, Radios::new((0..2).map(|station| Some(mac(station))), rates_bps));
        for station in [StationId(0), StationId(1)] {
            carrier.set_phy(station, PhyKind::A, true);
            carrier.set_queue_limit(station, 120);
            carrier.format.set_rates(station, rates_bps, true);
        }
        let mut frame = vec![0x88, 1, 0, 0];
        frame.extend(mac(1).0);
        frame.extend(mac(0).0);
        frame.resize(1500, 0);
        let unused = Stage::UNUSED;
        let mut message = GenlMessage::from_payload(Message::Sent(Sent {
            transmitter: [0x42, 0, 0, 0, 0, 0],
            frame,
            flags: WANTS_STATUS,
            frequency_mhz: Some(5180),
            chain: [Stage { rate_index: 15, count: 4 }, unused, unused, unused],
            stage_flags: [STAGE_IS_HT | STAGE_40_MHZ | STAGE_SHORT_GUARD; STAGES],
            cookie: 1,
        }));
        message.set_resolved_family_id(FAMILY);
        let bytes = encode(message, NLM_F_REQUEST, 1);
        let mut kernel = Kernel::default();
        let began = cpu_ns();
        for number in 0..FRAMES {
            let now = 5_000_000 + number * GAP_NS;
            let read = NetlinkMessage::<GenlMessage<Message>>::deserialize(&bytes).expect("a message");
            let NetlinkPayload::InnerMessage(inner) = read.payload else { panic!("a message of the family") };
            let Message::Sent(sent) = inner.payload else { panic!("a frame") };
            carrier.advance(now, &mut kernel);
            let slot = carrier.slot();
            carrier.space(slot)[..sent.frame.len()].copy_from_slice(&sent.frame);
            let (chain, stage_flags) = (sent.chain, sent.stage_flags);
            let transmitter = Mac(sent.transmitter);
            let tag = Tag { transmitter, flags: sent.flags, frequency_mhz: 5180, chain, stage_flags, cookie: number };
            carrier.arrive(now, StationId(0), slot, sent.frame.len(), tag, &mut kernel);
        }
        carrier.advance(Ns::MAX / 2, &mut kernel);
        let used = cpu_ns() - began;
        let aggregates = carrier.counters(Ns::MAX / 2, StationId(1)).ack_sent;
        assert_eq!((kernel.delivered, kernel.finished), (FRAMES, FRAMES));
        println!(
            "{} ns of processor time for a frame, {:.1} frames in an aggregate, {} bytes for the kernel",
            used / FRAMES,
            FRAMES as f64 / aggregates as f64,
            kernel.bytes / FRAMES as usize
        );
    }
}
