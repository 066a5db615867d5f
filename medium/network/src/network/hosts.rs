//! What hosts take to carry a packet between their link layer and themselves.

use pacelab_air_config::{HostDelay, ns_from_s};
use pacelab_engine::{Ns, Stream};

use super::task::InLinkLayer;

/// The doors of all hosts: packets pass each of them, in each direction, in order.
#[derive(Debug)]
pub(super) struct Hosts {
    law: HostDelay,
    /// By node.
    streams: Vec<Stream>,
    /// By node, upwards and downwards: when the last packet was through.
    through_at: Vec<[Ns; 2]>,
}

impl Hosts {
    /// Doors that nothing has passed.
    pub fn new(law: HostDelay, streams: Vec<Stream>) -> Self {
        Hosts { law, through_at: vec![[0; 2]; streams.len()], streams }
    }

    /// When a packet is through that comes to the door at `at`: a delay later, and never before the one ahead of it.
    pub fn pass(&mut self, entry: InLinkLayer, at: Ns) -> Ns {
        let (node, direction) = match entry {
            InLinkLayer::Up { node, .. } => (node as usize, 0),
            InLinkLayer::Down { node, .. } => (node as usize, 1),
        };
        let delay_ns = match self.law {
            HostDelay::Fixed { s } => ns_from_s(s),
            HostDelay::Exponential { mean_s } => ns_from_s(-mean_s * libm::log(1.0 - self.streams[node].unit())),
        };
        let last = &mut self.through_at[node][direction];
        *last = (*last).max(at + delay_ns);
        *last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: InLinkLayer = InLinkLayer::Up { node: 1, packet: 0 };
    const DOWN: InLinkLayer = InLinkLayer::Down { node: 1, packet: 0, next_hop: None };

    fn hosts(law: HostDelay) -> Hosts {
        Hosts::new(law, (0..2).map(|node| Stream::new(1, node)).collect())
    }

    #[test]
    fn a_fixed_delay_holds_up_nobody_behind() {
        let mut hosts = hosts(HostDelay::Fixed { s: 0.001 });
        assert_eq!(hosts.pass(UP, 0), 1_000_000);
        assert_eq!(hosts.pass(UP, 10), 1_000_010);
        assert_eq!(hosts.pass(DOWN, 5), 1_000_005);
    }

    #[test]
    fn an_exponential_delay_has_its_mean_and_keeps_the_order() {
        let mut hosts = hosts(HostDelay::Exponential { mean_s: 0.001 });
        let mut last = 0;
        let mut sum = 0;
        for packet in 0..10_000 {
            let at = packet * 1_000_000_000;
            sum += hosts.pass(UP, at) - at;
        }
        // 1 ms each, standard deviation of the mean 0.01 ms: five of them either way
        assert!((9_500_000_000..10_500_000_000).contains(&sum), "{sum}");
        for packet in 0..1000 {
            let at = hosts.pass(DOWN, packet);
            assert!(at >= last);
            last = at;
        }
    }
}
