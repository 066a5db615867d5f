//! Start and end: everything is made in an order in which its failure leaves nothing behind.

use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::channel;

use nix::sys::eventfd::EventFd;
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::getppid;

use crate::air_handle::AirHandle;
use crate::carrier::Carrier;
use crate::config::Config;
use crate::options::{self, Command, Options};
use crate::pump::{Pump, clock_ns};
use crate::report::Reporter;
use crate::server::Server;
use crate::socket_file::SocketFile;
use crate::tap::Tap;
use crate::tell::{Shared, ring};

/// Why it ends before its time: whose fault it is, and one line.
enum Trouble {
    Usage(String),
    Host(String),
    Bug(String),
}

/// The program.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            let (code, message) = match trouble {
                Trouble::Usage(message) => (2, message),
                Trouble::Host(message) => (3, message),
                Trouble::Bug(message) => (4, message),
            };
            eprintln!("mediumd: {message}");
            ExitCode::from(code)
        }
    }
}

fn run() -> Result<(), Trouble> {
    let options = match options::parse(std::env::args().skip(1)).map_err(Trouble::Usage)? {
        Command::Help => return print_line(options::USAGE),
        Command::Version => return print_line(concat!("mediumd ", env!("CARGO_PKG_VERSION"))),
        Command::Run(options) => options,
    };
    let config = Config::from_json(&read_config(&options.config)?).map_err(Trouble::Usage)?;
    if options.check {
        return Ok(());
    }
    if options.die_with_parent {
        die_with_parent()?;
    }
    serve(&options, config)
}

fn print_line(line: &str) -> Result<(), Trouble> {
    let _ = writeln!(std::io::stdout(), "{line}"); // a reader that is gone misses nothing
    Ok(())
}

fn read_config(path: &Path) -> Result<String, Trouble> {
    let mut text = String::new();
    let result = if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        std::fs::read_to_string(path).map(|content| text = content)
    };
    result.map(|()| text).map_err(|error| Trouble::Usage(format!("--config {}: {error}", path.display())))
}

fn die_with_parent() -> Result<(), Trouble> {
    let parent = getppid();
    let bug = |error: nix::Error| Trouble::Bug(format!("--die-with-parent: {error}"));
    prctl::set_pdeathsig(Signal::SIGTERM).map_err(bug)?;
    // It may have ended before it was watched.
    if getppid() != parent {
        return Err(Trouble::Host("--die-with-parent: the parent has ended".into()));
    }
    Ok(())
}

fn serve(options: &Options, config: Config) -> Result<(), Trouble> {
    let kernel = |what: &'static str| move |error: nix::Error| Trouble::Host(format!("{what}: {error}"));
    let signals = watch_signals().map_err(kernel("watching signals"))?;
    let path = options.socket.as_deref();
    let socket = path.map(|path| SocketFile::listen(path, options.socket_group.as_deref())).transpose();
    let socket = socket.map_err(Trouble::Host)?;

    let created = config.stations.iter().map(|station| Tap::create(station, config.mtu_bytes));
    let (taps, infos) = created.collect::<Result<(Vec<_>, Vec<_>), String>>().map_err(Trouble::Host)?;
    let macs = config.stations.iter().map(|station| station.mac).collect();
    let carrier = Carrier::new(config.air(), macs, config.mtu_bytes);

    let (air_bell, server_bell) = (bell()?, bell()?);
    let shared = Arc::new(Shared::default());
    let (teller, events) = ring(shared.clone(), server_bell.clone());
    let (orders, to_obey) = channel();
    let memory_locked = options.realtime && mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).is_ok();
    let t0 = clock_ns();
    let host = |error: std::io::Error| Trouble::Host(format!("starting the air: {error}"));
    let queue_pkts = config.radio.queue_pkts;
    let pump = Pump::new(carrier, taps, queue_pkts, teller, to_obey, air_bell.clone(), t0).map_err(host)?;
    let air = AirHandle::start(pump, orders, air_bell, server_bell.clone(), options.realtime).map_err(host)?;

    let reporter = Reporter::new(config, infos, t0);
    print_line(&reporter.ready(path, air.realtime, memory_locked).to_string())?;
    let listener = socket.as_ref().map(|socket| socket.listener.try_clone()).transpose().map_err(host)?;
    let mut server = Server::new(listener, signals, server_bell, events, shared, reporter);
    let served = server.run(&air);
    air.stop().map_err(Trouble::Bug)?;
    served.map_err(|error| Trouble::Bug(format!("the server has ended: {error}")))
}

/// SIGTERM and SIGINT come as a descriptor; call while there is one thread.
fn watch_signals() -> nix::Result<SignalFd> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGTERM);
    mask.add(Signal::SIGINT);
    mask.thread_block()?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

fn bell() -> Result<Arc<EventFd>, Trouble> {
    let fd = EventFd::new().map_err(|error| Trouble::Host(format!("eventfd: {error}")))?;
    Ok(Arc::new(fd))
}
