//! The main thread: signals, clients, and what they are told.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use nix::sys::signalfd::SignalFd;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use serde_json::{Value, json};

use crate::air::handle::AirHandle;
use crate::air::order::Snapshot;
use crate::air::tell::Shared;
use crate::frames::event::{Event, kind};
use crate::socket::connection::{Connection, Incoming};
use crate::socket::report::Reporter;
use crate::socket::request::{self, Refusal, Request, Subscription, refusal};

/// An agent at each of 64 stations, and 16 others.
const CONNECTIONS_MAX: usize = 80;
/// Events passed on before clients, signals and clock have their turn.
const EVENTS_IN_A_ROW: usize = 1_000;

/// When a connection is next told of air and lateness, and since when.
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
    /// Rung by the air.
    pub bell: Arc<EventFd>,
    /// What the air tells.
    pub events: Receiver<Event>,
    /// What both sides count.
    pub shared: Arc<Shared>,
    /// Makes JSON.
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
        bell: Arc<EventFd>,
        events: Receiver<Event>,
        shared: Arc<Shared>,
        reporter: Reporter,
    ) -> Self {
        let (clients, lost_seen, ends) = (Vec::new(), 0, false);
        Server { listener, signals, bell, events, shared, reporter, clients, lost_seen, ends }
    }

    /// Serves until a signal, `shutdown` or the end of the air.
    ///
    /// # Errors
    /// When waiting fails: a bug.
    pub fn run(&mut self, air: &AirHandle) -> io::Result<()> {
        while !self.ends && !air.has_ended() {
            let [signal, bell, stranger] = self.wait()?;
            if signal && self.signals.read_signal()?.is_some() {
                break;
            }
            if bell {
                let _ = self.bell.read(); // it has rung, so there is something to read
            }
            self.pass_on_events();
            if stranger {
                self.accept();
            }
            for index in 0..self.clients.len() {
                self.attend(index, air);
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

    /// Waits for signal, bell, a new client, a client or the clock; says which of the first three it was.
    fn wait(&self) -> io::Result<[bool; 3]> {
        let fixed = [Some(self.signals.as_fd()), Some(self.bell.as_fd()), self.listener.as_ref().map(AsFd::as_fd)];
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

    fn attend(&mut self, index: usize, air: &AirHandle) {
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
                let events = (self.shared.told.load(Relaxed), self.shared.lost.load(Relaxed));
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
        self.note_wanted(); // before the answer: what happens after it is told
        Some(())
    }

    /// Lets the air know which kinds anyone wants.
    fn note_wanted(&self) {
        let wanted = self.clients.iter().filter_map(|client| client.connection.subscription);
        self.shared.wanted.store(wanted.fold(0, |kinds, subscription| kinds | subscription.kinds), Relaxed);
    }

    fn pass_on_events(&mut self) {
        for event in self.events.try_iter().take(EVENTS_IN_A_ROW) {
            let mut text = None;
            for Client { connection, .. } in &mut self.clients {
                let wants = |wanted: Subscription| {
                    wanted.kinds & event.kind() != 0 && wanted.stations >> event.station & 1 == 1
                };
                if connection.subscription.is_some_and(wants) {
                    connection.tell(text.get_or_insert_with(|| self.reporter.event(&event).to_string()));
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
                connection.tell(&self.reporter.air(&periodic.since, &snapshot, subscription.stations).to_string());
            }
            if subscription.kinds & kind::LATENESS != 0 {
                connection.tell(&self.reporter.lateness(&periodic.since, &snapshot).to_string());
            }
            periodic.since = snapshot;
            let interval = Duration::from_secs_f64(subscription.interval_s);
            periodic.due = (periodic.due + interval).max(now);
        }
    }
}
