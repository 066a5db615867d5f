//! Interfaces under a queue discipline: packets into the queue, out of it to the MAC or the wire, and packets that the
//! discipline dropped or marked.
//!
//! A discipline of a radio is asked for a packet when the MAC has less than `Qdisc::ring_pkts` packets waiting: with 0,
//! when it is done with the packet in service. Stations that send aggregates have at least one aggregate waiting, or they
//! would have nothing to aggregate. Routing messages go to the MAC at once.

use std::collections::BTreeMap;

use pacelab_air_config::Category;

use super::Network;
use super::task::Task;
use crate::ids::{NodeId, PacketId, StationId, WireId};
use crate::packet::{Body, Packet};
use crate::qdisc::{Change, Item};

impl Network {
    /// Adds a packet to the queue of a radio.
    pub(super) fn push_to_radio(&mut self, node: NodeId, id: PacketId, next_hop: Option<NodeId>) {
        let (Some(station), Some(packet)) = (self.station_of[node], self.pool.get(id)) else { return };
        let (category, item) = (self.category_of(packet), self.item(id, packet, next_hop));
        let index = self.discipline_index(category);
        self.interfaces[station].push(index, item);
        self.apply_changes(node, Some(station), None);
        self.feed_mac(node, category);
    }

    /// Hands packets from the queue of a radio to its MAC while the MAC has room.
    pub(super) fn feed_mac(&mut self, node: NodeId, category: Category) {
        let (Some(station), Some(qdisc)) = (self.station_of[node], self.config.qdisc) else { return };
        let index = self.discipline_index(category);
        let radio = &self.config.radio;
        let aggregate_pkts = if radio.aggregates() { radio.high_throughput().ampdu_frames } else { 0 };
        let ring_pkts = qdisc.ring_pkts.max(aggregate_pkts) as usize;
        while self.air.backlog_pkts(station, category) <= ring_pkts {
            if !self.interfaces[station].has(index) {
                break;
            }
            let item = self.interfaces[station].pop(self.now, index);
            self.apply_changes(node, Some(station), None);
            if let Some(item) = item {
                self.hand_to_mac(node, item.id, item.next_hop);
            }
        }
    }

    /// Adds a packet to the queue of a wire.
    pub(super) fn push_to_wire(&mut self, wire: WireId, node: NodeId, id: PacketId) {
        let Some(packet) = self.pool.get(id) else { return };
        let item = self.item(id, packet, None);
        if let Some(interface) = &mut self.wires[wire].interface {
            interface.push(0, item);
        }
        self.apply_changes(node, None, Some(wire));
        self.feed_wire(wire);
    }

    /// Transmits the next packet from the queue of a wire if the transmitter is free.
    pub(super) fn feed_wire(&mut self, wire: WireId) {
        let (now, node) = (self.now, self.wires[wire.reverse()].to);
        while self.wires[wire].free_at() <= now {
            let Some(interface) = self.wires[wire].interface.as_mut().filter(|interface| interface.has(0)) else {
                break;
            };
            let item = interface.pop(now, 0);
            self.apply_changes(node, None, Some(wire));
            let Some(item) = item else { continue };
            let at = self.wires[wire].transmit(now, item.id, item.bytes);
            let free_at = self.wires[wire].free_at();
            self.schedule(at, Task::Wire(wire));
            self.schedule(free_at, Task::WireFree(wire));
            if let Some(flow) = self.saturating_source(node, item.id) {
                self.schedule(free_at, Task::Datagrams(flow));
            }
        }
    }

    /// Removes the packets that wait at `node` for `next_hop`, and returns them.
    pub(super) fn take_back_for(&mut self, node: NodeId, next_hop: NodeId) -> Vec<PacketId> {
        let now = self.now;
        let interface = self.station_of[node].and_then(|station| self.interfaces.get_mut(station));
        let taken = interface.map(|interface| interface.take_back(now, &|item| item.next_hop == Some(next_hop)));
        taken.into_iter().flatten().map(|item| item.id).collect()
    }

    /// Resets the measurements of all queues.
    pub(super) fn reset_interfaces(&mut self) {
        let now = self.now;
        self.interfaces.iter_mut().for_each(|interface| interface.reset(now));
        self.wires.iter_mut().filter_map(|wire| wire.interface.as_mut()).for_each(|interface| interface.reset(now));
    }

    fn discipline_index(&self, category: Category) -> usize {
        if self.config.radio.edca { category as usize } else { 0 }
    }

    fn item(&self, id: PacketId, packet: &Packet, next_hop: Option<NodeId>) -> Item {
        let forward = !matches!(packet.body, Body::Tcp { forward: false, .. } | Body::Report(_));
        let flow = match packet.body {
            Body::Echo { pair, is_reply, .. } => (self.flows.len() as u32 + pair) * 2 + u32::from(is_reply),
            _ => packet.flow.0 * 2 + u32::from(forward),
        };
        Item { id, bytes: packet.bytes, flow, ecn_capable: self.is_ecn_capable(packet), next_hop, at: self.now }
    }

    /// Handles the packets that a queue at `node` dropped or marked.
    fn apply_changes(&mut self, node: NodeId, station: Option<StationId>, wire: Option<WireId>) {
        let interface = match (station, wire) {
            (Some(station), _) => Some(&mut self.interfaces[station]),
            (None, Some(wire)) => self.wires[wire].interface.as_mut(),
            (None, None) => None,
        };
        let Some(interface) = interface.filter(|interface| !interface.changes.is_empty()) else { return };
        for change in std::mem::take(&mut interface.changes) {
            match change {
                Change::Marked(id) => {
                    if let Some(packet) = self.pool.get_mut(id) {
                        packet.congestion_experienced = true;
                    }
                }
                Change::Dropped(item, reason) => {
                    match (reason, station) {
                        ("full", Some(_)) => self.drops.queue += 1,
                        ("full", None) => self.drops.wired_queue += 1,
                        (other, _) => count_drop(&mut self.drops.disciplines, other, station.is_none()),
                    }
                    if let Some(station) = station {
                        let to = item.next_hop.and_then(|next_hop| self.station_of[next_hop]);
                        self.air.note_queue_drop(self.now, station, to, item.id);
                    }
                    self.send_another_later(node, item.id);
                    self.pool.remove(item.id);
                }
            }
        }
    }
}

fn count_drop(drops: &mut BTreeMap<String, u64>, reason: &str, wired: bool) {
    let prefix = if wired { "wired-" } else { "" };
    *drops.entry(format!("{prefix}qdisc:{reason}")).or_insert(0) += 1;
}
