//! `wmediumd --status`: which programs of the name wmediumd run here, and whether their results are valid.
//!
//! A running wmediumd of PaceLab listens on an abstract Unix socket of its network namespace and answers each
//! connection with one line of JSON. The stock wmediumd has no such socket; its process and its file show which program
//! it is and how many stations it has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use pacelab_hwsim::mesh::Mesh;
use serde_json::{Value, json};

use crate::air::Snapshot;
use crate::config::Mac;
use crate::namespaces;
use crate::options::{WmediumdCommand, parse_wmediumd};
use crate::wmediumd_network::WmediumdNetwork;

/// The abstract name, before the process number.
const SOCKET_PREFIX: &str = "pacelab-wmediumd-";
/// The process name of all these programs. Mininet-WiFi ends them by this name.
const PROCESS: &str = "wmediumd";
/// A running program answers at once. A stopped one does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The socket on which this process reports its status.
///
/// # Errors
/// The name is in use.
pub fn listen() -> io::Result<UnixListener> {
    let name = format!("{SOCKET_PREFIX}{}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The status of this process, as one JSON object.
pub fn status(snapshot: &Snapshot, mesh: &Mesh, file: &Path) -> Value {
    let stations = mesh.interfaces().iter().zip(&snapshot.stations).filter_map(|(interface, station)| {
        let address = Mac(interface.as_ref()?.mac).to_string();
        Some(json!({"address": address, "from_host": station.traffic.from_host, "to_host": station.traffic.to_host}))
    });
    let [valid, degraded, invalid] = snapshot.seconds;
    json!({
        "program": "PaceLab mediumd",
        "release": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "file": file,
        "up_s": snapshot.at as f64 / 1e9,
        "fidelity": snapshot.fidelity.name(),
        "fidelity_since_start": snapshot.since_start.name(),
        "seconds": {"valid": valid, "degraded": degraded, "invalid": invalid},
        "lost": snapshot.lost,
        "lateness": {
            "p50_ns": snapshot.delivery.quantile_ns(0.5),
            "p99_ns": snapshot.delivery.quantile_ns(0.99),
            "max_ns": snapshot.delivery.max_ns(),
        },
        "stations": stations.collect::<Vec<_>>(),
    })
}

/// The status of each wmediumd that runs on this machine, by process number. A program other than PaceLab's has
/// `program` null, and `stations` null if its file cannot be read.
pub fn find() -> Vec<Value> {
    let mut found: BTreeMap<i32, Value> = BTreeMap::new();
    for place in namespaces::all() {
        let answers = namespaces::inside(place.as_deref(), || Ok(answers()));
        found.extend(answers.into_iter().flatten());
    }
    let own = std::process::id() as i32;
    let others = namespaces::processes().into_iter().filter(|&pid| pid != own && is_wmediumd(pid));
    for pid in others {
        found.entry(pid).or_insert_with(|| other(pid));
    }
    found.into_values().collect()
}

fn is_wmediumd(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == PROCESS)
}

/// The answers on the status sockets of the present network namespace, by process.
fn answers() -> Vec<(i32, Value)> {
    let table = fs::read_to_string("/proc/thread-self/net/unix").unwrap_or_default();
    socket_names(&table).iter().filter_map(|name| ask(name).ok()).collect()
}

fn socket_names(table: &str) -> Vec<String> {
    let names = table.lines().filter_map(|line| line.split_whitespace().nth(7)?.strip_prefix('@'));
    let names: BTreeSet<&str> = names.filter(|name| name.starts_with(SOCKET_PREFIX)).collect();
    names.into_iter().map(String::from).collect()
}

/// The process that answers on a status socket, and its answer.
fn ask(name: &str) -> io::Result<(i32, Value)> {
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let pid = getsockopt(&stream, PeerCredentials)?.pid();
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let mut status: Value = serde_json::from_str(&text)?;
    status["pid"] = json!(pid); // its own number has no meaning here if it is in another PID namespace
    Ok((pid, status))
}

/// The status of a wmediumd that is not PaceLab's.
fn other(pid: i32) -> Value {
    let place = PathBuf::from(format!("/proc/{pid}"));
    let words = fs::read(place.join("cmdline")).unwrap_or_default();
    let words: Vec<String> = words.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into()).collect();
    let arguments = words.iter().skip(1).filter(|word| !word.is_empty()).cloned();
    let file = match parse_wmediumd(arguments) {
        Ok(WmediumdCommand::Run { config, .. }) => {
            Some(fs::read_link(place.join("cwd")).map_or(config.clone(), |folder| folder.join(config)))
        }
        _ => None,
    };
    let network = file.as_ref().and_then(|file| WmediumdNetwork::new(&fs::read_to_string(file).ok()?, None).ok());
    let stations = network.map(|network| {
        let interfaces = network.mesh.interfaces().iter().flatten();
        interfaces.map(|interface| json!({"address": Mac(interface.mac).to_string()})).collect::<Vec<_>>()
    });
    json!({
        "program": null,
        "path": fs::read_link(place.join("exe")).ok(),
        "pid": pid,
        "file": file,
        "stations": stations,
    })
}

/// The lines that `wmediumd --status` prints for one running program.
pub fn describe(status: &Value) -> String {
    let text = |key: &str| status[key].as_str().unwrap_or("unknown").to_owned();
    let pid = &status["pid"];
    let count = status["stations"].as_array().map(Vec::len);
    if status["program"].is_null() {
        let count = count.map_or("unknown".into(), |count| format!("{count}, by its file"));
        return format!(
            "wmediumd, not PaceLab's ({}), pid {pid}, file {}\nstations: {count}\n\
             results: unknown, this program does not measure how late it is",
            text("path"),
            text("file")
        );
    }
    let sending = status["stations"].as_array().into_iter().flatten();
    let sending = sending.filter(|station| station["from_host"].as_u64() > Some(0)).count();
    let ms = |key: &str| status["lateness"][key].as_f64().map_or("-".into(), |ns| format!("{:.2} ms", ns / 1e6));
    let seconds = &status["seconds"];
    format!(
        "wmediumd of PaceLab (mediumd {}), pid {pid}, up {:.0} s, file {}\nstations: {}, of which {sending} have sent\n\
         results of the last 10 s: {}; since the start: {} (seconds with frames: {} valid, {} degraded, {} invalid)\n\
         frames arrive late by {} (median), {} (99th percentile), {} at most; {} lost",
        text("release"),
        status["up_s"].as_f64().unwrap_or(0.0),
        text("file"),
        count.unwrap_or(0),
        text("fidelity"),
        text("fidelity_since_start"),
        seconds["valid"],
        seconds["degraded"],
        seconds["invalid"],
        ms("p50_ns"),
        ms("p99_ns"),
        ms("max_ns"),
        status["lost"],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_sockets_are_found_by_their_name() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 17 @pacelab-wmediumd-4711\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 18 @pacelab-wmediumd-4711\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 19 /run/pacelab-wmediumd-1\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 20\n";
        assert_eq!(socket_names(table), ["pacelab-wmediumd-4711"]);
    }

    #[test]
    fn a_program_that_is_not_pacelabs_is_described_as_far_as_it_can_be() {
        let stock =
            json!({"program": null, "path": "/usr/bin/wmediumd", "pid": 7, "file": "/tmp/a.cfg", "stations": [{}, {}]});
        let lines = describe(&stock);
        assert!(lines.starts_with("wmediumd, not PaceLab's (/usr/bin/wmediumd), pid 7, file /tmp/a.cfg\nstations: 2,"));
        let silent = json!({"program": null, "path": null, "pid": 7, "file": null, "stations": null});
        assert!(describe(&silent).contains("(unknown), pid 7, file unknown\nstations: unknown\nresults: unknown"));
    }

    #[test]
    fn a_status_tells_stations_fidelity_and_lateness() {
        let seconds = json!({"valid": 70, "degraded": 2, "invalid": 1});
        let lateness = json!({"p50_ns": 28_000, "p99_ns": 300_000, "max_ns": 12_000_000});
        let stations = json!([{"address": "02:00:00:00:00:00", "from_host": 3, "to_host": 0},
                              {"address": "02:00:00:00:01:00", "from_host": 0, "to_host": 3}]);
        let status = json!({"program": "PaceLab mediumd", "release": "1.2.3", "pid": 7, "file": "/tmp/a.cfg", "up_s": 73.2,
            "fidelity": "valid", "fidelity_since_start": "degraded", "seconds": seconds, "lost": 0,
            "lateness": lateness, "stations": stations});
        let expected = "wmediumd of PaceLab (mediumd 1.2.3), pid 7, up 73 s, file /tmp/a.cfg\n\
            stations: 2, of which 1 have sent\n\
            results of the last 10 s: valid; since the start: degraded (seconds with frames: 70 valid, 2 degraded, 1 invalid)\n\
            frames arrive late by 0.03 ms (median), 0.30 ms (99th percentile), 12.00 ms at most; 0 lost";
        assert_eq!(describe(&status), expected);
    }
}
