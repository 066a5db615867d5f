//! What an air configuration must fulfil.

use std::collections::BTreeMap;

use super::{Config, Flow, PropagationName, Traffic, VERSION};
use crate::voice;

impl Config {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// One line: the key, the value and what is allowed.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let config: Config = serde_json::from_str(text).map_err(|error| format!("air configuration: {error}"))?;
        config.check()?;
        Ok(config)
    }

    /// Checks what `from_json` has not: for configurations that were put together otherwise.
    ///
    /// # Errors
    /// One line: the key, the value and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        check(self.version == VERSION, || format!("version {}: this engine speaks version {VERSION}", self.version))?;
        check(self.duration_s > 0.0 && self.duration_s <= 1e6, || {
            format!("duration_s {}: must lie in (0, 1000000]", self.duration_s)
        })?;
        check(self.warmup_s >= 0.0 && self.warmup_s < self.duration_s, || {
            format!("warmup_s {}: must lie in [0, duration_s)", self.warmup_s)
        })?;
        check(self.series_interval_s > 0.0, || format!("series_interval_s {}: must be > 0", self.series_interval_s))?;
        check(!self.nodes.is_empty(), || "nodes: there are none".into())?;
        self.check_radio()?;
        self.check_nodes()?;
        self.flows.iter().try_for_each(|flow| self.check_flow(flow))?;
        self.check_calls()
    }

    /// A call has two directions between the same two nodes at most.
    fn check_calls(&self) -> Result<(), String> {
        let mut ends = BTreeMap::new();
        for flow in &self.flows {
            let Traffic::Voice { call, .. } = flow.traffic else { continue };
            let fits = match ends.insert((call, flow.src), flow.dst) {
                Some(_) => false,
                None => ends
                    .range((call, 0)..=(call, u32::MAX))
                    .all(|(&(_, src), &dst)| (src, dst) == (flow.src, flow.dst) || (src, dst) == (flow.dst, flow.src)),
            };
            check(fits, || format!("flow {}: call {call}: has two flows, there and back, at most", flow.id))?;
        }
        Ok(())
    }

    fn check_radio(&self) -> Result<(), String> {
        let radio = &self.radio;
        let node_rates = self.nodes.iter().filter_map(|node| node.data_rate_bps);
        let link_rates = self.link_rates_bps.iter().map(|&(_, _, rate)| rate);
        let changes = self.rate_changes.iter().map(|&(_, _, _, rate)| rate);
        let rates_bps = radio.phy.rates_bps();
        let own = [radio.basic_rate_bps, radio.data_rate_bps].into_iter();
        for rate in own.chain(node_rates).chain(link_rates).chain(changes) {
            check(rates_bps.contains(&rate), || format!("rate {rate} bit/s: this physical layer has {rates_bps:?}"))?;
        }
        check(radio.short_retry_limit > 0 && radio.long_retry_limit > 0, || "retry limits: must be >= 1".into())?;
        check(radio.queue_pkts > 0, || "queue_pkts 0: must be >= 1".into())
    }

    fn check_nodes(&self) -> Result<(), String> {
        let count = self.nodes.len() as u32;
        for node in &self.nodes {
            let placed = node.position_m.is_some_and(|[x, y]| x.is_finite() && y.is_finite());
            let matrix = matches!(self.radio.propagation, PropagationName::Matrix { .. });
            check(!node.wireless || placed || matrix, || format!("node {}: wireless without a position", node.name))?;
        }
        for &(node, at_s, x, y) in &self.moves {
            check(node < count && self.nodes[node as usize].wireless, || {
                format!("moves: node {node} is not wireless")
            })?;
            check(at_s >= 0.0 && x.is_finite() && y.is_finite(), || {
                format!("moves: node {node}: time >= 0, finite x, y")
            })?;
        }
        for &(at_s, from, to, _) in &self.rate_changes {
            check(at_s >= 0.0 && from < count && to < count, || {
                format!("rate_changes: {at_s} s, {from} to {to}: time >= 0, nodes below {count}")
            })?;
        }
        for wire in &self.wired {
            check(wire.a < count && wire.b < count && wire.a != wire.b, || {
                format!("wired link {}-{}: needs two different nodes below {count}", wire.a, wire.b)
            })?;
            check(wire.rate_bps > 0.0 && wire.delay_s >= 0.0 && wire.queue_pkts > 0, || {
                format!("wired link {}-{}: rate > 0, delay >= 0, queue >= 1", wire.a, wire.b)
            })?;
        }
        Ok(())
    }

    fn check_flow(&self, flow: &Flow) -> Result<(), String> {
        let count = self.nodes.len() as u32;
        let name = format!("flow {}", flow.id);
        check(flow.src < count && flow.dst < count && flow.src != flow.dst, || {
            format!("{name}: src {} and dst {} must be two different nodes below {count}", flow.src, flow.dst)
        })?;
        check(flow.start_s >= 0.0 && flow.stop_s.is_none_or(|stop_s| stop_s > flow.start_s), || {
            format!("{name}: start_s must be >= 0 and stop_s later")
        })?;
        match &flow.traffic {
            Traffic::Tcp {
                segment_bytes,
                window_pkts,
                initial_window,
                min_rto_s,
                ack_every,
                size_bytes,
                ack_schedule,
                cc,
                few,
                ..
            } => {
                check(few.is_none_or(|few| few.alpha > 0.0 && few.alpha <= 1.0), || {
                    format!("{name}: few: alpha must lie in (0, 1]")
                })?;
                check(few.is_none_or(|few| few.min_window_pkts >= 1.0), || {
                    format!("{name}: few: min_window_pkts must be >= 1")
                })?;
                check(few.is_none() || cc == "few", || format!("{name}: few with cc {cc:?}: goes with cc \"few\""))?;
                check(ack_schedule.iter().all(|&(_, every)| every >= 1), || {
                    format!("{name}: ack_schedule: every >= 1")
                })?;
                check(size_bytes.is_none_or(|size| (1..=1 << 30).contains(&size)), || {
                    format!("{name}: size_bytes must lie in 1..=1073741824")
                })?;
                check((1..=9000).contains(segment_bytes), || format!("{name}: segment_bytes must lie in 1..=9000"))?;
                check((1..=65_536).contains(window_pkts), || {
                    format!("{name}: window_pkts {window_pkts}: must lie in 1..=65536")
                })?;
                check(*initial_window >= 1, || format!("{name}: initial_window 0: must be >= 1"))?;
                check(*min_rto_s > 0.0 && *min_rto_s <= 60.0, || format!("{name}: min_rto_s must lie in (0, 60]"))?;
                check((1..=2).contains(ack_every), || format!("{name}: ack_every {ack_every}: 1 or 2"))
            }
            Traffic::UdpSaturated { payload_bytes } => {
                check((1..=9000).contains(payload_bytes), || format!("{name}: payload_bytes must lie in 1..=9000"))
            }
            Traffic::Cbr { payload_bytes, rate_bps, burst_pkts } => {
                check((1..=9000).contains(payload_bytes), || format!("{name}: payload_bytes must lie in 1..=9000"))?;
                check(*rate_bps > 0.0 && rate_bps.is_finite(), || format!("{name}: rate_bps must be > 0"))?;
                check(*burst_pkts >= 1, || format!("{name}: burst_pkts must be >= 1"))
            }
            Traffic::Voice { call, payload_bytes, header_bytes, interval_s, playout_s } => {
                check(*call < voice::CALLS, || format!("{name}: call {call}: must lie below {}", voice::CALLS))?;
                check((1..=9000).contains(payload_bytes), || format!("{name}: payload_bytes must lie in 1..=9000"))?;
                check((voice::HEADER_BYTES..=1000).contains(header_bytes), || {
                    format!("{name}: header_bytes {header_bytes}: must lie in {}..=1000", voice::HEADER_BYTES)
                })?;
                check(*interval_s >= 0.001 && *interval_s <= 1.0, || {
                    format!("{name}: interval_s {interval_s}: must lie in [0.001, 1]")
                })?;
                check(*playout_s >= *interval_s && *playout_s <= 10.0, || {
                    format!("{name}: playout_s {playout_s}: must lie in [interval_s, 10]; interval_s is {interval_s}")
                })
            }
        }
    }
}

/// Refuses with one line that names the value and what is allowed.
fn check(good: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(message()) }
}
