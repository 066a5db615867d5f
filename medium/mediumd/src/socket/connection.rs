//! One client on the socket: its incomplete line, its pending output, and its subscription.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::socket::request::{LINE_BYTES_MAX, Refusal, Subscription, refusal};

/// Pending output in bytes beyond which a slow client loses events and its requests wait.
const OUTBOX_BYTES_MAX: usize = 1 << 20;
const READ_BYTES: usize = 16_384;

/// Input from a client.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A complete line.
    Line(Vec<u8>),
    /// A line that is too long; it is skipped.
    TooLong,
}

/// A client.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    inbox: Vec<u8>,
    /// The rest of an over-long line is being skipped.
    skips: bool,
    outbox: Vec<u8>,
    /// The client has closed its sending side.
    ended: bool,
    broken: bool,
    /// Its subscription.
    pub subscription: Option<Subscription>,
    /// Events lost since the last report of losses.
    lost: u64,
}

impl Connection {
    /// A connection over an accepted stream.
    ///
    /// # Errors
    /// The stream is closed already.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (inbox, outbox) = (Vec::new(), Vec::new());
        Ok(Connection { stream, inbox, skips: false, outbox, ended: false, broken: false, subscription: None, lost: 0 })
    }

    /// Whether there is pending output.
    pub fn has_to_write(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether requests are read: not while there is too much pending output.
    pub fn may_read(&self) -> bool {
        !self.ended && self.outbox.len() < OUTBOX_BYTES_MAX
    }

    /// Whether the connection has ended.
    pub fn is_over(&self) -> bool {
        self.broken || (self.ended && self.outbox.is_empty())
    }

    /// Reads the available input once.
    pub fn read(&mut self) -> Vec<Incoming> {
        let mut chunk = [0; READ_BYTES];
        match self.stream.read(&mut chunk) {
            Ok(0) => self.ended = true,
            Ok(length) => return self.split(&chunk[..length]),
            Err(error) if is_transient(&error) => {}
            Err(_) => self.broken = true,
        }
        Vec::new()
    }

    fn split(&mut self, mut bytes: &[u8]) -> Vec<Incoming> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            self.inbox.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.inbox);
            if !std::mem::take(&mut self.skips) {
                lines.push(if line.len() > LINE_BYTES_MAX { Incoming::TooLong } else { Incoming::Line(line) });
            }
        }
        if !self.skips {
            self.inbox.extend_from_slice(bytes);
            if self.inbox.len() > LINE_BYTES_MAX {
                self.inbox = Vec::new();
                self.skips = true;
                lines.push(Incoming::TooLong);
            }
        }
        lines
    }

    /// Sends as much as the client accepts now.
    pub fn write(&mut self) {
        while !self.outbox.is_empty() {
            match self.stream.write(&self.outbox) {
                Ok(sent) => drop(self.outbox.drain(..sent)),
                Err(error) if is_transient(&error) => return,
                Err(_) => {
                    self.broken = true;
                    return;
                }
            }
        }
    }

    /// Answers a request.
    pub fn answer(&mut self, id: &Value, result: Result<Value, Refusal>) {
        self.put(&match result {
            Ok(result) => json!({"id": id, "result": result}),
            Err(Refusal { code, message }) => json!({"id": id, "error": {"code": code, "message": message}}),
        });
    }

    /// Answers an over-long line.
    pub fn answer_too_long(&mut self) {
        let message = format!("the line is too long and was skipped; must have at most {LINE_BYTES_MAX} bytes");
        self.answer(&Value::Null, Err(refusal("parse", message)));
    }

    /// Queues an event if there is room for it, and counts it as lost otherwise.
    pub fn send(&mut self, event: &str) {
        if self.outbox.len() >= OUTBOX_BYTES_MAX {
            self.lost += 1;
            return;
        }
        self.send_losses();
        self.outbox.extend_from_slice(event.as_bytes());
        self.outbox.push(b'\n');
    }

    /// Counts lost events of this subscription.
    pub fn lose(&mut self, count: u64) {
        self.lost += count;
        if self.outbox.len() < OUTBOX_BYTES_MAX {
            self.send_losses();
        }
    }

    fn send_losses(&mut self) {
        if self.lost > 0 {
            let count = std::mem::take(&mut self.lost);
            self.put(&json!({"event": "lost", "count": count}));
        }
    }

    fn put(&mut self, line: &Value) {
        self.outbox.extend_from_slice(line.to_string().as_bytes());
        self.outbox.push(b'\n');
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair() -> (Connection, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        (Connection::new(ours).expect("a connection"), theirs)
    }

    #[test]
    fn a_line_that_is_too_long_is_told_once_and_skipped_to_its_end() {
        let (mut connection, _theirs) = pair();
        let long = vec![b'x'; 50_000];
        assert_eq!(connection.split(&long), []);
        assert_eq!(connection.split(&long), [Incoming::TooLong]);
        assert_eq!(connection.split(&long), []);
        assert_eq!(connection.split(b"xx\nnext\n"), [Incoming::Line(b"next".to_vec())]);
    }

    #[test]
    fn a_client_that_does_not_read_loses_events_and_is_told_so() {
        let (mut connection, theirs) = pair();
        let event = "e".repeat(999);
        (0..5_000).for_each(|_| connection.send(&event));
        assert!(connection.outbox.len() <= OUTBOX_BYTES_MAX + 1_000 && !connection.may_read());
        let lost = connection.lost;
        assert_eq!(lost as usize, 5_000 - connection.outbox.len() / 1_000);
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            (&theirs).take(1_100_000).read_to_string(&mut text).map(|_| text)
        });
        while connection.has_to_write() {
            connection.write();
        }
        connection.send("after");
        connection.write();
        drop(connection);
        let text = reader.join().expect("a thread").expect("text");
        let last: Vec<&str> = text.lines().rev().take(2).collect();
        assert_eq!(last, ["after", &format!(r#"{{"count":{lost},"event":"lost"}}"#)]);
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_are_cut(
            text in prop::collection::vec(prop::sample::select(b"ab\n".to_vec()), 0..200),
            cuts in prop::collection::vec(0usize..200, 0..6),
        ) {
            let (mut connection, _theirs) = pair();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let mut lines = Vec::new();
            for ends in cuts.windows(2) {
                lines.extend(connection.split(&text[ends[0]..ends[1]]));
            }
            let whole = text.split(|&byte| byte == b'\n').map(|line| Incoming::Line(line.to_vec()));
            let expected: Vec<Incoming> = whole.take(text.iter().filter(|&&byte| byte == b'\n').count()).collect();
            prop_assert_eq!(lines, expected);
        }
    }
}
