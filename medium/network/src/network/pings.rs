//! Pings: echo requests beside the flows. Hooks do not see them.

use pacelab_air_config::ns_from_s;
use pacelab_engine::Ns;

use super::Network;
use super::task::Task;
use super::transport::TTL;
use crate::ids::{FlowId, NodeId};
use crate::packet::{Body, Packet};

/// IP, ICMP, and the 56 octets that `ping` sends.
const ECHO_BYTES: u32 = 84;

impl Network {
    /// Plans the first request of each pair. They are spread over the first interval.
    pub(super) fn schedule_pings(&mut self) {
        let Some(interval_ns) = self.ping_interval_ns() else { return };
        let pairs = self.pings.len() as u64;
        for pair in 0..pairs {
            self.schedule(interval_ns * pair / pairs, Task::Ping(pair as u32));
        }
    }

    /// Sends the next request of a pair.
    pub(super) fn send_ping(&mut self, pair: u32) {
        let (Some(interval_ns), now) = (self.ping_interval_ns(), self.now) else { return };
        if now >= ns_from_s(self.config.duration_s) {
            return; // the end of the run is not in the measured interval
        }
        let pinger = &mut self.pings[pair as usize];
        let (src, dst, number) = (pinger.src, pinger.dst, pinger.number);
        pinger.number += 1;
        pinger.sent += 1;
        self.schedule(now + interval_ns, Task::Ping(pair));
        self.originate(echo(src, dst, Body::Echo { pair, number, is_reply: false, sent_at: now }));
    }

    /// Answers a request, or takes the round trip of a reply.
    pub(super) fn deliver_echo(&mut self, packet: &Packet) {
        let Body::Echo { pair, number, is_reply, sent_at } = packet.body else { return };
        let pinger = &mut self.pings[pair as usize];
        if !is_reply {
            let reply = Body::Echo { pair, number, is_reply: true, sent_at };
            self.originate(echo(packet.dst, packet.src, reply));
        } else if number >= pinger.first {
            pinger.rtts_ns.push(self.now - sent_at);
        }
    }

    fn ping_interval_ns(&self) -> Option<Ns> {
        self.config.pings.as_ref().map(|pings| ns_from_s(pings.interval_s))
    }
}

fn echo(src: NodeId, dst: NodeId, body: Body) -> Packet {
    Packet {
        src,
        dst,
        flow: FlowId::NONE,
        bytes: ECHO_BYTES,
        ttl: TTL,
        forwards: 0,
        previous: src,
        congestion_experienced: false,
        body,
    }
}
