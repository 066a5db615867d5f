//! Forwarding: routing decisions, wired links, the air, and packets that the MAC drops.

use pacelab_air_config::{Category, Routing};
use pacelab_engine::{Failure, Ns, Packet as AirPacket};

use super::Network;
use super::task::{InLinkLayer, Task};
use crate::airlog::{Class, Enqueued};
use crate::aodv::{Aodv, Command, Transit};
use crate::hook::{Point, Seen};
use crate::ids::{FlowId, NodeId, PacketId, StationId, WireId};
use crate::packet::{Body, Packet};

/// Time from the end of a broadcast until it has reached all receivers: 30 km.
const LAST_ECHO_NS: Ns = 100_000;
/// Largest recursion depth of hooks. The local transport answers a released packet immediately, and the hook sees the
/// answer, so calls can nest. Beyond this depth the delivery is scheduled instead. About 3,200 levels fill a stack of 8
/// MiB.
const MAX_HOOK_DEPTH: u32 = 100;

impl Network {
    /// Sends a packet of the local transport.
    pub(super) fn originate(&mut self, packet: Packet) {
        let node = packet.src;
        let id = self.pool.add(packet);
        if self.wires_from[node].is_empty() && self.hook_sees(node, Point::LocalOut, id) {
            return;
        }
        self.route(node, id);
    }

    /// Forwards a packet at `node`, or delivers it if `node` is its destination.
    pub(super) fn route(&mut self, node: NodeId, id: PacketId) {
        let Some(packet) = self.pool.get(id) else { return };
        let (src, dst) = (packet.src, packet.dst);
        if dst == node {
            if self.wires_from[node].is_empty() && self.hook_sees(node, Point::LocalIn, id) {
                return;
            }
            self.deliver_local(id);
            return;
        }
        let Some(next) = self.next_hop(node, dst) else {
            self.drop_without_route(node, id);
            return;
        };
        if let Some(wire) = self.wire_to(node, next) {
            let from_air = self.station_of[node].is_some() && src != node;
            if from_air && self.hook_sees(node, Point::AirToWired, id) {
                return;
            }
            self.send_by_wire(wire, id);
            return;
        }
        let is_gateway = !self.wires_from[node].is_empty();
        if is_gateway && src != node && self.came_by_wire(id) && self.hook_sees(node, Point::WiredToAir, id) {
            return;
        }
        self.send_by_air(node, next, id);
    }

    /// Forwards a packet that a hook released.
    pub(super) fn resume(&mut self, node: NodeId, seen: Seen, id: PacketId) {
        match seen.point {
            Point::Link => self.enqueue_at_mac(node, id, seen.next_hop),
            Point::LocalIn if self.hook_depth > MAX_HOOK_DEPTH => self.schedule(self.now, Task::Local(id)),
            Point::LocalIn => self.deliver_local(id),
            Point::LocalOut => self.route(node, id),
            Point::AirToWired | Point::WiredToAir => {
                let Some(dst) = self.pool.get(id).map(|packet| packet.dst) else { return };
                let Some(next) = self.next_hop(node, dst) else {
                    self.drop_without_route(node, id);
                    return;
                };
                match self.wire_to(node, next) {
                    Some(wire) => self.send_by_wire(wire, id),
                    None => self.send_by_air(node, next, id),
                }
            }
        }
    }

    /// The next hop by the present topology. Under AODV a packet without a path still goes towards the radio of its
    /// destination or of that node's gateway, because AODV must find out itself; a wired host sends it to its own
    /// gateway.
    fn next_hop(&mut self, node: NodeId, dst: NodeId) -> Option<NodeId> {
        let next = self.routes.next_hop(node, dst);
        if next.is_some() || self.config.routing == Routing::Static {
            return next;
        }
        match self.aodv[node] {
            Some(_) => self.radio_of[dst],
            None => self.radio_of[node].and_then(|gateway| self.routes.next_hop(node, gateway)),
        }
    }

    fn drop_without_route(&mut self, node: NodeId, id: PacketId) {
        self.drops.no_route += 1;
        self.send_another_later(node, id);
        self.pool.remove(id);
    }

    pub(super) fn deliver_local(&mut self, id: PacketId) {
        if let Some(packet) = self.pool.remove(id) {
            self.deliver(packet);
        }
    }

    fn came_by_wire(&self, id: PacketId) -> bool {
        self.pool.get(id).is_some_and(|packet| self.station_of[packet.previous].is_none())
    }

    fn wire_to(&self, node: NodeId, next: NodeId) -> Option<WireId> {
        self.wires_from[node].iter().copied().find(|&wire| self.wires[wire].to == next)
    }

    fn send_by_wire(&mut self, wire: WireId, id: PacketId) {
        let (now, node) = (self.now, self.wires[wire.reverse()].to);
        if self.wires[wire].interface.is_some() {
            self.push_to_wire(wire, node, id);
            return;
        }
        let Some(bytes) = self.pool.get(id).map(|packet| packet.bytes) else { return };
        match self.wires[wire].send(now, id, bytes) {
            Some(at) => {
                self.schedule(at, Task::Wire(wire));
                if let Some(flow) = self.saturating_source(node, id) {
                    self.schedule(self.wires[wire].free_at(), Task::Datagrams(flow));
                }
            }
            None => {
                self.drops.wired_queue += 1;
                self.await_room(node, id);
                self.pool.remove(id);
            }
        }
    }

    pub(super) fn arrive_by_wire(&mut self, wire: WireId) {
        // The far end of the reverse direction is where this packet came from.
        let (node, from) = (self.wires[wire].to, self.wires[wire.reverse()].to);
        let Some(id) = self.wires[wire].arrive() else { return };
        if let Some(packet) = self.pool.get_mut(id) {
            packet.previous = from;
        }
        self.send_saturating(from);
        self.route(node, id);
    }

    fn send_by_air(&mut self, node: NodeId, next: NodeId, id: PacketId) {
        if self.aodv[node].is_none() {
            self.send_to_link_layer(node, id, Some(next));
            return;
        }
        let Some(transit) = self.transit(node, id) else { return };
        let now = self.now;
        match self.aodv[node].as_mut().and_then(|aodv| aodv.send(now, transit)) {
            Some(next_hop) => self.send_to_link_layer(node, id, Some(next_hop)),
            None => self.run_aodv_commands(node),
        }
    }

    /// Passes a packet from routing to the link layer.
    fn send_to_link_layer(&mut self, node: NodeId, id: PacketId, next_hop: Option<NodeId>) {
        self.enter_link_layer(InLinkLayer::Down { node, packet: id, next_hop });
    }

    /// Delays a packet by the time between routing and MAC.
    fn enter_link_layer(&mut self, entry: InLinkLayer) {
        let at = self.now + self.air.rules().link_layer_delay_ns;
        match &mut self.host_delays {
            None => self.link_layer.push_back((at, entry)),
            Some(host_delays) => {
                let at = host_delays.departure(entry, at);
                let slot = self.hold(entry);
                self.schedule(at, Task::Crossed(slot));
            }
        }
    }

    pub(super) fn leave_link_layer(&mut self) {
        if let Some((_, entry)) = self.link_layer.pop_front() {
            self.dispatch_from_link_layer(entry);
        }
    }

    pub(super) fn leave_host(&mut self, slot: u32) {
        if let Some(entry) = self.delayed[slot as usize].take() {
            self.dispatch_from_link_layer(entry);
        }
    }

    fn dispatch_from_link_layer(&mut self, entry: InLinkLayer) {
        match entry {
            InLinkLayer::Up { node, packet } => self.arrive_by_air(node, packet),
            InLinkLayer::Down { node, packet, next_hop } => self.leave_routing(node, packet, next_hop),
        }
    }

    fn leave_routing(&mut self, node: NodeId, id: PacketId, next_hop: Option<NodeId>) {
        if !self.link_hook_sees(node, next_hop, id) {
            self.enqueue_at_mac(node, id, next_hop);
        }
    }

    fn enqueue_at_mac(&mut self, node: NodeId, id: PacketId, next_hop: Option<NodeId>) {
        let is_routing = || self.pool.get(id).is_some_and(|packet| matches!(packet.body, Body::Aodv(_)));
        if self.interfaces.is_empty() || is_routing() {
            self.hand_to_mac(node, id, next_hop);
        } else {
            self.push_to_radio(node, id, next_hop);
        }
    }

    /// The access category of a packet. Routing messages have the most urgent one.
    pub(super) fn category_of(&self, packet: &Packet) -> Category {
        match packet.body {
            Body::Echo { .. } => Category::BestEffort,
            _ => self.flows.get(packet.flow).map_or(Category::Voice, |flow| flow.config.category),
        }
    }

    /// Adds a packet to the MAC's own queue, routing messages before all others.
    pub(super) fn hand_to_mac(&mut self, node: NodeId, id: PacketId, next_hop: Option<NodeId>) {
        let (Some(station), Some(packet)) = (self.station_of[node], self.pool.get(id)) else { return };
        let to = next_hop.and_then(|next| self.station_of[next]);
        let front = matches!(packet.body, Body::Aodv(_));
        let category = self.category_of(packet);
        let frame = AirPacket { id, to, bytes: packet.bytes, category, rates: None };
        if self.config.capture.is_some() {
            self.enqueued.push(Enqueued { at: self.now, id, packet: packet.clone() });
        }
        if let Err(refused) = self.air.enqueue(self.now, station, frame, front) {
            self.drops.queue += 1;
            self.await_room(node, refused.id);
            self.pool.remove(refused.id);
        }
    }

    /// Handles a packet received by air. The packet itself stays in the pool until its sender is done with it.
    pub(super) fn received(&mut self, station: StationId, from: StationId, id: PacketId) {
        let node = self.node_of[station];
        if let Some(packet) = self.copy_received(from, id) {
            self.enter_link_layer(InLinkLayer::Up { node, packet });
        }
    }

    /// Copies a packet received by air into the pool.
    fn copy_received(&mut self, from: StationId, id: PacketId) -> Option<PacketId> {
        let mut copy = self.pool.get(id)?.clone();
        copy.previous = self.node_of[from];
        copy.forwards = copy.forwards.saturating_add(1);
        Some(self.pool.add(copy))
    }

    /// Keeps a copy of a packet that the station received out of order: its sender may soon be done with it.
    pub(super) fn hold_received(&mut self, station: StationId, from: StationId, id: PacketId, number: u32) {
        if let Some(packet) = self.copy_received(from, id) {
            self.held_back.insert((station, from, number), packet);
        }
    }

    /// Delivers a packet that was held.
    pub(super) fn release_received(&mut self, station: StationId, from: StationId, number: u32) {
        if let Some(packet) = self.held_back.remove(&(station, from, number)) {
            self.enter_link_layer(InLinkLayer::Up { node: self.node_of[station], packet });
        }
    }

    fn arrive_by_air(&mut self, node: NodeId, id: PacketId) {
        let now = self.now;
        let Some(packet) = self.pool.get_mut(id) else { return };
        packet.ttl = packet.ttl.saturating_sub(1);
        let (ttl, previous, dst) = (packet.ttl, packet.previous, packet.dst);
        if let Body::Aodv(_) = packet.body {
            let Some(Packet { body: Body::Aodv(message), .. }) = self.pool.remove(id) else { return };
            if let Some(aodv) = &mut self.aodv[node] {
                aodv.receive(now, message, previous, Some(dst), ttl);
            }
            self.run_aodv_commands(node);
            return;
        }
        if ttl == 0 && dst != node {
            self.drops.ttl += 1;
            self.pool.remove(id);
            return;
        }
        self.route(node, id);
    }

    /// Handles the end of a packet's transmission.
    pub(super) fn link_done(&mut self, station: StationId, frame: AirPacket, attempts: u32, failure: Option<Failure>) {
        let node = self.node_of[station];
        let next_hop = frame.to.map(|to| self.node_of[to]);
        self.hook_transmitted(node, frame.id, next_hop, attempts, failure.is_none());
        if let (Some(to), Some(packet)) = (frame.to, self.pool.get(frame.id)) {
            self.links.at(node, self.node_of[to], Class::of(packet)).count(attempts, failure);
        }
        match failure {
            None if frame.to.is_none() => {
                self.schedule(self.now + LAST_ECHO_NS, Task::Forget(frame.id));
                self.send_saturating(node);
            }
            None => {
                self.left_source(node, frame.id);
                self.pool.remove(frame.id);
            }
            Some(failure) => self.link_failed(node, frame, failure),
        }
        if !self.interfaces.is_empty() {
            self.feed_mac(node, frame.category);
        }
    }

    fn link_failed(&mut self, node: NodeId, frame: AirPacket, failure: Failure) {
        match failure {
            Failure::Rts => self.drops.mac_rts += 1,
            Failure::Data => self.drops.mac_data += 1,
        }
        let is_data = self.pool.get(frame.id).is_some_and(|packet| !matches!(packet.body, Body::Aodv(_)));
        let neighbour = frame.to.map(|to| self.node_of[to]);
        let transit = if is_data { self.transit(node, frame.id) } else { None };
        let now = self.now;
        match (&mut self.aodv[node], transit, neighbour) {
            (Some(aodv), Some(transit), Some(neighbour)) => {
                aodv.link_failed(now, transit, neighbour);
                self.run_aodv_commands(node);
                self.send_saturating(node);
            }
            _ => {
                self.left_source(node, frame.id);
                self.pool.remove(frame.id);
            }
        }
    }

    /// The data of a packet that AODV at `node` needs. For a wired destination the target is its gateway.
    fn transit(&mut self, node: NodeId, id: PacketId) -> Option<Transit> {
        let packet = self.pool.get(id)?;
        let (src, dst, forwards, previous) = (packet.src, packet.dst, packet.forwards, packet.previous);
        let enters_air_here = src == node || (forwards == 0 && self.station_of[src].is_none());
        let target = self.air_target(node, dst)?;
        let from = if enters_air_here { None } else { Some(previous) };
        Some(Transit { packet: id, is_own: enters_air_here, target, forwards, from })
    }

    /// The last wireless node on the path from `node` to `dst`.
    pub(super) fn air_target(&mut self, node: NodeId, dst: NodeId) -> Option<NodeId> {
        if self.station_of[dst].is_some() {
            return Some(dst);
        }
        // Called once per packet and node, so it avoids the allocation of `Routes::path`. The loop ends at the
        // destination at the latest, because that has no station.
        let (mut current, mut last) = (node, None);
        while self.station_of[current].is_some() {
            last = Some(current);
            let Some(next) = self.routes.next_hop(current, dst) else { return self.radio_of[dst] };
            current = next;
        }
        last
    }

    /// Executes the commands of AODV at `node`.
    pub(super) fn run_aodv_commands(&mut self, node: NodeId) {
        let now = self.now;
        while let Some(command) = self.aodv[node].as_mut().and_then(Aodv::poll) {
            match command {
                Command::Broadcast { message, ttl, delay_ns } => {
                    let id = self.add_message(node, node, message, ttl);
                    self.send_to_link_layer_later(node, id, None, delay_ns);
                }
                Command::Unicast { message, ttl, next_hop } => {
                    let dst = match message {
                        crate::aodv::Message::Reply { origin, .. } => origin,
                        _ => next_hop,
                    };
                    let id = self.add_message(node, dst, message, ttl);
                    self.send_to_link_layer_later(node, id, Some(next_hop), 0);
                }
                Command::Forward { packet, next_hop, delay_ns } => {
                    self.send_to_link_layer_later(node, packet, Some(next_hop), delay_ns);
                }
                Command::Drop { packet } => {
                    self.drops.link_failure += 1;
                    self.send_another_later(node, packet);
                    self.pool.remove(packet);
                }
                Command::Keep { packet } => {
                    if let (Some(transit), Some(aodv)) = (self.transit(node, packet), &mut self.aodv[node]) {
                        aodv.keep(now, transit);
                    }
                }
                Command::Recall { next_hop } => self.recall(node, next_hop),
            }
        }
        let active = self.aodv[node].as_ref().is_some_and(Aodv::is_active);
        if active && !std::mem::replace(&mut self.purge_pending[node], true) {
            let interval = Aodv::PURGE_INTERVAL_NS;
            self.schedule((self.now / interval + 1) * interval, Task::Purge(node));
        }
    }

    fn recall(&mut self, node: NodeId, next_hop: NodeId) {
        let (Some(station), Some(to)) = (self.station_of[node], self.station_of[next_hop]) else {
            return;
        };
        let keeps_own = self.aodv[node].as_ref().is_some_and(|aodv| aodv.rules().source_keeps_packets);
        let in_mac = self.air.recall(self.now, station, to).into_iter().map(|frame| frame.id);
        let recalled: Vec<PacketId> = in_mac.chain(self.take_back_for(node, next_hop)).collect();
        for id in recalled {
            let is_data = self.pool.get(id).is_some_and(|packet| !matches!(packet.body, Body::Aodv(_)));
            let transit = if keeps_own && is_data { self.transit(node, id) } else { None };
            if let (Some(transit), Some(aodv)) = (transit.filter(|transit| transit.is_own), &mut self.aodv[node]) {
                aodv.take_back(self.now, transit);
                continue;
            }
            self.drops.link_failure += 1;
            if let Some(packet) = self.pool.get(id) {
                self.links.at(node, next_hop, Class::of(packet)).drops_recalled += 1;
            }
            self.left_source(node, id);
            self.pool.remove(id);
        }
    }

    fn add_message(&mut self, src: NodeId, dst: NodeId, message: crate::aodv::Message, ttl: u8) -> PacketId {
        let bytes = self.aodv[src].as_ref().map_or(0, |aodv| message.bytes(aodv.rules()));
        self.pool.add(Packet {
            src,
            dst,
            flow: FlowId::NONE,
            bytes,
            ttl,
            forwards: 0,
            previous: src,
            congestion_experienced: false,
            body: Body::Aodv(message),
        })
    }

    fn send_to_link_layer_later(&mut self, node: NodeId, id: PacketId, next_hop: Option<NodeId>, delay_ns: Ns) {
        if delay_ns == 0 {
            self.send_to_link_layer(node, id, next_hop);
            return;
        }
        let slot = self.hold(InLinkLayer::Down { node, packet: id, next_hop });
        self.schedule(self.now + delay_ns, Task::Delayed(slot));
    }

    /// Stores a packet for a later task.
    fn hold(&mut self, entry: InLinkLayer) -> u32 {
        let slot = self.delayed.iter().position(Option::is_none).unwrap_or_else(|| {
            self.delayed.push(None);
            self.delayed.len() - 1
        });
        self.delayed[slot] = Some(entry);
        slot as u32
    }

    pub(super) fn send_delayed(&mut self, slot: u32) {
        if let Some(InLinkLayer::Down { node, packet, next_hop }) = self.delayed[slot as usize].take() {
            self.send_to_link_layer(node, packet, next_hop);
        }
    }

    pub(super) fn purge_routes(&mut self, node: NodeId) {
        let now = self.now;
        self.purge_pending[node] = false;
        if let Some(aodv) = &mut self.aodv[node] {
            aodv.purge(now);
        }
        self.run_aodv_commands(node);
    }
}
