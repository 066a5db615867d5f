//! The result document, version 1; see `medium/README.md`.

use pacelab_air_config::{Traffic, ns_from_s};
use pacelab_engine::Ns;
use serde_json::{Value, json};

use super::Network;
use crate::airlog::AirLog;
use crate::flow::{Endpoints, FlowMeter};
use crate::ids::{FlowId, Id, NodeId};
use crate::ping::Pinger;
use crate::qdisc::Interface;
use crate::tcp::sender::Sender;
use crate::voice::{Counts, Playout};

/// Quantiles of the round trips in a result.
const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

impl Network {
    /// The result so far.
    pub fn report(&mut self) -> Value {
        let measured_s = (self.now - self.measured_from) as f64 / 1e9;
        let flows: Vec<Value> = self.flows.ids().map(|index| self.report_flow(index, measured_s)).collect();
        let mut nodes = self.report_nodes(measured_s);
        let hooks: Vec<Value> = self.hooks.iter_mut().map(|driver| {
            let counters: Value = serde_json::from_str(&driver.hook.counters_json()).unwrap_or(Value::Null);
            json!({"node": driver.node, "errors": driver.errors, "failed": driver.hook.failure(), "counters": counters})
        }).collect();
        self.report_queues(&mut nodes, measured_s);
        let wires = self.report_wires(measured_s);
        let tap = if self.config.tap { self.report_tap() } else { Value::Null };
        let mut result = json!({
            "version": 1,
            "end_s": self.now as f64 / 1e9,
            "events": self.events,
            "flows": flows,
            "links": self.report_links(),
            "nodes": nodes,
            "drops": self.report_drops(),
            "aodv": self.report_aodv(),
            "hooks": hooks,
            "series": self.report_series(),
            "tap": tap,
        });
        if self.config.qdisc.is_some() {
            result["wires"] = Value::Array(wires);
        }
        if !self.pings.is_empty() {
            result["pings"] = self.pings.iter().map(|pinger| self.report_pings(pinger)).collect();
        }
        result
    }

    fn report_pings(&self, pinger: &Pinger) -> Value {
        let name = |node: NodeId| &self.config.nodes[node.index()].name;
        let mut rtts_s: Vec<f64> = pinger.rtts_ns.iter().map(|&rtt_ns| rtt_ns as f64 / 1e9).collect();
        rtts_s.sort_by(f64::total_cmp);
        let mean_s = rtts_s.iter().sum::<f64>() / rtts_s.len() as f64;
        let p95_s = rtts_s.len().checked_sub(1).map(|last| rtts_s[(0.95 * last as f64).round() as usize]);
        json!({
            "src": name(pinger.src),
            "dst": name(pinger.dst),
            "sent": pinger.sent,
            "answered": rtts_s.len(),
            "rtt_mean_s": (!rtts_s.is_empty()).then_some(mean_s),
            "rtt_p95_s": p95_s,
            "rtt_max_s": rtts_s.last(),
        })
    }

    /// Adds the measurements of the queue disciplines of radios.
    fn report_queues(&mut self, nodes: &mut [Value], measured_s: f64) {
        let now = self.now;
        for (node, interface) in nodes.iter_mut().zip(self.interfaces.iter_mut()) {
            let counts = report_interface(interface, now, measured_s);
            for key in ["drops_queue", "queue_max_pkts", "queue_mean_pkts", "queue_sd_pkts", "qdisc"] {
                node[key] = counts[key].clone();
            }
        }
    }

    /// The queues of wires under a queue discipline, each direction alone.
    fn report_wires(&mut self, measured_s: f64) -> Vec<Value> {
        let now = self.now;
        let mut found = Vec::new();
        for wire in self.wires.ids() {
            let (from, to) = (self.wires[wire.reverse()].to, self.wires[wire].to);
            let name = |node: NodeId| &self.config.nodes[node.index()].name;
            let ends = json!({"from": name(from), "to": name(to)});
            let Some(interface) = &mut self.wires[wire].interface else { continue };
            let mut counts = report_interface(interface, now, measured_s);
            counts["from"] = ends["from"].clone();
            counts["to"] = ends["to"].clone();
            found.push(counts);
        }
        found
    }

    fn report_flow(&mut self, index: FlowId, measured_s: f64) -> Value {
        let (src, dst) = (self.flows[index].config.src, self.flows[index].config.dst);
        let path = self.routes.path(src, dst);
        let wireless = |node: NodeId| self.station_of[node].is_some();
        let hops = path.windows(2).filter(|pair| wireless(pair[0]) && wireless(pair[1])).count();
        let now = self.now;
        let flow = &mut self.flows[index];
        let mut value = json!({
            "id": flow.config.id,
            "kind": flow.kind(),
            "src": self.config.nodes[src.index()].name,
            "dst": self.config.nodes[dst.index()].name,
            "hops": hops,
            "goodput_bps": flow.meter.goodput_bytes as f64 * 8.0 / measured_s,
            "throughput_bps": flow.meter.arrived_bytes as f64 * 8.0 / measured_s,
            "delivered_pkts": flow.meter.goodput_bytes / u64::from(flow.payload_bytes),
            "sent_pkts": flow.datagrams - flow.meter.sent_pkts_before.min(flow.datagrams),
            "retransmitted_pkts": 0,
            "timeouts": 0,
            "rtt_mean_s": null,
            "rtt_sd_s": null,
            "cwnd_mean_pkts": null,
            "batch_end_s": flow.meter.batch_end_s,
            "finished_s": flow.meter.finished_s,
            "rtt_quantiles_s": null,
            "cwnd_share": null,
            "voice": null,
        });
        match (&flow.endpoints, &flow.config.traffic) {
            (Endpoints::Voice { playout, .. }, Traffic::Voice(voice)) => {
                value["voice"] = report_voice(voice.call, playout, &playout.counts(self.measured_from, now));
            }
            (Endpoints::Tcp { sender, .. }, _) => {
                flow.meter.window(now, sender.window_pkts());
                report_tcp(&mut value, sender, &flow.meter, measured_s);
            }
            _ => {}
        }
        value
    }

    fn report_nodes(&mut self, measured_s: f64) -> Vec<Value> {
        let now = self.now;
        let mut nodes = Vec::new();
        for (station, &node) in self.node_of.iter_with_ids() {
            let counters = self.air.counters(now, station);
            nodes.push(json!({
                "name": self.config.nodes[node.index()].name,
                "rts_sent": counters.rts_sent,
                "cts_sent": counters.cts_sent,
                "data_sent": counters.data_sent,
                "ack_sent": counters.ack_sent,
                "delivered_frames": counters.delivered_frames,
                "retries": counters.retries,
                "rts_failures": counters.rts_failures,
                "data_failures": counters.data_failures,
                "drops_rts": counters.drops_rts,
                "drops_data": counters.drops_data,
                "drops_queue": counters.drops_queue,
                "queue_max_pkts": counters.queue_max_pkts,
                "queue_mean_pkts": counters.queue_pkt_ns as f64 / 1e9 / measured_s,
                "queue_sd_pkts": counters.queue_sd_pkts(measured_s),
                "backoff_slots": counters.backoff_slots,
                "backoffs": counters.backoffs,
                "airtime_s": counters.airtime_ns as f64 / 1e9,
            }));
        }
        nodes
    }

    fn report_links(&self) -> Vec<Value> {
        let name = |node: NodeId| &self.config.nodes[node.index()].name;
        let links = self.links.sorted().into_iter().map(|((from, to, class), counts)| {
            json!({
                "from": name(from),
                "to": name(to),
                "class": class.name(),
                "delivered": counts.delivered,
                "drops_rts": counts.drops_rts,
                "drops_data": counts.drops_data,
                "drops_recalled": counts.drops_recalled,
                "attempts": counts.attempts,
            })
        });
        links.collect()
    }

    fn report_drops(&self) -> Value {
        let drops = &self.drops;
        let mut value = json!({
            "mac-rts": drops.mac_rts,
            "mac-data": drops.mac_data,
            "queue": drops.queue,
            "wired-queue": drops.wired_queue,
            "no-route": drops.no_route,
            "ttl": drops.ttl,
            "link-failure": drops.link_failure,
        });
        for (reason, count) in &drops.disciplines {
            value[reason] = json!(count);
        }
        for (reason, count) in &drops.hooks {
            value[format!("hook:{reason}")] = json!(count);
        }
        value
    }

    fn report_aodv(&self) -> Value {
        let mut nodes = self.aodv.iter().flatten().map(|aodv| aodv.counters).peekable();
        if nodes.peek().is_none() {
            return Value::Null;
        }
        let (mut requests, mut replies, mut errors, mut failures) = (0, 0, 0, 0);
        for counters in nodes {
            requests += counters.requests;
            replies += counters.replies;
            errors += counters.errors;
            failures += counters.link_failures;
        }
        json!({"requests": requests, "replies": replies, "errors": errors, "link_failures": failures})
    }

    fn report_series(&self) -> Value {
        let flows: Vec<Value> = self
            .flows
            .iter()
            .map(|flow| {
                let mut series = json!({
                    "id": flow.config.id,
                    "goodput_bps": flow.meter.series_goodput_bps,
                    "cwnd_pkts": flow.meter.series_cwnd_pkts,
                    "rtt_s": flow.meter.series_rtt_s,
                });
                if let Endpoints::Voice { playout, .. } = &flow.endpoints {
                    series["voice"] = self.report_voice_series(playout);
                }
                series
            })
            .collect();
        json!({"interval_s": self.config.series_interval_s, "t_s": self.series_t_s, "flows": flows})
    }

    /// Counts by the interval in which packets were sent.
    fn report_voice_series(&self, playout: &Playout) -> Value {
        let interval_ns = ns_from_s(self.config.series_interval_s);
        let ends = (1..=self.series_t_s.len() as u64).map(|count| count * interval_ns);
        let counts: Vec<Counts> = ends.map(|end| playout.counts_between(end - interval_ns, end, self.now)).collect();
        json!({
            "due_pkts": counts.iter().map(|counts| counts.due).collect::<Vec<_>>(),
            "lost_pkts": counts.iter().map(|counts| counts.lost).collect::<Vec<_>>(),
            "late_pkts": counts.iter().map(|counts| counts.late).collect::<Vec<_>>(),
            "delay_s": counts.iter().map(Counts::delay_mean_s).collect::<Vec<_>>(),
        })
    }

    fn report_tap(&mut self) -> Value {
        let node_of = &self.node_of;
        let name = |what| {
            let mut name = String::new();
            for letter in format!("{what:?}").chars() {
                if letter.is_uppercase() && !name.is_empty() {
                    name.push('-');
                }
                name.extend(letter.to_lowercase());
            }
            name
        };
        self.air
            .take_records()
            .into_iter()
            .map(|record| {
                json!([
                    record.at,
                    node_of[record.station],
                    name(record.what),
                    record.peer.map(|peer| node_of[peer]),
                    record.value,
                ])
            })
            .collect()
    }
}

/// The measurements of one queue.
fn report_interface(interface: &mut Interface, now: Ns, measured_s: f64) -> Value {
    interface.note_length(now);
    let meter = &interface.meter;
    let waits_s = meter.waits_s();
    let (mean, square) = (meter.pkt_ns as f64 / 1e9 / measured_s, meter.pkt2_ns as f64 / 1e9 / measured_s);
    json!({
        "drops_queue": meter.drops.get("full").copied().unwrap_or(0),
        "queue_max_pkts": meter.most_pkts,
        "queue_mean_pkts": mean,
        "queue_sd_pkts": (square - mean * mean).max(0.0).sqrt(),
        "qdisc": {
            "sent": meter.sent,
            "drops": meter.drops,
            "marked": meter.marked,
            "wait_mean_s": waits_s.map(|(mean_s, _)| mean_s),
            "wait_max_s": waits_s.map(|(_, most_s)| most_s),
        },
    })
}

fn report_voice(call: u32, playout: &Playout, counts: &Counts) -> Value {
    json!({
        "call": call,
        "playout_s": playout.playout_s(),
        "due_pkts": counts.due,
        "lost_pkts": counts.lost,
        "late_pkts": counts.late,
        "delay_mean_s": counts.delay_mean_s(),
        "delay_quantiles_s": counts.delay_quantiles_s(&QUANTILES),
        "reports_sent": playout.reports_sent,
        "reports_received": playout.reports_received,
    })
}

/// Adds the values of TCP flows.
fn report_tcp(value: &mut Value, sender: &Sender, meter: &FlowMeter, measured_s: f64) {
    let (mean, sd) = meter.rtt_mean_sd_s();
    value["sent_pkts"] = json!(sender.sent_pkts - meter.sent_pkts_before);
    value["retransmitted_pkts"] = json!(sender.retransmitted_pkts - meter.retransmitted_before);
    value["timeouts"] = json!(sender.timeouts - meter.timeouts_before);
    value["rtt_mean_s"] = json!(mean);
    value["rtt_sd_s"] = json!(sd);
    value["cwnd_mean_pkts"] = json!(meter.window_pkt_s / measured_s);
    value["rtt_quantiles_s"] = json!(meter.rtt_quantiles_s(&QUANTILES));
    let total_s: f64 = meter.window_share_s.iter().sum();
    let shares = meter.window_share_s.iter().enumerate().filter(|&(_, &time_s)| time_s > 0.0);
    value["cwnd_share"] = shares.map(|(window, time_s)| (window.to_string(), json!(time_s / total_s))).collect();
}

impl Network {
    /// Takes the log of a run with a capture. Afterwards `report` has no trace records.
    pub fn take_air_log(&mut self) -> AirLog {
        AirLog {
            phy: self.config.radio.phy,
            high_throughput: self.config.radio.mode().map(|mode| (mode, self.config.radio.high_throughput())),
            names: self.config.nodes.iter().map(|node| node.name.clone()).collect(),
            node_of: self.node_of.clone(),
            records: self.air.take_records(),
            frames: self.air.take_frames(),
            packets: std::mem::take(&mut self.enqueued),
            end: self.now,
        }
    }
}
