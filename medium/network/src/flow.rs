//! A flow: its two ends and its meter.

use pacelab_air_config::{Cbr, Flow as FlowConfig, Tcp, Traffic, Voice};
use pacelab_engine::Ns;

use crate::meter::FlowMeter;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::voice::{Codec, Playout};

/// Client ports of flows begin here.
pub(crate) const FIRST_CLIENT_PORT: u32 = 49_152;
const SERVER_PORT: u32 = 5_001;

/// The ends of a flow.
pub enum Ends {
    /// A TCP connection, one-way data.
    Tcp {
        /// At the source.
        sender: Box<Sender>,
        /// At the destination.
        receiver: Box<Receiver>,
    },
    /// Keeps the source's interface queue filled.
    UdpSaturated,
    /// Bursts of datagrams at a constant mean rate.
    Cbr {
        /// Time from burst to burst.
        interval_ns: Ns,
        /// Datagrams in a burst.
        burst_pkts: u32,
    },
    /// One direction of a call.
    Voice {
        /// When the codec hands packets over.
        codec: Codec,
        /// At the destination.
        playout: Box<Playout>,
    },
}

/// One flow of the configuration.
pub struct Flow {
    /// As configured.
    pub config: FlowConfig,
    /// Sender and receiver.
    pub ends: Ends,
    /// Payload of a full packet.
    pub payload_bytes: u32,
    /// Datagrams sent so far.
    pub datagrams: u64,
    /// Segments of the sender that the hook at its own node holds.
    pub held_pkts: u32,
    /// Started and not stopped.
    pub active: bool,
    /// Measurements.
    pub meter: FlowMeter,
    /// Earliest agenda entries of sender and receiver.
    pub timers_at: [Ns; 2],
}

impl Flow {
    /// Payload octets of a full packet of this traffic.
    pub fn payload_of(traffic: &Traffic) -> u32 {
        match traffic {
            Traffic::Tcp(Tcp { segment_bytes, .. }) => *segment_bytes,
            Traffic::UdpSaturated { payload_bytes }
            | Traffic::Cbr(Cbr { payload_bytes, .. })
            | Traffic::Voice(Voice { payload_bytes, .. }) => *payload_bytes,
        }
    }

    /// Its kind, as the configuration spells it.
    pub fn kind(&self) -> &'static str {
        match self.config.traffic {
            Traffic::Tcp(_) => "tcp",
            Traffic::UdpSaturated { .. } => "udp-saturated",
            Traffic::Cbr(_) => "cbr",
            Traffic::Voice(_) => "voice",
        }
    }
}

/// Ports of a flow: each has a client port of its own.
pub fn ports(flow: u32) -> (u32, u32) {
    (FIRST_CLIENT_PORT + flow, SERVER_PORT)
}
