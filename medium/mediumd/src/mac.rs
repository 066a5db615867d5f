//! Ethernet addresses.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Six bytes, as on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Multicast or broadcast.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl FromStr for Mac {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part =
                parts.next().filter(|part| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit()));
            *byte = part.and_then(|part| u8::from_str_radix(part, 16).ok()).ok_or_else(|| refusal(text))?;
        }
        if parts.next().is_some() { Err(refusal(text)) } else { Ok(Mac(bytes)) }
    }
}

fn refusal(text: &str) -> String {
    format!("mac {text:?}: six pairs of hexadecimal digits with colons between")
}

impl fmt::Display for Mac {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        String::deserialize(source)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_agree() {
        let mac: Mac = "02:00:aB:00:00:0f".parse().expect("a MAC");
        assert_eq!((mac.0, mac.to_string()), ([2, 0, 0xab, 0, 0, 15], "02:00:ab:00:00:0f".into()));
        for bad in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "2:0:0:0:0:1", "02-00-00-00-00-01", "+2:00:00:00:00:01"]
        {
            assert!(bad.parse::<Mac>().is_err(), "{bad}");
        }
    }
}
