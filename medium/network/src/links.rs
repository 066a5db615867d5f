//! What each wireless hop did, by class of packet.

use pacelab_engine::Failure;

use crate::packet::{Body, Packet};

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
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounts {
    pub delivered: u64,
    pub drops_rts: u64,
    pub drops_data: u64,
    /// Taken back from the queue since routing took the link for broken.
    pub drops_recalled: u64,
    pub attempts: u64,
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
