//! Start and end of the daemon. The order of the steps ensures that a failed step leaves nothing behind.

use std::env::VarError;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::sys::eventfd::EventFd;
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::getppid;
use pacelab_engine::{AirConfig, Phy};
use pacelab_hwsim::wmediumd_config::SETTINGS_VARIABLE;
use pacelab_hwsim::wmediumd_socket::SOCKET_PATH;
use serde_json::Value;

use crate::air::pump::{Pump, Telemetry, clock_ns};
use crate::air::{AirCommand, AirHandle, Shared, Work, ring};
use crate::config::{Config, Mac};
use crate::frames::capture::Capture;
use crate::frames::carrier::Carrier;
use crate::frames::ethernet::Ethernet;
use crate::frames::radio::{Radios, with_null_station};
use crate::monitors;
use crate::options::{self, Command, Options, WmediumdCommand};
use crate::radio_hosts::{RadioHosts, RadioSocket};
use crate::socket::report::Reporter;
use crate::socket::wmediumd_server::{StatusSocket, WmediumdServer};
use crate::socket::{Server, SocketFile};
use crate::status;
use crate::syscalls;
use crate::tap_hosts::{Tap, TapHosts, TapInfo};
use crate::wmediumd_network::WmediumdNetwork;

/// The name under which the program acts as wmediumd.
const WMEDIUMD: &str = "wmediumd";

/// The first words are wmediumd's own: test suites parse its version from them.
const WMEDIUMD_VERSION: &str =
    concat!("wmediumd v0.5 - a wireless medium simulator (PaceLab mediumd ", env!("CARGO_PKG_VERSION"), ")");
/// The line for which test suites wait, and the level from which on wmediumd prints it.
const REGISTERED: &str = "REGISTER SENT!";
const LOG_NOTICE: u8 = 5;

/// With which a file in UTF-16 begins, by byte order.
const UTF_16_MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];
/// A second of a busy channel.
const CAPTURE_BUFFER_BYTES: usize = 1 << 22;
/// Descriptors of a station: its TAP and the counters of its namespace.
const OF_A_STATION: u64 = 2;
/// Other descriptors: clients, single descriptors, and those that the caller left open.
const OF_ALL: u64 = 128;

/// Why the daemon cannot run: the cause, and a message of one line.
enum FatalError {
    NotFound(String),
    Usage(String),
    Host(String),
    Bug(String),
}

/// Runs the program.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            let (code, message) = match trouble {
                FatalError::NotFound(message) => (1, message),
                FatalError::Usage(message) => (2, message),
                FatalError::Host(message) => (3, message),
                FatalError::Bug(message) => (4, message),
            };
            eprintln!("{}: {message}", if is_wmediumd() { WMEDIUMD } else { "mediumd" });
            ExitCode::from(code)
        }
    }
}

/// Whether the program name or the first argument is `wmediumd`.
fn is_wmediumd() -> bool {
    let mut arguments = std::env::args_os();
    let called = arguments.next().is_some_and(|path| Path::new(&path).file_name() == Some(WMEDIUMD.as_ref()));
    called || arguments.next().is_some_and(|first| first == WMEDIUMD)
}

fn run() -> Result<(), FatalError> {
    let arguments = arguments()?;
    if is_wmediumd() {
        let options = arguments.strip_prefix(&[WMEDIUMD.to_owned()]).unwrap_or(&arguments).to_vec();
        return match options::parse_wmediumd(options).map_err(FatalError::Usage)? {
            WmediumdCommand::Help => print_line(options::WMEDIUMD_USAGE),
            WmediumdCommand::Version => print_line(WMEDIUMD_VERSION),
            WmediumdCommand::Check(config) => read_wmediumd_file("--check", &config).map(|_| ()),
            WmediumdCommand::Status { json } => print_status(json),
            WmediumdCommand::Run { config, serves, log_level, capture } => {
                serve_as_wmediumd(&config, serves, log_level, capture)
            }
        };
    }
    let options = match options::parse(arguments).map_err(FatalError::Usage)? {
        Command::Help => return print_line(options::USAGE),
        Command::Version => return print_line(concat!("mediumd ", env!("CARGO_PKG_VERSION"))),
        Command::Run(options) => options,
    };
    let config = Config::from_json(&read_config(&options.config)?).map_err(FatalError::Usage)?;
    if options.check {
        return Ok(());
    }
    if options.die_with_parent {
        die_with_parent()?;
    }
    serve(&options, config)
}

/// The arguments after the program's name.
fn arguments() -> Result<Vec<String>, FatalError> {
    let text = |argument: OsString| {
        argument.into_string().map_err(|other| FatalError::Usage(format!("{other:?}: must be UTF-8; rename the file")))
    };
    std::env::args_os().skip(1).map(text).collect()
}

fn print_line(line: &str) -> Result<(), FatalError> {
    let _ = writeln!(std::io::stdout(), "{line}"); // nobody may be reading
    Ok(())
}

/// Prints the status of each wmediumd that runs.
fn print_status(json: bool) -> Result<(), FatalError> {
    let found = status::find();
    if json {
        return print_line(&Value::from(found).to_string());
    }
    if found.is_empty() {
        return Err(FatalError::NotFound("none is running".into()));
    }
    print_line(&found.iter().map(status::describe).collect::<Vec<_>>().join("\n\n"))
}

fn read_config(path: &Path) -> Result<String, FatalError> {
    let content = if path == Path::new("-") { read_bounded(std::io::stdin()) } else { read_file(path) };
    let text =
        content.and_then(|content| String::from_utf8(content).map_err(|_| std::io::Error::other("must be UTF-8")));
    text.map_err(|error| FatalError::Usage(format!("--config {}: {error}", path.display())))
}

/// The links of 1000 stations, all to all, take 6 MB.
const LARGEST_FILE: u64 = 256 << 20;

fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    read_bounded(File::open(path)?)
}

/// All octets of a file. Devices such as /dev/zero never end.
fn read_bounded(file: impl Read) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LARGEST_FILE {
        return Err(std::io::Error::other(format!("is larger than {} MiB", LARGEST_FILE >> 20)));
    }
    Ok(content)
}

fn die_with_parent() -> Result<(), FatalError> {
    let parent = getppid();
    let bug = |error: nix::Error| FatalError::Bug(format!("--die-with-parent: {error}"));
    prctl::set_pdeathsig(Signal::SIGTERM).map_err(bug)?;
    // The parent may have ended before the call above.
    if getppid() != parent {
        return Err(FatalError::Host("--die-with-parent: the parent has ended".into()));
    }
    Ok(())
}

/// Raises the limit of open files if it is too low. Otherwise a client's connection could fail later.
fn allow_descriptors(needed: u64) -> Result<(), FatalError> {
    let describe = |error: nix::Error| FatalError::Host(format!("limit of open files: {error}"));
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(describe)?;
    if hard < needed {
        return Err(FatalError::Host(format!(
            "limit of open files: {hard}, and {needed} are needed; try: ulimit -n {needed}"
        )));
    }
    if soft < needed { setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(describe) } else { Ok(()) }
}

fn serve(options: &Options, config: Config) -> Result<(), FatalError> {
    let kernel = |what: &'static str| move |error: nix::Error| FatalError::Host(format!("{what}: {error}"));
    let signals = watch_signals().map_err(kernel("watching signals"))?;
    allow_descriptors(OF_ALL + OF_A_STATION * config.stations.len() as u64)?;
    let path = options.socket.as_deref();
    let socket = path.map(|path| SocketFile::listen(path, options.socket_group.as_deref())).transpose();
    let socket = socket.map_err(FatalError::Host)?;

    let (air_wakeup, server_wakeup) = (wakeup()?, wakeup()?);
    let shared = Arc::new(Shared::default());
    let (event_sender, events) = ring(shared.clone(), server_wakeup.clone());
    let (commands, command_receiver) = channel();
    let memory_locked = options.realtime && mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).is_ok();
    let t0 = clock_ns();
    let host = |error: std::io::Error| FatalError::Host(format!("starting the air: {error}"));
    let (work, infos) = work(&config, Telemetry::new(t0, event_sender), command_receiver, air_wakeup.clone())?;
    let air = AirHandle::start(work, commands, air_wakeup, server_wakeup.clone(), options.realtime).map_err(host)?;

    let reporter = Reporter::new(config, infos, t0);
    print_line(&reporter.ready(path, air.realtime, memory_locked).to_string())?;
    let listener = socket.as_ref().map(|socket| socket.listener.try_clone()).transpose().map_err(host)?;
    let mut server = Server::new(listener, signals, server_wakeup, events, shared, reporter);
    let served = server.run(&air);
    air.stop().map_err(FatalError::Bug)?;
    served.map_err(|error| FatalError::Bug(format!("the server has ended: {error}")))
}

/// The network of wmediumd's configuration file, with the settings from the environment.
fn read_wmediumd_file(option: &str, config: &Path) -> Result<WmediumdNetwork, FatalError> {
    let describe = |error: String| FatalError::Usage(format!("{option} {}: {error}", config.display()));
    let content = read_file(config).map_err(|error| describe(error.to_string()))?;
    if content.starts_with(&UTF_16_MARKS[0]) || content.starts_with(&UTF_16_MARKS[1]) {
        return Err(describe("is encoded in UTF-16; save it as UTF-8".into()));
    }
    // libconfig takes any octets, so comments may be in Latin-1.
    let text = String::from_utf8_lossy(&content);
    let settings = match std::env::var(SETTINGS_VARIABLE) {
        Err(VarError::NotUnicode(_)) => return Err(FatalError::Usage(format!("{SETTINGS_VARIABLE}: must be UTF-8"))),
        settings => settings.ok(),
    };
    WmediumdNetwork::new(&text, settings.as_deref()).map_err(describe)
}

/// Serves the air with the configuration file and socket of wmediumd.
fn serve_as_wmediumd(config: &Path, serves: bool, log_level: u8, capture: Option<PathBuf>) -> Result<(), FatalError> {
    let kernel = |what: &'static str| move |error: nix::Error| FatalError::Host(format!("{what}: {error}"));
    let host = |error: std::io::Error| FatalError::Host(format!("starting the air: {error}"));
    let network = read_wmediumd_file("-c", config)?;
    let capture = capture.or(network.capture().map(PathBuf::from));
    capture.as_deref().map_or(Ok(()), check_capture)?;
    let _ = prctl::set_name(c"wmediumd"); // for pkill
    let signals = watch_signals().map_err(kernel("watching signals"))?;
    allow_descriptors(OF_ALL)?;
    let path = serves.then_some(Path::new(SOCKET_PATH));
    let socket = path.map(|path| SocketFile::listen(path, None)).transpose().map_err(FatalError::Host)?;

    let mut macs: Vec<Option<Mac>> =
        network.mesh.interfaces().iter().flatten().map(|known| Some(Mac(known.mac))).collect();
    macs.resize(network.capacity, None);
    let permanent = macs.iter().map(|mac| mac.unwrap_or(Mac([0; 6])));
    let (air_wakeup, server_wakeup) = (wakeup()?, wakeup()?);
    let (event_sender, _events) = ring(Arc::new(Shared::default()), server_wakeup.clone());
    let (commands, command_receiver) = channel();
    let radio_socket = RadioSocket::open().map_err(FatalError::Host)?;
    if log_level >= LOG_NOTICE {
        print_line(REGISTERED)?;
    }
    let _ = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE); // optional: needs a privilege
    let format = Radios::new(macs.clone(), Phy::of(network.phy(0), true).rates_bps());
    let air = AirConfig { trace: capture.is_some(), ..with_null_station(network.air()) };
    let mut carrier = Carrier::new(air, format);
    if let Some(path) = capture {
        carrier.set_capture(open_capture(&path)?);
    }
    let (mesh, capacity) = (network.mesh.clone(), network.capacity);
    let hosts = RadioHosts::new(radio_socket, permanent, Some(network), Telemetry::new(clock_ns(), event_sender));
    let mut pump = Pump::new(carrier, hosts, command_receiver, air_wakeup.clone()).map_err(host)?;
    let air = AirHandle::start(Box::new(move || pump.run()), commands, air_wakeup, server_wakeup.clone(), true)
        .map_err(host)?;

    let listener = socket.as_ref().map(|socket| socket.listener.try_clone()).transpose().map_err(host)?;
    let status =
        StatusSocket { listener: status::listen().map_err(host)?, file: std::path::absolute(config).map_err(host)? };
    monitors::watch(air.remote());
    let served = WmediumdServer::new(listener, status, signals, server_wakeup, mesh, capacity).run(&air);
    let seconds = air.snapshot().map(|snapshot| snapshot.seconds);
    if let Some([valid, degraded, invalid]) = seconds.filter(|&[_, degraded, invalid]| degraded + invalid > 0) {
        eprintln!(
            "wmediumd: of the seconds with frames, {valid} were valid, {degraded} degraded and {invalid} invalid"
        );
    }
    air.stop().map_err(FatalError::Bug)?;
    served.map_err(|error| FatalError::Bug(format!("the server has ended: {error}")))
}

/// The first octets of a pcapng file and of the four kinds of pcap files.
const CAPTURES: [[u8; 4]; 5] =
    [*b"\x0a\x0d\x0d\x0a", *b"\xa1\xb2\xc3\xd4", *b"\xd4\xc3\xb2\xa1", *b"\xa1\xb2\x3c\x4d", *b"\x4d\x3c\xb2\xa1"];

/// A capture may replace a capture or an empty file, and no other file, such as the configuration.
fn check_capture(path: &Path) -> Result<(), FatalError> {
    if !std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    if read.is_ok() && CAPTURES.contains(&start) {
        return Ok(());
    }
    let path = path.display();
    Err(FatalError::Usage(format!("capture file {path}: exists, and is no capture; choose another name")))
}

fn open_capture(path: &Path) -> Result<Capture, FatalError> {
    let describe = |error: &dyn std::fmt::Display| FatalError::Usage(format!("-p {}: {error}", path.display()));
    let file = File::create(path).map_err(|error| describe(&error))?;
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let file = BufWriter::with_capacity(CAPTURE_BUFFER_BYTES, file);
    Capture::new(Box::new(file), epoch).map_err(|error| describe(&error))
}

/// The work of the air thread for the configured hosts, and information on their TAPs.
fn work(
    config: &Config,
    telemetry: Telemetry,
    commands: Receiver<AirCommand>,
    wakeup: Arc<EventFd>,
) -> Result<(Work, Vec<TapInfo>), FatalError> {
    let host = |error: std::io::Error| FatalError::Host(format!("starting the air: {error}"));
    let macs = config.stations.iter().map(|station| station.mac);
    let radios: Vec<Mac> = config.stations.iter().filter_map(|station| station.hwsim).map(|radio| radio.mac).collect();
    if !radios.is_empty() {
        let air = with_null_station(config.air());
        let format = Radios::new(macs.map(Some), Phy::of(air.radio.phy, true).rates_bps());
        let socket = RadioSocket::open().map_err(FatalError::Host)?;
        let hosts = RadioHosts::new(socket, radios, None, telemetry);
        let mut pump = Pump::new(Carrier::new(air, format), hosts, commands, wakeup).map_err(host)?;
        return Ok((Box::new(move || pump.run()), Vec::new()));
    }
    let created = config.stations.iter().filter_map(|station| {
        let made = Tap::create(station.tap.as_ref()?, station.mac, config.mtu_bytes, config.queue_at_host);
        Some(made.map_err(|error| format!("station {:?}: {error}", station.name)))
    });
    let (taps, infos) = created.collect::<Result<(Vec<_>, Vec<_>), String>>().map_err(FatalError::Host)?;
    let carrier = Carrier::new(config.air(), Ethernet::new(macs.collect(), config.mtu_bytes));
    let hosts = TapHosts::new(taps, config.radio.queue_pkts, config.queue_at_host, telemetry);
    let mut pump = Pump::new(carrier, hosts, commands, wakeup).map_err(host)?;
    Ok((Box::new(move || pump.run()), infos))
}

/// Delivers SIGTERM, SIGINT and SIGHUP (but not under `nohup`) through a descriptor. Call this before starting threads.
fn watch_signals() -> nix::Result<SignalFd> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGTERM);
    mask.add(Signal::SIGINT);
    // The descriptor would also deliver a blocked signal that is ignored.
    if !syscalls::ignores(Signal::SIGHUP as i32) {
        mask.add(Signal::SIGHUP);
    }
    mask.thread_block()?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

fn wakeup() -> Result<Arc<EventFd>, FatalError> {
    let fd = EventFd::new().map_err(|error| FatalError::Host(format!("eventfd: {error}")))?;
    Ok(Arc::new(fd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_replaces_a_capture_and_no_other_file() {
        let path = std::env::temp_dir().join(format!("mediumd-capture-{}", std::process::id()));
        assert!(check_capture(&path).is_ok(), "no file");
        for (content, replaced) in [
            (&b""[..], true),
            (b"\x0a\x0d\x0d\x0a\x1c\0\0\0", true),
            (b"\xd4\xc3\xb2\xa1\x02\0\x04\0", true),
            (b"ifaces: {};", false),
            (b"ab", false),
        ] {
            std::fs::write(&path, content).expect("a file");
            assert_eq!(check_capture(&path).is_ok(), replaced, "{content:?}");
        }
        std::fs::remove_file(&path).expect("the file");
    }
}
