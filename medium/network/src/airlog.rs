//! What went over the air in a run: what each wireless hop did, by class of packet; and the log for captures.

use pacelab_air_config::PhyKind;
use pacelab_engine::{Failure, Ns, Record, Sent};

use crate::packet::{Body, Packet};

/// A packet as it was handed to a station's queue.
#[derive(Clone, Debug)]
pub struct Enqueued {
    /// When.
    pub at: Ns,
    /// Its number in the pool, which frames bear. Numbers are used again: the latest one before a frame is meant.
    pub id: u32,
    /// What it was then.
    pub packet: Packet,
}

/// The log for captures: the tap's records, the frames, and the packets inside them, each list by time. Stations are
/// numbered as in the engine.
#[derive(Clone, Debug, Default)]
pub struct AirLog {
    /// The physical layer.
    pub phy: PhyKind,
    /// Name of each node, by node number.
    pub names: Vec<String>,
    /// Node number of each station.
    pub node_of: Vec<u32>,
    /// What happened.
    pub records: Vec<Record>,
    /// What was sent.
    pub frames: Vec<Sent>,
    /// What the frames carry.
    pub packets: Vec<Enqueued>,
    /// When the run ended.
    pub end: Ns,
}

/// What a packet is to the link statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    TcpData,
    TcpAck,
    Udp,
    Voice,
    VoiceReport,
    Routing,
}

impl Class {
    pub fn of(packet: &Packet) -> Self {
        match &packet.body {
            Body::Tcp { forward: true, .. } => Class::TcpData,
            Body::Tcp { forward: false, .. } => Class::TcpAck,
            Body::Udp { .. } => Class::Udp,
            Body::Voice { .. } => Class::Voice,
            Body::Report(_) => Class::VoiceReport,
            Body::Aodv(_) => Class::Routing,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Class::TcpData => "tcp-data",
            Class::TcpAck => "tcp-ack",
            Class::Udp => "udp",
            Class::Voice => "voice",
            Class::VoiceReport => "voice-report",
            Class::Routing => "routing",
        }
    }
}

/// Counts of one directed hop and class since the end of the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkCounts {
    pub delivered: u64,
    pub drops_rts: u64,
    pub drops_data: u64,
    /// Taken back from the queue since routing took the link for broken.
    pub drops_recalled: u64,
    pub attempts: u64,
}

/// The counts of all hops. A node has few neighbours: a short list of each is found through sooner than a tree.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    /// By sender, in the order of first use.
    from: Vec<Vec<((u32, Class), LinkCounts)>>,
}

impl Links {
    pub fn new(nodes: usize) -> Self {
        Links { from: vec![Vec::new(); nodes] }
    }

    /// The counts of this hop and class.
    pub fn at(&mut self, from: u32, to: u32, class: Class) -> &mut LinkCounts {
        let hops = &mut self.from[from as usize];
        let place = hops.iter().position(|&(hop, _)| hop == (to, class)).unwrap_or_else(|| {
            hops.push(((to, class), LinkCounts::default()));
            hops.len() - 1
        });
        &mut hops[place].1
    }

    /// All that were used: (from, to, class) in ascending order, and their counts.
    pub fn sorted(&self) -> Vec<((u32, u32, Class), LinkCounts)> {
        let from = self.from.iter().enumerate();
        let all = from
            .flat_map(|(from, hops)| hops.iter().map(move |&((to, class), counts)| ((from as u32, to, class), counts)));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable_by_key(|&(hop, _)| hop);
        all
    }
}

impl LinkCounts {
    pub fn count(&mut self, attempts: u32, failure: Option<Failure>) {
        self.attempts += u64::from(attempts);
        match failure {
            None => self.delivered += 1,
            Some(Failure::Rts) => self.drops_rts += 1,
            Some(Failure::Data) => self.drops_data += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_are_told_in_order_whatever_was_used_first() {
        let mut links = Links::new(3);
        links.at(2, 0, Class::TcpAck).count(1, None);
        links.at(0, 2, Class::TcpAck).count(3, Some(Failure::Rts));
        links.at(0, 1, Class::TcpData).count(2, None);
        links.at(0, 2, Class::TcpAck).count(1, None);
        let counts =
            |delivered, drops_rts, attempts| LinkCounts { delivered, drops_rts, attempts, ..Default::default() };
        let expected = [
            ((0, 1, Class::TcpData), counts(1, 0, 2)),
            ((0, 2, Class::TcpAck), counts(1, 1, 4)),
            ((2, 0, Class::TcpAck), counts(1, 0, 1)),
        ];
        assert_eq!(links.sorted(), expected);
    }
}
