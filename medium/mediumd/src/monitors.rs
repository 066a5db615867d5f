//! Finds the radios that have a monitor interface, in all network namespaces.
//!
//! The kernel does not report monitor interfaces to its medium. A copy of each frame for each radio would cost more
//! than the frames themselves, so only radios with such an interface get copies of the frames for others.

use std::io;
use std::thread;
use std::time::Duration;

use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::air::{AirRemote, Change, Monitor};
use crate::config::Mac;
use crate::namespaces;

const INTERVAL: Duration = Duration::from_secs(1);

// Numbers of the kernel's interface, linux/netlink.h, rtnetlink.h, if_link.h, if_arp.h, if.h.
const DUMP_REQUEST: u16 = 0x301;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const ADDRESS: u16 = 1;
const PERMANENT_ADDRESS: u16 = 54;
const RADIOTAP: u16 = 803;
const UP: u32 = 1;
/// Sizes of the header of a message, and of its fixed part.
const HEADER: usize = 16;
const FIXED: usize = 16;
const BUFFER_BYTES: usize = 1 << 16;

/// Tells the air which radios have a monitor interface, until the air ends.
pub fn watch(air: AirRemote) {
    // Without the thread, monitors hear broadcasts only.
    let _ = thread::Builder::new().name("monitors".into()).spawn(move || {
        let mut known = Vec::new();
        loop {
            let present = find();
            if present != known && air.change(Change::Monitors(present.clone())).is_none() {
                return;
            }
            known = present;
            thread::sleep(INTERVAL);
        }
    });
}

fn find() -> Vec<Monitor> {
    let inside = |place| {
        let work = || links().map_err(|error| error.to_string());
        namespaces::inside(place, work).unwrap_or_default()
    };
    let mut found: Vec<Monitor> = namespaces::all().iter().flat_map(|place| inside(place.as_deref())).collect();
    found.sort_unstable();
    found
}

/// The monitor interfaces of the present namespace.
fn links() -> io::Result<Vec<Monitor>> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut request = ((HEADER + FIXED) as u32).to_ne_bytes().to_vec();
    request.extend(GET_LINK.to_ne_bytes());
    request.extend(DUMP_REQUEST.to_ne_bytes());
    request.resize(HEADER + FIXED, 0);
    socket.send(&request, 0)?;
    let (mut found, mut buffer) = (Vec::new(), vec![0; BUFFER_BYTES]);
    loop {
        let length = socket.recv(&mut buffer.as_mut_slice(), 0)?;
        if !read_links(&buffer[..length], &mut found) {
            return Ok(found);
        }
    }
}

/// Reads messages of a list of interfaces. Returns whether more follow.
fn read_links(mut messages: &[u8], found: &mut Vec<Monitor>) -> bool {
    while let (Some(length), Some(kind)) = (number32(messages, 0), number16(messages, 4)) {
        let Some(message) = messages.get(HEADER..length as usize) else { return false };
        match kind {
            DONE | ERROR => return false,
            NEW_LINK => found.extend(monitor(message)),
            _ => {}
        }
        messages = messages.get(aligned(length as usize)..).unwrap_or_default();
    }
    true
}

/// The monitor interface that a message describes, if it is one that is up.
fn monitor(message: &[u8]) -> Option<Monitor> {
    let (kind, flags) = (number16(message, 2)?, number32(message, 8)?);
    if kind != RADIOTAP || flags & UP == 0 {
        return None;
    }
    let (mut address, mut radio) = (None, None);
    let mut attributes = message.get(FIXED..)?;
    while let (Some(length), Some(kind)) = (number16(attributes, 0), number16(attributes, 2)) {
        let value = || Some(Mac(attributes.get(4..length.into())?.try_into().ok()?));
        match kind {
            ADDRESS => address = value(),
            PERMANENT_ADDRESS => radio = value(),
            _ => {}
        }
        attributes = attributes.get(aligned(usize::from(length).max(4))..).unwrap_or_default();
    }
    Some(Monitor { radio, address: address? })
}

fn aligned(length: usize) -> usize {
    length.div_ceil(4) * 4
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWN: Mac = Mac([2, 0, 0, 0, 1, 9]);
    const RADIO: Mac = Mac([2, 0, 0, 0, 1, 0]);

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.resize(HEADER, 0);
        message.extend(body);
        message.resize(aligned(message.len()), 0);
        message
    }

    fn link(kind: u16, flags: u32, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = vec![0, 0];
        body.extend(kind.to_ne_bytes());
        body.extend(7u32.to_ne_bytes());
        body.extend(flags.to_ne_bytes());
        body.resize(FIXED, 0);
        for (number, value) in attributes {
            body.extend((4 + value.len() as u16).to_ne_bytes());
            body.extend(number.to_ne_bytes());
            body.extend(*value);
            body.resize(aligned(body.len()), 0);
        }
        message(NEW_LINK, &body)
    }

    fn read(messages: &[Vec<u8>]) -> (Vec<Monitor>, bool) {
        let mut found = Vec::new();
        let more = read_links(&messages.concat(), &mut found);
        (found, more)
    }

    #[test]
    fn monitors_that_are_up_are_found_with_their_radio() {
        let addresses: [(u16, &[u8]); 3] = [(3, b"mon0\0"), (ADDRESS, &OWN.0), (PERMANENT_ADDRESS, &RADIO.0)];
        let monitor = Monitor { radio: Some(RADIO), address: OWN };
        let ethernet = link(1, UP, &addresses);
        assert_eq!(read(&[ethernet, link(RADIOTAP, UP, &addresses)]), (vec![monitor], true));
        assert_eq!(read(&[link(RADIOTAP, 0, &addresses), message(DONE, &[0; 4])]), (vec![], false));
        let old = Monitor { radio: None, address: OWN }; // before Linux 5.6
        assert_eq!(read(&[link(RADIOTAP, UP, &addresses[..2])]), (vec![old], true));
    }

    proptest! {
        #[test]
        fn any_answer_is_read_to_its_end(bytes in prop::collection::vec(any::<u8>(), 0..200), body in any::<bool>()) {
            let bytes = if body { message(NEW_LINK, &bytes) } else { bytes };
            read_links(&bytes, &mut Vec::new());
        }
    }
}
