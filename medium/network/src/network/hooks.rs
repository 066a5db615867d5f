//! The driver of hooks in the simulator: passes segments to the algorithm, holds them, executes actions, and fails
//! open.

use std::rc::Rc;

use pacelab_air_config::{Tcp, Traffic, Voice};
use pacelab_engine::NEVER;

use super::Network;
use super::task::Task;
use crate::flow::{Endpoints, FIRST_CLIENT_PORT, Flow, ports};
use crate::hook::{Action, Event, Place, Point, Rtp, Seen, Segment, mask};
use crate::ids::{FlowId, HookId, Id, NodeId, PacketId, StationId};
use crate::packet::{Body, Packet};
use crate::voice;

/// IP and UDP.
const UDP_HEADER_BYTES: u32 = 28;

impl Network {
    /// Offers a packet to the hook of `node`. Returns whether a hook holds it.
    pub(super) fn hook_sees(&mut self, node: NodeId, point: Point, id: PacketId) -> bool {
        self.offer(node, Place::Node, Seen { point, next_hop: None }, id)
    }

    /// Offers a packet on its way to the interface queue to the link hook of `node`. Returns whether a hook holds it.
    pub(super) fn link_hook_sees(&mut self, node: NodeId, next_hop: Option<NodeId>, id: PacketId) -> bool {
        self.offer(node, Place::Link, Seen { point: Point::Link, next_hop }, id)
    }

    fn offer(&mut self, node: NodeId, place: Place, seen: Seen, id: PacketId) -> bool {
        let Some(index) = self.hook_index(node, place) else { return false };
        let driver = &self.hooks[index];
        let unseen = self.pool.get(id).is_none_or(|packet| matches!(packet.body, Body::Aodv(_) | Body::Echo { .. }));
        if driver.bypassed || unseen || driver.mask & mask::SEGMENT == 0 {
            return false;
        }
        // The handle of a held packet must stay valid: the pool must not reuse the number while a copy is kept.
        let Some(segment) = self.segment(id) else { return false };
        let wireless_end = self.wireless_end(node, seen.point, id);
        let rates = self.path_rates_bps(node, wireless_end);
        self.note_held(seen.point, id, true);
        let now = self.now;
        let driver = &mut self.hooks[index];
        driver.held.insert(id, seen);
        driver.hook.handle(now, &Event::Seen { point: seen.point, segment, path_rates_bps: &rates });
        self.drain_actions(index);
        true
    }

    /// Reports the outcome of a transmission to the hooks of `node`.
    pub(super) fn hook_transmitted(
        &mut self,
        node: NodeId,
        id: PacketId,
        next_hop: Option<NodeId>,
        attempts: u32,
        delivered: bool,
    ) {
        for index in self.hook_at[node].into_iter().flatten() {
            let driver = &self.hooks[index];
            if driver.bypassed || driver.mask & mask::TRANSMIT == 0 {
                continue;
            }
            let Some(segment) = self.segment(id) else { return };
            let now = self.now;
            self.hooks[index].hook.handle(now, &Event::Transmit { segment, attempts, delivered, next_hop });
            self.drain_actions(index);
        }
    }

    pub(super) fn hook_timer(&mut self, index: HookId) {
        let now = self.now;
        let driver = &mut self.hooks[index];
        if driver.timer_at != now || driver.bypassed {
            return; // replaced by an earlier entry
        }
        driver.timer_at = NEVER;
        if driver.hook.deadline() <= now {
            driver.hook.handle_timeout(now);
        }
        self.drain_actions(index);
    }

    /// Executes the pending actions of a hook and sets its timer.
    fn drain_actions(&mut self, index: HookId) {
        self.hook_depth += 1;
        while let Some(action) = self.hooks[index].hook.poll_action() {
            if !self.apply_action(index, action) {
                self.hooks[index].errors += 1;
            }
        }
        self.hook_depth -= 1;
        let driver = &mut self.hooks[index];
        if driver.hook.failure().is_some() {
            self.bypass(index);
            return;
        }
        let at = driver.hook.deadline().max(self.now);
        if at < driver.timer_at {
            driver.timer_at = at;
            self.schedule(at, Task::Hook(index));
        }
    }

    /// Fails open: releases everything that the hook holds, and offers it no further packets.
    fn bypass(&mut self, index: HookId) {
        let driver = &mut self.hooks[index];
        driver.bypassed = true;
        driver.kept.clear();
        let (node, held) = (driver.node, driver.held.drain());
        for (id, seen) in held {
            self.note_held(seen.point, id, false);
            self.resume(node, seen, id);
        }
    }

    /// Executes one action. Returns false if its handle is unknown.
    fn apply_action(&mut self, index: HookId, action: Action) -> bool {
        let node = self.hooks[index].node;
        let driver = &mut self.hooks[index];
        match action {
            Action::Forward { handle, keep } => {
                let Some(seen) = driver.held.remove(handle) else { return false };
                self.note_held(seen.point, handle, false);
                let driver = &mut self.hooks[index];
                let mut onward = handle;
                if keep {
                    // The copy is forwarded; the original keeps the handle until `Release`.
                    let Some(packet) = self.pool.get(handle).cloned() else { return false };
                    driver.kept.insert(handle, (seen, packet.clone()));
                    onward = self.pool.add(packet);
                }
                self.resume(node, seen, onward);
            }
            Action::Drop { handle, reason } => {
                let Some(seen) = driver.held.remove(handle) else { return false };
                self.note_held(seen.point, handle, false);
                self.send_another_later(node, handle);
                self.pool.remove(handle);
                *self.drops.hooks.entry(reason).or_insert(0) += 1;
            }
            Action::Resend { handle } => {
                let Some((seen, packet)) = driver.kept.get(&handle).cloned() else { return false };
                let copy = self.pool.add(packet);
                self.resume(node, seen, copy);
            }
            Action::Release { handle } => {
                if driver.kept.remove(&handle).is_none() {
                    return false;
                }
                self.pool.remove(handle);
            }
            Action::Rewrite { handle, window_bytes, rtt_wired_ns, mark } => {
                if !driver.held.contains(handle) {
                    return false;
                }
                if let Some(packet) = self.pool.get_mut(handle).filter(|_| mark) {
                    packet.congestion_experienced = true;
                }
                self.rewrite(handle, window_bytes, rtt_wired_ns);
            }
            Action::Inject { segment } => return self.inject(node, *segment),
            Action::SetExtraBackoff { slots, wall_clock } => {
                if let Some(station) = self.station_of[node] {
                    self.air.set_extra_backoff(station, slots, wall_clock);
                }
            }
        }
        true
    }

    fn rewrite(&mut self, id: PacketId, window_bytes: Option<u32>, rtt_wired_ns: Option<u64>) {
        /// Kind, length, eight octets of ns, two of padding.
        const RTT_OPTION_BYTES: u32 = 12;
        let Some(packet) = self.pool.get_mut(id) else { return };
        let Body::Tcp { header, .. } = &mut packet.body else { return };
        if let Some(window_bytes) = window_bytes {
            header.window_bytes = window_bytes;
        }
        if rtt_wired_ns.is_some() && header.rtt_wired_ns.is_none() {
            packet.bytes += RTT_OPTION_BYTES;
        }
        header.rtt_wired_ns = rtt_wired_ns.or(header.rtt_wired_ns);
    }

    /// Sends a segment that the hook at `node` made. Returns false if it belongs to no flow.
    fn inject(&mut self, node: NodeId, segment: Segment) -> bool {
        let (src, dst, sport, dport) = segment.flow;
        let (src, dst) = (NodeId(src), NodeId(dst));
        let (flow, body) = match (segment.tcp, segment.quality) {
            (Some(header), _) => match self.flow_of_ports(sport, dport) {
                Some((flow, forward)) => (flow, Body::Tcp { header, forward }),
                None => return false,
            },
            (None, Some(quality)) => match self.flow_of_call(quality.call) {
                Some(flow) => (flow, Body::Report(quality)),
                None => return false,
            },
            (None, None) => return false,
        };
        if src.max(dst).index() >= self.config.nodes.len() {
            return false;
        }
        if let (Body::Report(_), Endpoints::Voice { playout, .. }) = (&body, &mut self.flows[flow].endpoints) {
            playout.reports_sent += 1;
        }
        let packet = Packet {
            src,
            dst,
            flow,
            bytes: segment.packet_bytes,
            ttl: 64,
            forwards: 0,
            previous: node,
            congestion_experienced: false,
            body,
        };
        let id = self.pool.add(packet);
        // Skips the hooks of this node, like `Resend`, so that an algorithm need not recognise its own segments.
        let point = if dst == node { Point::LocalIn } else { Point::AirToWired };
        self.resume(node, Seen { point, next_hop: None }, id);
        true
    }

    fn segment(&self, id: PacketId) -> Option<Segment> {
        let packet = self.pool.get(id)?;
        let (client, server) = ports(packet.flow);
        let mut segment = Segment {
            handle: id,
            flow: (packet.src.0, packet.dst.0, client, server),
            tcp: None,
            payload_bytes: packet.bytes.saturating_sub(UDP_HEADER_BYTES),
            packet_bytes: packet.bytes,
            ecn_capable: self.is_ecn_capable(packet),
            rtp: None,
            quality: None,
        };
        match &packet.body {
            Body::Tcp { header, forward } => {
                segment.tcp = Some(*header);
                segment.payload_bytes = header.payload_bytes;
                if !forward {
                    segment.flow = (packet.src.0, packet.dst.0, server, client);
                }
            }
            Body::Udp { payload_bytes, .. } => segment.payload_bytes = *payload_bytes,
            Body::Voice { port, sequence, sent_at, .. } => {
                segment.flow = (packet.src.0, packet.dst.0, u32::from(*port), u32::from(*port));
                segment.rtp = Some(Rtp { sequence: *sequence, sent_ns: *sent_at });
            }
            Body::Report(quality) => {
                let (_, _, sport, dport) = quality.call;
                segment.flow = (packet.src.0, packet.dst.0, dport + 1, sport + 1);
                segment.quality = Some(quality.clone());
            }
            Body::Echo { .. } | Body::Aodv(_) => return None,
        }
        Some(segment)
    }

    /// The direction of a call with these addresses and ports.
    fn flow_of_call(&self, call: (u32, u32, u32, u32)) -> Option<FlowId> {
        let is_it = |flow: &Flow| match flow.config.traffic {
            Traffic::Voice(Voice { call: number, .. }) => {
                let port = u32::from(voice::port(number));
                (flow.config.src.0, flow.config.dst.0, port, port) == call
            }
            _ => false,
        };
        self.flows.iter_with_ids().find(|(_, flow)| is_it(flow)).map(|(id, _)| id)
    }

    /// Data segments of ECN-capable flows are ECN-capable; pure ACKs are not (RFC 3168 Sec. 6.1.4).
    pub(super) fn is_ecn_capable(&self, packet: &Packet) -> bool {
        let Body::Tcp { header, .. } = &packet.body else { return false };
        let flow = self.flows.get(packet.flow);
        let capable = flow.is_some_and(|flow| matches!(flow.config.traffic, Traffic::Tcp(Tcp { ecn: true, .. })));
        capable && header.payload_bytes > 0
    }

    fn flow_of_ports(&self, sport: u32, dport: u32) -> Option<(FlowId, bool)> {
        let (flow, forward) = if sport >= FIRST_CLIENT_PORT {
            (FlowId(sport - FIRST_CLIENT_PORT), true)
        } else {
            (FlowId(dport - FIRST_CLIENT_PORT), false)
        };
        self.flows.get(flow).is_some().then_some((flow, forward))
    }

    /// The wireless node at the other end of the packet's wireless path, as seen from a hook.
    fn wireless_end(&mut self, node: NodeId, point: Point, id: PacketId) -> Option<NodeId> {
        let packet = self.pool.get(id)?;
        let (src, dst) = (packet.src, packet.dst);
        match point {
            Point::WiredToAir | Point::LocalOut | Point::Link => self.air_target(node, dst),
            Point::AirToWired | Point::LocalIn => self.air_target(node, src),
        }
    }

    /// Link rates of the wireless hops from `node` to `end`.
    fn path_rates_bps(&mut self, node: NodeId, end: Option<NodeId>) -> Rc<[u32]> {
        let Some(end) = end else { return Rc::default() };
        if let Some(rates) = self.path_rates.get(&(node, end)) {
            return Rc::clone(rates);
        }
        let stations: Vec<Option<StationId>> =
            self.routes.path(node, end).iter().map(|&step| self.station_of[step]).collect();
        let hops = stations.windows(2).filter_map(|pair| Some((pair[0]?, pair[1]?)));
        let rates: Rc<[u32]> = hops.map(|(from, to)| self.air.data_rate_bps(from, Some(to))).collect();
        self.path_rates.insert((node, end), Rc::clone(&rates));
        rates
    }
}
