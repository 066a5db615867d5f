//! wmediumd's socket: packed requests from any number of clients. A slow client does not delay others.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use nix::sys::signalfd::SignalFd;
use pacelab_hwsim::mesh::Mesh;
use pacelab_hwsim::wmediumd_config::MOVE_INTERVAL_S;
use pacelab_hwsim::wmediumd_socket::{Outcome, Request, response};

use crate::air::{AirHandle, Change};
use crate::status;

const CLIENTS_MAX: usize = 64;
const MOVE_INTERVAL: Duration = Duration::from_secs(MOVE_INTERVAL_S);
/// Unread answers in bytes beyond which the requests of a client wait.
const OUTBOX_BYTES_MAX: usize = 1 << 16;

struct Client {
    stream: UnixStream,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    ended: bool,
}

/// The socket of `wmediumd --status`, and the file that the status names.
#[allow(missing_docs)]
pub struct StatusSocket {
    pub listener: UnixListener,
    pub file: PathBuf,
}

/// The server.
pub struct WmediumdServer {
    listener: Option<UnixListener>,
    status: StatusSocket,
    signals: SignalFd,
    wakeup: Arc<EventFd>,
    mesh: Mesh,
    capacity: usize,
    clients: Vec<Client>,
    /// When the interfaces move in their directions next. None: they do not move by themselves.
    moves_at: Option<Instant>,
    ends: bool,
}

impl WmediumdServer {
    /// A server without clients. `wakeup` is signalled when the air ends. The air has room for `capacity` interfaces.
    pub fn new(
        listener: Option<UnixListener>,
        status: StatusSocket,
        signals: SignalFd,
        wakeup: Arc<EventFd>,
        mesh: Mesh,
        capacity: usize,
    ) -> Self {
        let moves_at = mesh.moves().then(|| Instant::now() + MOVE_INTERVAL);
        WmediumdServer { listener, status, signals, wakeup, mesh, capacity, clients: Vec::new(), moves_at, ends: false }
    }

    /// Serves until a signal, a request to shut down, or the end of the air.
    ///
    /// # Errors
    /// Waiting fails, which is a bug.
    pub fn run(&mut self, air: &AirHandle) -> io::Result<()> {
        while !self.ends && !air.has_ended() {
            let [signal, wakeup, asked, stranger] = self.wait()?;
            if signal && self.signals.read_signal()?.is_some() {
                break;
            }
            if wakeup {
                let _ = self.wakeup.read(); // it was signalled, so there is something to read
            }
            self.move_interfaces(air);
            if asked {
                self.report_status(air);
            }
            if stranger {
                self.accept();
            }
            for index in 0..self.clients.len() {
                self.clients[index].read();
                self.on_wakeup(index, air);
                self.clients[index].write();
            }
            self.clients.retain(|client| !client.ended);
        }
        Ok(())
    }

    fn wait(&self) -> io::Result<[bool; 4]> {
        let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        fds.push(PollFd::new(self.wakeup.as_fd(), PollFlags::POLLIN));
        fds.push(PollFd::new(self.status.listener.as_fd(), PollFlags::POLLIN));
        fds.extend(self.listener.as_ref().map(|listener| PollFd::new(listener.as_fd(), PollFlags::POLLIN)));
        for client in &self.clients {
            let reads = if client.outbox.len() < OUTBOX_BYTES_MAX { PollFlags::POLLIN } else { PollFlags::empty() };
            let writes = if client.outbox.is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT };
            fds.push(PollFd::new(client.stream.as_fd(), reads | writes));
        }
        match poll(&mut fds, self.timeout()) {
            Err(Errno::EINTR) => return Ok([false; 4]),
            result => result?,
        };
        let rang = |place: usize| fds[place].any().unwrap_or(true);
        Ok([rang(0), rang(1), rang(2), self.listener.is_some() && rang(3)])
    }

    /// The time until the next move.
    fn timeout(&self) -> PollTimeout {
        let left = self.moves_at.map(|at| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1)); // it rounds down
        left.map_or(PollTimeout::NONE, |left| PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX))
    }

    fn move_interfaces(&mut self, air: &AirHandle) {
        if let Some(at) = self.moves_at.filter(|&at| at <= Instant::now()) {
            self.moves_at = Some(at + MOVE_INTERVAL);
            self.mesh.step();
            air.change(Change::Mesh(self.mesh.clone()));
        }
    }

    /// Answers one connection to the status socket. A client that does not read its answer gets a part of it.
    fn report_status(&mut self, air: &AirHandle) {
        let Ok((mut stream, _)) = self.status.listener.accept() else { return };
        let Some(snapshot) = air.snapshot() else { return };
        let text = status::status(&snapshot, &self.mesh, &self.status.file).to_string();
        let _ = stream.set_nonblocking(true).and_then(|()| stream.write_all(text.as_bytes()));
    }

    fn accept(&mut self) {
        let Some(Ok((stream, _))) = self.listener.as_ref().map(UnixListener::accept) else { return };
        if self.clients.len() < CLIENTS_MAX && stream.set_nonblocking(true).is_ok() {
            self.clients.push(Client { stream, inbox: Vec::new(), outbox: Vec::new(), ended: false });
        }
    }

    /// Answers the complete requests of a client.
    fn on_wakeup(&mut self, index: usize, air: &AirHandle) {
        while self.clients[index].outbox.len() < OUTBOX_BYTES_MAX {
            match Request::read(&self.clients[index].inbox) {
                Ok(None) => return,
                Ok(Some((request, size))) => {
                    let octets: Vec<u8> = self.clients[index].inbox.drain(..size).collect();
                    let (outcome, id) = self.carry_out(&request, air);
                    self.clients[index].outbox.extend(response(&octets, outcome, id).unwrap_or_default());
                }
                Err(kind) => {
                    // The start of the next request is unknown.
                    eprintln!("wmediumd: a client sent a message of type {}: its connection is closed", kind.0);
                    self.clients[index].ended = true;
                    return;
                }
            }
        }
    }

    fn carry_out(&mut self, request: &Request, air: &AirHandle) -> (Outcome, i32) {
        self.ends |= *request == Request::Shutdown;
        if matches!(request, Request::Add(_)) && self.mesh.interfaces().len() >= self.capacity {
            return (Outcome::WrongMode, -1);
        }
        let (outcome, id) = self.mesh.apply(request);
        if outcome == Outcome::Done && !self.ends {
            air.change(Change::Mesh(self.mesh.clone()));
        }
        (outcome, id)
    }
}

impl Client {
    fn read(&mut self) {
        if self.outbox.len() >= OUTBOX_BYTES_MAX {
            return;
        }
        let mut chunk = [0; 4096];
        match self.stream.read(&mut chunk) {
            Ok(0) => self.ended = true,
            Ok(length) => self.inbox.extend_from_slice(&chunk[..length]),
            Err(error) => self.ended |= !is_transient(&error),
        }
    }

    fn write(&mut self) {
        while !self.outbox.is_empty() {
            match self.stream.write(&self.outbox) {
                Ok(sent) => drop(self.outbox.drain(..sent)),
                Err(error) => {
                    self.ended |= !is_transient(&error);
                    return;
                }
            }
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
