//! The socket protocol of wmediumd's server: packed, big-endian, one octet of type first.
//!
//! A response is its type, the whole request, and a result; three differ (`Request::response`). A client reads exactly
//! the size it expects. Source: wmediumd (branch mininet-wifi), wserver_messages.h.

use crate::Mac;

/// Path of the socket.
pub const SOCKET_PATH: &str = "/var/run/wmediumd.sock";
/// Rows and columns of a per-rate error matrix (message 11).
const MATRIX: usize = 12 * 12;

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Outcome {
    Done = 0,
    NotFound = 1,
    Duplicate = 2,
    WrongMode = 3,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Request {
    Shutdown,
    Snr {
        from: Mac,
        to: Mac,
        snr_db: i32,
    },
    DeleteByMac(Mac),
    DeleteById(i32),
    Add(Mac),
    ErrorProbability {
        from: Mac,
        to: Mac,
        probability: f64,
    },
    /// Per size and rate. Accepted without an effect.
    ErrorMatrix {
        from: Mac,
        to: Mac,
    },
    Position {
        of: Mac,
        position_m: [f32; 3],
    },
    TxPower {
        of: Mac,
        dbm: i32,
    },
    Gain {
        of: Mac,
        db: i32,
    },
    Height {
        of: Mac,
        m: i32,
    },
    GaussianRandom {
        of: Mac,
        db: f32,
    },
    Medium {
        of: Mac,
        medium: i32,
    },
}

/// A message that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownType(pub u8);

/// Size of a request of this type, including the type.
pub fn request_bytes(kind: u8) -> Result<usize, UnknownType> {
    Ok(1 + match kind {
        0 => 0,
        1 | 9 => 6 + 6 + 4,
        3 | 7 => 6,
        5 => 4,
        11 => 6 + 6 + 4 * MATRIX,
        13 => 6 + 3 * 4,
        15 | 17 | 19 | 21 | 23 => 6 + 4,
        _ => return Err(UnknownType(kind)),
    })
}

impl Request {
    /// Parses the first request of the received bytes. Returns the request and its size, or None if it is incomplete.
    pub fn read(buffer: &[u8]) -> Result<Option<(Request, usize)>, UnknownType> {
        let Some(&kind) = buffer.first() else { return Ok(None) };
        let size = request_bytes(kind)?;
        let Some(body) = buffer.get(1..size) else { return Ok(None) };
        let mac = |at: usize| -> Mac { bytes(body, at) };
        let int = |at: usize| i32::from_be_bytes(bytes(body, at));
        let float = |at: usize| f32::from_be_bytes(bytes(body, at));
        let request = match kind {
            0 => Request::Shutdown,
            1 => Request::Snr { from: mac(0), to: mac(6), snr_db: int(12) },
            3 => Request::DeleteByMac(mac(0)),
            5 => Request::DeleteById(int(0)),
            7 => Request::Add(mac(0)),
            9 => {
                // Fixed point with 31 binary places.
                let probability = f64::from(u32::from_be_bytes(bytes(body, 12))) / f64::from(1_u32 << 31);
                Request::ErrorProbability { from: mac(0), to: mac(6), probability }
            }
            11 => Request::ErrorMatrix { from: mac(0), to: mac(6) },
            13 => Request::Position { of: mac(0), position_m: [float(6), float(10), float(14)] },
            15 => Request::TxPower { of: mac(0), dbm: int(6) },
            17 => Request::Gain { of: mac(0), db: int(6) },
            19 => Request::Height { of: mac(0), m: int(6) },
            21 => Request::GaussianRandom { of: mac(0), db: float(6) },
            _ => Request::Medium { of: mac(0), medium: int(6) },
        };
        Ok(Some((request, size)))
    }
}

/// The response to a request of these octets. `id` is the number of an added interface. None: no response (shutdown).
pub fn response(request: &[u8], outcome: Outcome, id: i32) -> Option<Vec<u8>> {
    let kind = *request.first()?;
    if kind == 0 {
        return None;
    }
    let mut answer = vec![kind + 1];
    match kind {
        // The matrix is not sent back, and the echo lacks its own type.
        11 => answer.extend(request.get(1..13)?),
        _ => answer.extend(request),
    }
    if kind == 7 {
        answer.extend(id.to_be_bytes());
    }
    answer.push(outcome as u8);
    Some(answer)
}

/// N octets at `at`. The caller has checked the length.
fn bytes<const N: usize>(body: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&body[at..at + N]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: Mac = [2, 0, 0, 0, 0, 0];

    /// As Python's struct.pack("!B6s3f", 13, mac, 10.0, 20.0, 0.0) writes it.
    const POSITION: [u8; 19] = [13, 2, 0, 0, 0, 0, 0, 0x41, 0x20, 0, 0, 0x41, 0xa0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn a_position_is_read_and_echoed() {
        let read = Request::read(&POSITION).unwrap().unwrap();
        assert_eq!(read, (Request::Position { of: A, position_m: [10.0, 20.0, 0.0] }, 19));
        let mut expected = vec![14];
        expected.extend(POSITION);
        expected.push(0);
        assert_eq!(response(&POSITION, Outcome::Done, 0), Some(expected));
    }

    #[test]
    fn an_added_interface_answers_with_its_number() {
        let request = [7, 2, 0, 0, 0, 0, 0];
        assert_eq!(Request::read(&request).unwrap().unwrap(), (Request::Add(A), 7));
        let answer = response(&request, Outcome::Done, 258).unwrap();
        assert_eq!(answer, [8, 7, 2, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0]);
    }

    #[test]
    fn an_error_probability_is_fixed_point() {
        let mut request = vec![9];
        request.extend([A, A].concat());
        request.extend(0x4000_0000_u32.to_be_bytes());
        let (read, size) = Request::read(&request).unwrap().unwrap();
        assert_eq!((read, size), (Request::ErrorProbability { from: A, to: A, probability: 0.5 }, 17));
    }

    #[test]
    fn a_matrix_is_not_sent_back() {
        let mut request = vec![11];
        request.extend([1; 12 + 576]);
        assert_eq!(Request::read(&request).unwrap().unwrap().1, 589);
        assert_eq!(response(&request, Outcome::WrongMode, 0).unwrap().len(), 1 + 12 + 1);
    }

    #[test]
    fn half_a_request_waits_and_an_unknown_one_is_refused() {
        assert_eq!(Request::read(&[]), Ok(None));
        assert_eq!(Request::read(&POSITION[..18]), Ok(None));
        assert_eq!(Request::read(&[99]), Err(UnknownType(99)));
        assert_eq!(response(&[0], Outcome::Done, 0), None);
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
            let _ = Request::read(&bytes);
        }
    }
}
