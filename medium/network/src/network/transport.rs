//! Transport: packets that the endpoints of flows send and receive.

use pacelab_air_config::{Headers, Tcp, Traffic};
use pacelab_engine::{NEVER, Ns};

use super::Network;
use super::task::Task;
use crate::flow::Endpoints;
use crate::hook::Point;
use crate::ids::{FlowId, NodeId, PacketId};
use crate::packet::{Body, Packet, TcpHeader};
use crate::voice::Codec;

/// IP and TCP headers without options.
const TCP_HEADER_BYTES: u32 = 40;
const IP_HEADER_BYTES: u32 = 20;
/// Packets that a saturating source keeps waiting.
const SATURATION_PKTS: u32 = 3;
/// Pause of a saturating source after a packet that is dropped above its queue.
const SATURATION_PAUSE_NS: Ns = 1_000_000;
/// Initial hop limit.
pub(super) const TTL: u8 = 64;

impl Network {
    pub(super) fn start_flow(&mut self, index: FlowId) {
        let now = self.now;
        let flow = &mut self.flows[index];
        flow.active = true;
        flow.meter.window_since = now;
        match &mut flow.endpoints {
            Endpoints::Tcp { sender, .. } => {
                sender.open(size_bytes(&flow.config.traffic));
                self.pump_sender(index);
            }
            Endpoints::UdpSaturated => (0..self.saturation_pkts()).for_each(|_| self.send_datagram(index)),
            Endpoints::Cbr { .. } => self.send_burst(index),
            Endpoints::Voice { codec, .. } => {
                let at = now + codec.phase_ns;
                self.schedule(at, Task::Datagrams(index));
            }
        }
    }

    /// Packets of a saturating flow that its source has at once. Of a source that aggregates: enough for one aggregate on
    /// the air and the next one, as far as the queue has room.
    fn saturation_pkts(&self) -> u32 {
        let radio = &self.config.radio;
        if !radio.aggregates() {
            return SATURATION_PKTS;
        }
        (2 * radio.high_throughput().ampdu_frames).min(radio.queue_pkts).max(SATURATION_PKTS)
    }

    pub(super) fn stop_flow(&mut self, index: FlowId) {
        let flow = &mut self.flows[index];
        flow.active = false;
        if let Endpoints::Tcp { sender, .. } = &mut flow.endpoints {
            sender.close();
            self.pump_sender(index);
        }
    }

    /// A timer of the sender (0) or receiver (1) may be due.
    pub(super) fn flow_timer(&mut self, index: FlowId, end: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        if flow.timers_at[end] != now {
            return; // an earlier entry has replaced this one
        }
        flow.timers_at[end] = NEVER;
        let Endpoints::Tcp { sender, receiver } = &mut flow.endpoints else { return };
        if end == 0 {
            if sender.timer_at() <= now {
                let window = sender.window_pkts();
                sender.handle_timeout(now);
                flow.meter.window(now, window);
            }
            self.pump_sender(index);
        } else {
            receiver.handle_timeout(now);
            self.pump_receiver(index);
        }
    }

    pub(super) fn send_burst(&mut self, index: FlowId) {
        let flow = &self.flows[index];
        if !flow.active {
            return;
        }
        match flow.endpoints {
            Endpoints::Cbr { interval_ns, burst_pkts } => {
                (0..burst_pkts).for_each(|_| self.send_datagram(index));
                self.schedule(self.now + interval_ns, Task::Datagrams(index));
            }
            Endpoints::Voice { codec, .. } => {
                self.send_voice(index, codec);
                self.schedule(self.now + codec.interval_ns, Task::Datagrams(index));
            }
            Endpoints::UdpSaturated => {
                let node = flow.config.src;
                self.await_room.push_back(index);
                self.send_saturating(node);
            }
            Endpoints::Tcp { .. } => {}
        }
    }

    fn send_voice(&mut self, index: FlowId, codec: Codec) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let Endpoints::Voice { playout, .. } = &mut flow.endpoints else { return };
        let number = playout.expect(now);
        flow.datagrams += 1;
        let sequence = codec.first_sequence.wrapping_add(number as u16);
        let packet = Packet {
            src: flow.config.src,
            dst: flow.config.dst,
            flow: index,
            bytes: codec.packet_bytes,
            ttl: TTL,
            forwards: 0,
            previous: flow.config.src,
            congestion_experienced: false,
            body: Body::Voice { number, port: codec.port, sequence, sent_at: now },
        };
        self.originate(packet);
    }

    /// Handles a packet that has left `node`: the saturating source that has waited longest there sends its next
    /// packet.
    pub(super) fn left_source(&mut self, node: NodeId, id: PacketId) {
        self.await_room(node, id);
        self.send_saturating(node);
    }

    /// If a saturating source at `node` sent this packet, the source may send another one when there is room.
    pub(super) fn await_room(&mut self, node: NodeId, id: PacketId) {
        if let Some(index) = self.saturating_source(node, id) {
            self.await_room.push_back(index);
        }
    }

    /// Handles a packet that was dropped above the queue: its saturating source, if any, continues after a pause.
    /// Without the pause the next packet could be dropped at once, without an end.
    pub(super) fn send_another_later(&mut self, node: NodeId, id: PacketId) {
        if let Some(index) = self.saturating_source(node, id) {
            self.schedule(self.now + SATURATION_PAUSE_NS, Task::Datagrams(index));
        }
    }

    /// The saturating flow of this packet, if the flow starts at `node`.
    pub(super) fn saturating_source(&self, node: NodeId, id: PacketId) -> Option<FlowId> {
        let packet = self.pool.get(id).filter(|packet| packet.src == node)?;
        let flow = self.flows.get(packet.flow)?; // a routing message has none
        matches!(flow.endpoints, Endpoints::UdpSaturated).then_some(packet.flow)
    }

    /// Lets a waiting saturating source at `node` send.
    pub(super) fn send_saturating(&mut self, node: NodeId) {
        let flows = &self.flows;
        let waits_here = |&index: &FlowId| flows[index].config.src == node && flows[index].active;
        if let Some(index) = self.await_room.iter().position(waits_here).and_then(|place| self.await_room.remove(place))
        {
            self.send_datagram(index);
        }
    }

    fn send_datagram(&mut self, index: FlowId) {
        let header_bytes = udp_header_bytes(self.config.headers);
        let flow = &mut self.flows[index];
        let number = flow.datagrams;
        flow.datagrams += 1;
        let packet = Packet {
            src: flow.config.src,
            dst: flow.config.dst,
            flow: index,
            bytes: flow.payload_bytes + header_bytes,
            ttl: TTL,
            forwards: 0,
            previous: flow.config.src,
            congestion_experienced: false,
            body: Body::Udp { number, payload_bytes: flow.payload_bytes },
        };
        self.originate(packet);
    }

    /// Sends the pending segments of the flow's sender, and sets its timer.
    fn pump_sender(&mut self, index: FlowId) {
        loop {
            let now = self.now;
            if self.flows[index].held_pkts >= self.flows[index].held_limit_pkts {
                break;
            }
            let Endpoints::Tcp { sender, .. } = &mut self.flows[index].endpoints else { return };
            let Some(header) = sender.poll_transmit(now) else { break };
            self.send_segment(index, header, true);
        }
        let Endpoints::Tcp { sender, .. } = &self.flows[index].endpoints else { return };
        let at = sender.timer_at();
        self.arm(index, 0, at);
    }

    /// Counts a segment that the hook at its source takes (true) or releases. The sender continues when there is room.
    pub(super) fn note_held(&mut self, point: Point, id: PacketId, taken: bool) {
        if point != Point::LocalOut {
            return;
        }
        let Some(packet) = self.pool.get(id) else { return };
        let (index, Body::Tcp { forward: true, .. }) = (packet.flow, &packet.body) else { return };
        let now = self.now;
        let flow = &mut self.flows[index];
        if taken {
            flow.held_pkts += 1;
            return;
        }
        let was_full = flow.held_pkts >= flow.held_limit_pkts;
        flow.held_pkts = flow.held_pkts.saturating_sub(1);
        if was_full && flow.timers_at[0] != now {
            flow.timers_at[0] = now;
            self.schedule(now, Task::FlowTimer(index, 0));
        }
    }

    fn pump_receiver(&mut self, index: FlowId) {
        let Endpoints::Tcp { receiver, .. } = &mut self.flows[index].endpoints else { return };
        let (header, at) = (receiver.poll_transmit(), receiver.timer_at());
        if let Some(header) = header {
            self.send_segment(index, header, false);
        }
        self.arm(index, 1, at);
    }

    /// Adds a timer event unless an earlier one is in the queue.
    fn arm(&mut self, index: FlowId, end: usize, at: Ns) {
        let flow = &mut self.flows[index];
        if at < flow.timers_at[end] {
            flow.timers_at[end] = at;
            self.schedule(at, Task::FlowTimer(index, end as u32));
        }
    }

    fn send_segment(&mut self, index: FlowId, header: TcpHeader, forward: bool) {
        let config = &self.flows[index].config;
        let (src, dst) = if forward { (config.src, config.dst) } else { (config.dst, config.src) };
        let packet = Packet {
            src,
            dst,
            flow: index,
            bytes: tcp_bytes(self.config.headers, header.payload_bytes),
            ttl: TTL,
            forwards: 0,
            previous: src,
            congestion_experienced: false,
            body: Body::Tcp { header, forward },
        };
        self.originate(packet);
    }

    /// Delivers a packet to its transport.
    pub(super) fn deliver(&mut self, packet: Packet) {
        let index = packet.flow;
        match packet.body {
            Body::Udp { payload_bytes, .. } => {
                let meter = &mut self.flows[index].meter;
                meter.arrived_bytes += u64::from(payload_bytes);
                meter.delivered(u64::from(payload_bytes));
            }
            Body::Tcp { header, forward: true } => self.deliver_data(index, &header, packet.congestion_experienced),
            Body::Tcp { header, forward: false } => self.deliver_ack(index, &header),
            Body::Voice { number, sent_at, .. } => self.deliver_voice(index, number, sent_at),
            Body::Report(_) => {
                if let Endpoints::Voice { playout, .. } = &mut self.flows[index].endpoints {
                    playout.reports_received += 1;
                }
            }
            Body::Echo { .. } => self.deliver_echo(&packet),
            Body::Aodv(_) => {}
        }
    }

    fn deliver_voice(&mut self, index: FlowId, number: u32, sent_at: Ns) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let Endpoints::Voice { playout, .. } = &mut flow.endpoints else { return };
        flow.meter.arrived_bytes += u64::from(flow.payload_bytes);
        if playout.arrive(now, number, sent_at) {
            flow.meter.delivered(u64::from(flow.payload_bytes));
        }
    }

    fn deliver_data(&mut self, index: FlowId, header: &TcpHeader, marked: bool) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let Endpoints::Tcp { receiver, .. } = &mut flow.endpoints else { return };
        let before = receiver.delivered_bytes;
        if marked {
            receiver.note_mark();
        }
        receiver.handle(now, header);
        let delivered = receiver.delivered_bytes - before;
        flow.meter.arrived_bytes += u64::from(header.payload_bytes);
        flow.meter.delivered(delivered);
        if delivered > 0 {
            self.note_finish(index);
            self.note_batches(index);
        }
        self.pump_receiver(index);
    }

    fn deliver_ack(&mut self, index: FlowId, header: &TcpHeader) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let Endpoints::Tcp { sender, .. } = &mut flow.endpoints else { return };
        let window = sender.window_pkts();
        sender.handle(now, header);
        flow.meter.window(now, window);
        for rtt_ns in sender.rtt_samples_ns.drain(..) {
            flow.meter.rtt(rtt_ns);
        }
        self.pump_sender(index);
    }

    fn note_finish(&mut self, index: FlowId) {
        let flow = &mut self.flows[index];
        let Some(size) = size_bytes(&flow.config.traffic) else { return };
        if flow.meter.total_bytes >= size {
            flow.meter.finished_s.get_or_insert(self.now as f64 / 1e9);
        }
    }

    /// Records the ends of batches, and ends the run when every backlogged TCP flow has delivered enough.
    fn note_batches(&mut self, index: FlowId) {
        let now_s = self.now as f64 / 1e9;
        let flow = &mut self.flows[index];
        let delivered_pkts = flow.meter.total_bytes / u64::from(flow.payload_bytes);
        if let Some(batch) = self.config.batch_pkts {
            while delivered_pkts >= (flow.meter.batch_end_s.len() as u64 + 1) * batch {
                flow.meter.batch_end_s.push(now_s);
            }
        }
        if let Some(enough) = self.config.stop_after_pkts {
            if delivered_pkts >= enough {
                let tcp = self.flows.iter().filter(|flow| flow.kind() == "tcp");
                let mut counts = tcp.map(|flow| flow.meter.total_bytes / u64::from(flow.payload_bytes));
                self.finished = counts.all(|count| count >= enough);
            }
        }
    }
}

/// Octets of a flow with a fixed size.
fn size_bytes(traffic: &Traffic) -> Option<u64> {
    match traffic {
        Traffic::Tcp(Tcp { size_bytes, .. }) => *size_bytes,
        _ => None,
    }
}

/// Bytes of headers above the MAC.
fn udp_header_bytes(headers: Headers) -> u32 {
    match headers {
        Headers::Real => 28,
        Headers::Ns2 => 0,
        Headers::Ns2Of2001 => IP_HEADER_BYTES,
    }
}

/// Bytes of a segment above the MAC.
fn tcp_bytes(headers: Headers, payload_bytes: u32) -> u32 {
    match headers {
        Headers::Real | Headers::Ns2 => TCP_HEADER_BYTES + payload_bytes,
        Headers::Ns2Of2001 if payload_bytes == 0 => IP_HEADER_BYTES + TCP_HEADER_BYTES,
        Headers::Ns2Of2001 => IP_HEADER_BYTES + payload_bytes,
    }
}
