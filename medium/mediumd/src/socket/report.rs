//! The JSON documents that are sent on the socket.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use pacelab_engine::{Counters, Id, Ns, StationId};
use serde_json::{Map, Value, json};

use crate::air::lateness::{Fidelity, Histogram};
use crate::air::{Realtime, Snapshot};
use crate::config::{Config, VERSION};
use crate::frames::{DropCause, Event, FrameEvent};
use crate::tap_hosts::TapInfo;

/// The data that does not change while mediumd runs.
pub struct Reporter {
    config: Config,
    taps: Vec<TapInfo>,
    /// Start, by CLOCK_MONOTONIC.
    t0: Ns,
}

impl Reporter {
    /// A reporter for the stations of `config` and their TAPs (none for radios), since `t0`.
    pub fn new(config: Config, taps: Vec<TapInfo>, t0: Ns) -> Self {
        Reporter { config, taps, t0 }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The line that reports that mediumd is ready.
    pub fn ready(&self, socket: Option<&std::path::Path>, realtime: Realtime, memory_locked: bool) -> Value {
        json!({
            "ready": true, "version": VERSION, "pid": std::process::id(), "socket": socket, "t0_ns": self.t0,
            "sched_fifo": realtime.sched_fifo, "timer_slack_ns": realtime.timer_slack_ns,
            "memory_locked": memory_locked, "stations": self.stations(),
        })
    }

    fn stations(&self) -> Vec<Value> {
        let rows = self.config.stations.iter().enumerate().map(|(index, station)| {
            let mut row = json!({"name": station.name, "mac": station.mac});
            if let (Some(tap), Some(info)) = (&station.tap, self.taps.get(index)) {
                (row["netns"], row["tap"], row["ifindex"]) = (json!(tap.netns), json!(tap.name), json!(info.ifindex));
            }
            if let Some(radio) = station.hwsim {
                row["radio"] = json!(radio.mac);
            }
            row
        });
        rows.collect()
    }

    /// The answer to `hello`.
    pub fn hello(&self, snapshot: &Snapshot) -> Value {
        let mut stations = self.stations();
        for (row, station) in stations.iter_mut().zip(&snapshot.stations) {
            row["position_m"] = json!(station.position_m);
            row["data_rate_bps"] = json!(station.data_rate_bps);
        }
        json!({
            "version": VERSION, "name": "mediumd", "release": env!("CARGO_PKG_VERSION"), "pid": std::process::id(),
            "t0_ns": self.t0, "preset": self.config.radio.preset, "stations": stations,
        })
    }

    /// The answer to `stats`, with the numbers of sent and lost events.
    pub fn stats(&mut self, snapshot: &Snapshot, events: (u64, u64)) -> Value {
        let mut ring_drops: Vec<Option<u64>> = self.taps.iter_mut().map(TapInfo::ring_drops).collect();
        ring_drops.resize(self.config.stations.len(), None); // radios have none
        let mut drops: Map<String, Value> = DropCause::ALL
            .into_iter()
            .zip(snapshot.drops)
            .map(|(cause, count)| (cause.name().into(), count.into()))
            .collect();
        drops.insert("tap_ring".into(), json!(ring_drops.iter().copied().sum::<Option<u64>>()));
        let traffic = |pick: fn(&crate::frames::Traffic) -> u64| -> u64 {
            snapshot.stations.iter().map(|station| pick(&station.traffic)).sum()
        };
        let [valid, degraded, invalid] = snapshot.seconds;
        json!({
            "t_ns": self.t0 + snapshot.at, "t0_ns": self.t0, "fidelity": snapshot.fidelity.name(),
            "fidelity_since_start": snapshot.since_start.name(), "lost": snapshot.lost,
            "seconds": {"valid": valid, "degraded": degraded, "invalid": invalid},
            "lateness": {"delivery": quantiles(&snapshot.delivery), "wakeup": quantiles(&snapshot.wakeup)},
            "frames": {
                "from_hosts": traffic(|traffic| traffic.from_host), "to_hosts": traffic(|traffic| traffic.to_host),
                "in_air": snapshot.in_air,
            },
            "drops": drops, "events": {"told": events.0, "lost": events.1},
            "process": {"cpu_s": process_cpu_s(), "air_cpu_s": seconds(snapshot.cpu_ns), "rss_bytes": rss_bytes()},
            "stations": self.station_stats(snapshot, &ring_drops),
        })
    }

    fn station_stats(&self, snapshot: &Snapshot, ring_drops: &[Option<u64>]) -> Vec<Value> {
        let rows = self.config.stations.iter().zip(&snapshot.stations).zip(ring_drops);
        let row = rows.map(|((station, state), ring_drops)| {
            let mut row = counters(&state.counters, snapshot.at);
            row["name"] = json!(station.name);
            row["position_m"] = json!(state.position_m);
            row["data_rate_bps"] = json!(state.data_rate_bps);
            row["queue_pkts"] = json!(state.queue_pkts);
            row["from_host"] = json!(state.traffic.from_host);
            row["to_host"] = json!(state.traffic.to_host);
            row["tap_ring"] = json!(ring_drops);
            row["substituted_rates"] = json!(state.traffic.substituted);
            row
        });
        row.collect()
    }

    /// A `transmit` or `drop`.
    pub fn event(&self, event: &Event) -> Value {
        let name = |station: StationId| self.config.stations.get(station.index()).map(|station| station.name.as_str());
        let (t_ns, station, to) = (self.t0 + event.at, name(event.station), event.to.and_then(name));
        let frame = event.head.describe();
        match event.what {
            FrameEvent::Transmit { attempts, delivered, queued_ns } => json!({
                "event": "transmit", "t_ns": t_ns, "station": station, "to": to, "attempts": attempts,
                "delivered": delivered, "queued_ns": queued_ns, "frame": frame,
            }),
            FrameEvent::Drop(cause) => json!({
                "event": "drop", "t_ns": t_ns, "station": station, "to": to, "cause": cause.name(), "frame": frame,
            }),
        }
    }

    /// Occupancy between two snapshots, of the stations whose bit is set.
    pub fn air(&self, earlier: &Snapshot, now: &Snapshot, stations: u64) -> Value {
        let rows = self.config.stations.iter().zip(earlier.stations.iter().zip(&now.stations)).enumerate();
        let rows = rows.filter(|&(index, _)| stations >> index & 1 == 1).map(|(_, (station, (then, now)))| {
            let (a, b) = (&then.counters, &now.counters);
            let drops = |counters: &Counters| counters.drops_rts + counters.drops_data + counters.drops_queue;
            json!({
                "name": station.name, "airtime_ns": b.airtime_ns - a.airtime_ns, "data_sent": b.data_sent - a.data_sent,
                "retries": b.retries - a.retries, "drops": drops(b) - drops(a), "queue_pkts": now.queue_pkts,
            })
        });
        let rows: Vec<Value> = rows.collect();
        json!({
            "event": "air", "t_ns": self.t0 + now.at, "interval_ns": now.at - earlier.at, "stations": rows,
        })
    }

    /// Lateness between two snapshots.
    pub fn lateness(&self, earlier: &Snapshot, now: &Snapshot) -> Value {
        json!({
            "event": "lateness", "t_ns": self.t0 + now.at, "interval_ns": now.at - earlier.at,
            "delivery": quantiles(&now.delivery.since(&earlier.delivery)),
            "wakeup": quantiles(&now.wakeup.since(&earlier.wakeup)), "fidelity": Fidelity::name(now.fidelity),
        })
    }
}

fn quantiles(histogram: &Histogram) -> Value {
    json!({
        "count": histogram.total(), "p50_ns": histogram.quantile_ns(0.5), "p99_ns": histogram.quantile_ns(0.99),
        "max_ns": histogram.max_ns(),
    })
}

/// Like `nodes` in a result of the simulator (network/src/network/report.rs).
fn counters(counters: &Counters, elapsed_ns: Ns) -> Value {
    json!({
        "rts_sent": counters.rts_sent, "data_sent": counters.data_sent, "cts_sent": counters.cts_sent,
        "ack_sent": counters.ack_sent, "delivered_frames": counters.delivered_frames, "retries": counters.retries,
        "rts_failures": counters.rts_failures, "data_failures": counters.data_failures,
        "drops_rts": counters.drops_rts, "drops_data": counters.drops_data, "drops_queue": counters.drops_queue,
        "queue_max_pkts": counters.queue_max_pkts,
        "queue_mean_pkts": counters.queue_pkt_ns as f64 / elapsed_ns.max(1) as f64,
        "queue_sd_pkts": counters.queue_sd_pkts(seconds(elapsed_ns.max(1))),
        "backoff_slots": counters.backoff_slots, "backoffs": counters.backoffs, "airtime_s": seconds(counters.airtime_ns),
    })
}

fn seconds(ns: Ns) -> f64 {
    Duration::from_nanos(ns).as_secs_f64()
}

fn process_cpu_s() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let of = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    Some(of(usage.user_time()) + of(usage.system_time()))
}

fn rss_bytes() -> Option<u64> {
    let page_bytes = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_bytes as u64)
}
