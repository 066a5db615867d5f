//! The server on mediumd's Unix socket, which is the main thread: signals, clients and their events. Also the socket
//! file, and wmediumd's socket (`wmediumd_server`).

pub mod connection;
pub mod report;
pub mod request;
pub mod wmediumd_server;

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use nix::sys::signalfd::SignalFd;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Group, chown};
use serde_json::{Value, json};

use crate::air::{AirHandle, Shared, Snapshot};
use crate::frames::{Event, kind};
use crate::socket::connection::{Connection, Incoming};
use crate::socket::report::Reporter;
use crate::socket::request::{Refusal, Request, Subscription, refusal};

/// Maximum number of connections: one agent at each of 64 stations, and 16 others.
const CONNECTIONS_MAX: usize = 80;
/// Events forwarded in a row before clients, signals and the clock are handled.
const EVENTS_IN_A_ROW: usize = 1_000;

/// When a connection gets its next periodic events, and the start of their interval.
struct Periodic {
    due: Instant,
    since: Snapshot,
}

struct Client {
    connection: Connection,
    periodic: Option<Periodic>,
}

/// The server.
pub struct Server {
    /// None without `--socket`.
    pub listener: Option<UnixListener>,
    /// SIGTERM and SIGINT.
    pub signals: SignalFd,
    /// Signalled by the air thread.
    pub wakeup: Arc<EventFd>,
    /// The event ring.
    pub events: Receiver<Event>,
    /// Counters of the ring.
    pub shared: Arc<Shared>,
    /// Formats JSON.
    pub reporter: Reporter,
    clients: Vec<Client>,
    lost_seen: u64,
    ends: bool,
}

impl Server {
    /// A server without clients.
    pub fn new(
        listener: Option<UnixListener>,
        signals: SignalFd,
        wakeup: Arc<EventFd>,
        events: Receiver<Event>,
        shared: Arc<Shared>,
        reporter: Reporter,
    ) -> Self {
        let (clients, lost_seen, ends) = (Vec::new(), 0, false);
        Server { listener, signals, wakeup, events, shared, reporter, clients, lost_seen, ends }
    }

    /// Serves until a signal, `shutdown` or the end of the air.
    ///
    /// # Errors
    /// Waiting fails, which is a bug.
    pub fn run(&mut self, air: &AirHandle) -> io::Result<()> {
        while !self.ends && !air.has_ended() {
            let [signal, wakeup, stranger] = self.wait()?;
            if signal && self.signals.read_signal()?.is_some() {
                break;
            }
            if wakeup {
                let _ = self.wakeup.read(); // it was signalled, so there is something to read
            }
            self.pass_on_events();
            if stranger {
                self.accept();
            }
            for index in 0..self.clients.len() {
                self.on_wakeup(index, air);
            }
            self.report_periodically(air);
            for client in &mut self.clients {
                client.connection.write();
            }
            self.clients.retain(|client| !client.connection.is_over());
            self.note_wanted();
        }
        Ok(())
    }

    /// Waits for a signal, the air thread, a new client, a client or the clock. Returns which of the first three
    /// occurred.
    fn wait(&self) -> io::Result<[bool; 3]> {
        let fixed = [Some(self.signals.as_fd()), Some(self.wakeup.as_fd()), self.listener.as_ref().map(AsFd::as_fd)];
        let mut fds: Vec<PollFd<'_>> = fixed.iter().flatten().map(|&fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        for Client { connection, .. } in &self.clients {
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::POLLIN, connection.may_read());
            wanted.set(PollFlags::POLLOUT, connection.has_to_write());
            fds.push(PollFd::new(connection.as_fd(), wanted));
        }
        let dues = self.clients.iter().filter_map(|client| client.periodic.as_ref()).map(|periodic| periodic.due);
        let timeout = dues.min().map_or(PollTimeout::NONE, |due| {
            let left = due.saturating_duration_since(Instant::now()) + Duration::from_millis(1); // it rounds down
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        });
        match poll(&mut fds, timeout) {
            Err(Errno::EINTR) => return Ok([false; 3]),
            result => result?,
        };
        let rang = |place: usize| fds[place].any().unwrap_or(true);
        Ok([rang(0), rang(1), self.listener.is_some() && rang(2)])
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => {
                eprintln!("mediumd: accepting a client: {error}");
                return;
            }
        };
        if let Ok(peer) = getsockopt(&stream, PeerCredentials) {
            eprintln!("mediumd: client: pid {} uid {} gid {}", peer.pid(), peer.uid(), peer.gid());
        }
        let Ok(mut connection) = Connection::new(stream) else { return };
        if self.clients.len() < CONNECTIONS_MAX {
            self.clients.push(Client { connection, periodic: None });
        } else {
            let message = format!("there are {CONNECTIONS_MAX} connections already");
            connection.answer(&Value::Null, Err(refusal("busy", message)));
            connection.write();
        }
    }

    fn on_wakeup(&mut self, index: usize, air: &AirHandle) {
        if !self.clients[index].connection.may_read() {
            return;
        }
        for incoming in self.clients[index].connection.read() {
            match incoming {
                Incoming::TooLong => self.clients[index].connection.answer_too_long(),
                Incoming::Line(line) => {
                    let (id, request) = request::read(&line, self.reporter.config());
                    let result = request.and_then(|request| self.carry_out(index, request, air));
                    self.clients[index].connection.answer(&id, result);
                }
            }
        }
    }

    fn carry_out(&mut self, index: usize, request: Request, air: &AirHandle) -> Result<Value, Refusal> {
        let gone = || refusal("busy", "the air has ended".into());
        let result = match request {
            Request::Hello => self.reporter.hello(&air.snapshot().ok_or_else(gone)?),
            Request::Stats => {
                let events = (self.shared.reported.load(Relaxed), self.shared.lost.load(Relaxed));
                self.reporter.stats(&air.snapshot().ok_or_else(gone)?, events)
            }
            Request::Change(change) => {
                air.change(change).ok_or_else(gone)?;
                json!({})
            }
            Request::Subscribe(subscription) => {
                self.subscribe(index, subscription, air).ok_or_else(gone)?;
                json!({})
            }
            Request::Unsubscribe => {
                let client = &mut self.clients[index];
                (client.connection.subscription, client.periodic) = (None, None);
                self.note_wanted();
                json!({})
            }
            Request::Shutdown => {
                self.ends = true;
                json!({})
            }
        };
        Ok(result)
    }

    fn subscribe(&mut self, index: usize, subscription: Subscription, air: &AirHandle) -> Option<()> {
        let client = &mut self.clients[index];
        client.connection.subscription = Some(subscription);
        client.periodic = None;
        if subscription.kinds & (kind::AIR | kind::LATENESS) != 0 {
            let due = Instant::now() + Duration::from_secs_f64(subscription.interval_s);
            client.periodic = Some(Periodic { due, since: air.snapshot()? });
        }
        self.note_wanted(); // before the answer, so that no later event is missed
        Some(())
    }

    /// Tells the air thread which kinds of events have a listener.
    fn note_wanted(&self) {
        let wanted = self.clients.iter().filter_map(|client| client.connection.subscription);
        self.shared.wanted.store(wanted.fold(0, |kinds, subscription| kinds | subscription.kinds), Relaxed);
    }

    fn pass_on_events(&mut self) {
        for event in self.events.try_iter().take(EVENTS_IN_A_ROW) {
            let mut text = None;
            for Client { connection, .. } in &mut self.clients {
                let wants = |wanted: Subscription| {
                    wanted.kinds & event.kind() != 0 && wanted.stations >> event.station.0 & 1 == 1
                };
                if connection.subscription.is_some_and(wants) {
                    connection.send(text.get_or_insert_with(|| self.reporter.event(&event).to_string()));
                }
            }
        }
        let lost = self.shared.lost.load(Relaxed);
        let newly_lost = lost - std::mem::replace(&mut self.lost_seen, lost);
        if newly_lost > 0 {
            let frames = kind::TRANSMIT | kind::DROP;
            let subscribers = self.clients.iter_mut().map(|client| &mut client.connection);
            let subscribers =
                subscribers.filter(|each| each.subscription.is_some_and(|wanted| wanted.kinds & frames != 0));
            subscribers.for_each(|each| each.lose(newly_lost));
        }
    }

    fn report_periodically(&mut self, air: &AirHandle) {
        let now = Instant::now();
        for Client { connection, periodic } in &mut self.clients {
            let (Some(subscription), Some(periodic)) = (connection.subscription, periodic) else { continue };
            if periodic.due > now {
                continue;
            }
            let Some(snapshot) = air.snapshot() else { return };
            if subscription.kinds & kind::AIR != 0 {
                connection.send(&self.reporter.air(&periodic.since, &snapshot, subscription.stations).to_string());
            }
            if subscription.kinds & kind::LATENESS != 0 {
                connection.send(&self.reporter.lateness(&periodic.since, &snapshot).to_string());
            }
            periodic.since = snapshot;
            let interval = Duration::from_secs_f64(subscription.interval_s);
            periodic.due = (periodic.due + interval).max(now);
        }
    }
}

// The socket's file.

/// Size of sun_path without the final zero, unix(7). An empty path would be an unnamed socket.
const PATH_BYTES_MAX: usize = 107;

/// A listening socket and its file. The file has restrictive permissions, never replaces that of a running mediumd, and
/// is removed at a clean exit.
#[derive(Debug)]
pub struct SocketFile {
    /// The listening socket.
    pub listener: UnixListener,
    /// Path of the file.
    pub path: PathBuf,
}

impl SocketFile {
    /// Listens at `path`, for root and, if given, for `group`. Call this before starting threads, because the umask
    /// belongs to the process.
    ///
    /// # Errors
    /// The socket cannot be created. The message is one line.
    pub fn listen(path: &Path, group: Option<&str>) -> Result<Self, String> {
        let describe = |what: String| format!("socket {}: {what}", path.display());
        let bytes = path.as_os_str().len();
        if !(1..=PATH_BYTES_MAX).contains(&bytes) {
            return Err(describe(format!("the path has {bytes} bytes; must have 1 to {PATH_BYTES_MAX}")));
        }
        let group = group.map(|name| match Group::from_name(name) {
            Ok(Some(group)) => Ok(group.gid),
            Ok(None) => Err(describe(format!("there is no group {name:?}; try: groupadd {name}"))),
            Err(error) => Err(describe(format!("looking for group {name:?}: {error}"))),
        });
        let group = group.transpose()?;
        remove_stale(path).map_err(describe)?;
        let before = umask(Mode::from_bits_truncate(0o177));
        let listener = UnixListener::bind(path);
        umask(before);
        let listener = listener.map_err(|error| match error.kind() {
            ErrorKind::NotFound => describe("its folder is missing: make it first".into()),
            _ => describe(with_advice(&error)),
        })?;
        let socket = SocketFile { listener, path: path.into() };
        socket.listener.set_nonblocking(true).map_err(|error| describe(error.to_string()))?;
        if let Some(group) = group {
            chown(path, None, Some(group)).map_err(|error| describe(format!("setting its group: {error}")))?;
            let mode = Permissions::from_mode(0o660);
            fs::set_permissions(path, mode).map_err(|error| describe(format!("giving the group access: {error}")))?;
        }
        Ok(socket)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path); // the file or its folder may have been removed
    }
}

fn remove_stale(path: &Path) -> Result<(), String> {
    let kind = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(with_advice(&error)),
        Ok(metadata) => metadata.file_type(),
    };
    if !kind.is_socket() {
        return Err("a file with this name exists and is not a socket".into());
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|error| format!("removing a stale socket: {error}"))
        }
        Err(error) => Err(with_advice(&error)),
        Ok(_) => Err("in use by a process that answers".into()),
    }
}

fn with_advice(error: &io::Error) -> String {
    let advice = if error.kind() == ErrorKind::PermissionDenied { "; run as root" } else { "" };
    format!("{error}{advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_file_is_replaced_and_a_living_one_is_not() {
        let folder = std::env::temp_dir().join(format!("mediumd-test-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let path = folder.join("s");
        let socket = SocketFile::listen(&path, None).expect("listening");
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        assert!(SocketFile::listen(&path, None).expect_err("in use").contains("in use"));
        drop(socket);
        assert!(!path.exists());
        drop(UnixListener::bind(&path).expect("a stale one"));
        assert!(path.exists());
        drop(SocketFile::listen(&path, None).expect("replacing"));
        fs::write(&path, "text").expect("a file");
        assert!(SocketFile::listen(&path, None).expect_err("a file").contains("is not a socket"));
        let long = folder.join("a".repeat(108));
        for path in [Path::new(""), &long] {
            assert!(SocketFile::listen(path, None).expect_err("a length").contains("must have 1 to 107"));
        }
        assert!(SocketFile::listen(&folder.join("no/s"), None).expect_err("no folder").contains("folder is missing"));
        fs::remove_dir_all(&folder).expect("removing");
    }
}
