//! The hooks that an injected segment passes: the link hook of its own node, and the hooks of other nodes on its path.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use pacelab_air_config::Config;
use pacelab_engine::{NEVER, Ns};
use pacelab_network::Network;
use pacelab_network::hook::{Action, Event, Hook, Place, Point, Segment, mask};
use pacelab_network::ids::NodeId;
use pacelab_network::packet::TcpHeader;

/// Advertised windows that no real segment of the run has: they name the injected ones.
const TO_THE_PEER: u32 = 54_321;
const TO_ITSELF: u32 = 12_321;

/// (who saw it, where, its window).
type Sightings = Rc<RefCell<Vec<(&'static str, Point, u32)>>>;

/// Lets everything pass; injects two ACKs when it sees the first data, if it is to.
struct Watcher {
    name: &'static str,
    injects: bool,
    seen: Sightings,
    actions: Vec<Action>,
}

impl Hook for Watcher {
    fn event_mask(&self) -> u32 {
        mask::SEGMENT
    }

    fn handle(&mut self, _now: Ns, event: &Event<'_>) {
        let Event::Seen { point, segment, .. } = event else { return };
        let Some(header) = segment.tcp else { return };
        self.seen.borrow_mut().push((self.name, *point, header.window_bytes));
        self.actions.push(Action::Forward { handle: segment.handle, keep: false });
        if segment.payload_bytes > 0 && std::mem::take(&mut self.injects) {
            let (src, dst, sport, dport) = segment.flow;
            let ack = |flow, window_bytes| {
                let tcp = TcpHeader { payload_bytes: 0, window_bytes, ..header };
                let made = Segment { flow, tcp: Some(tcp), payload_bytes: 0, packet_bytes: 40, ..segment.clone() };
                Action::Inject { segment: Box::new(made) }
            };
            self.actions.push(ack((dst, src, dport, sport), TO_THE_PEER));
            self.actions.push(ack((src, dst, sport, dport), TO_ITSELF));
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop()
    }

    fn deadline(&mut self) -> Ns {
        NEVER
    }

    fn handle_timeout(&mut self, _now: Ns) {}

    fn failure(&self) -> Option<&str> {
        None
    }

    fn counters_json(&mut self) -> String {
        "{}".into()
    }
}

/// A TCP flow from n0 over n1 to n2, 5 s at 2 Mbit/s.
fn line() -> Config {
    let nodes: Vec<String> =
        (0..3).map(|i| format!(r#"{{"name": "n{i}", "wireless": true, "position_m": [{}, 0.0]}}"#, 200 * i)).collect();
    let text = format!(
        r#"{{"version": 1, "seed": 1, "duration_s": 5.0, "warmup_s": 0.0, "series_interval_s": 1.0, "tap": false,
            "radio": {{"preset": "ns2", "basic_rate_bps": 1000000, "data_rate_bps": 2000000,
                       "rts_threshold_bytes": 0, "short_retry_limit": 7, "long_retry_limit": 4, "queue_pkts": 50,
                       "mac_ack_rate": "basic",
                       "propagation": {{"kind": "range", "decode_m": 250.0, "sense_m": 550.0, "capture_db": 10.0}}}},
            "headers": "real", "nodes": [{}], "wired": [], "routing": "static",
            "flows": [{{"id": 0, "src": 0, "dst": 2, "start_s": 0.0, "kind": "tcp", "segment_bytes": 1460,
                        "window_pkts": 4, "cc": "newreno", "initial_window": 2, "min_rto_s": 0.2, "ack_every": 1}}]}}"#,
        nodes.join(", ")
    );
    Config::from_json(&text).unwrap()
}

#[test]
fn an_injected_segment_passes_no_hook_of_its_node_but_the_links() {
    let seen = Sightings::default();
    let watcher = |name, injects| -> Box<dyn Hook> {
        Box::new(Watcher { name, injects, seen: Rc::clone(&seen), actions: Vec::new() })
    };
    let hooks = vec![
        (NodeId(2), Place::Node, watcher("n2", true)),
        (NodeId(2), Place::Link, watcher("link of n2", false)),
        (NodeId(1), Place::Link, watcher("link of n1", false)),
        (NodeId(0), Place::Node, watcher("n0", false)),
    ];
    let mut network = Network::new(line(), hooks).unwrap();
    network.run(&mut |_| ControlFlow::Continue(()));
    let seen = seen.borrow();
    let with = |window| seen.iter().filter(|one| one.2 == window).map(|one| (one.0, one.1)).collect::<Vec<_>>();
    let expected = [("link of n2", Point::Link), ("link of n1", Point::Link), ("n0", Point::LocalIn)];
    assert_eq!(with(TO_THE_PEER), expected);
    assert_eq!(with(TO_ITSELF), [], "it goes straight to the node's own transport");
    assert!(seen.iter().any(|one| one.0 == "n2"), "the node's hook sees what others sent");
}
