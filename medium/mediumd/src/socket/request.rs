//! Requests on the socket: parsing a line and checking it against the configuration.

use pacelab_air_config::Propagation;
use pacelab_engine::{Id, StationId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::air::Change;
use crate::config::{Config, VERSION};
use crate::frames::kind;

/// Longest line that is read, in bytes.
pub const LINE_BYTES_MAX: usize = 65_536;
const EXTRA_BACKOFF_MAX: u32 = 65_535;
const INTERVAL_S: std::ops::RangeInclusive<f64> = 0.01..=3600.0;
const COORDINATE_M_MAX: f64 = 1e6;

/// The refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `parse`, `method`, `version`, `params` or `busy`.
    pub code: &'static str,
    /// A message of one line.
    pub message: String,
}

/// A request.
#[derive(Clone, Debug)]
pub enum Request {
    /// Version and stations.
    Hello,
    /// Statistics.
    Stats,
    /// A change of the air.
    Change(Change),
    /// Subscribe to events.
    Subscribe(Subscription),
    /// Unsubscribe.
    Unsubscribe,
    /// Shut down.
    Shutdown,
}

/// The events that a connection subscribes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subscription {
    /// `event::kind` bits.
    pub kinds: u32,
    /// A bit for each station.
    pub stations: u64,
    /// Interval of `air` and `lateness` events.
    pub interval_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: Value,
    method: String,
    #[serde(default)]
    params: Option<Value>,
}

/// Parses a line. The id is null if it could not be parsed.
pub fn read(line: &[u8], config: &Config) -> (Value, Result<Request, Refusal>) {
    let line: Line = match serde_json::from_slice(line) {
        Ok(line) => line,
        Err(error) => return (Value::Null, Err(refusal("parse", format!("not a request: {error}")))),
    };
    if !line.id.is_number() && !line.id.is_string() {
        return (Value::Null, Err(refusal("parse", "not a request: id must be a number or a string".into())));
    }
    let params = line.params.unwrap_or_else(|| json!({}));
    (line.id, understand(&line.method, params, config))
}

/// A refusal with one line.
pub fn refusal(code: &'static str, message: String) -> Refusal {
    Refusal { code, message }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hello {
    version: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Position {
    station: String,
    position_m: [f64; 2],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rate {
    station: String,
    #[serde(default)]
    to: Option<String>,
    data_rate_bps: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RtsThreshold {
    bytes: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranges {
    decode_m: f64,
    sense_m: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Powers {
    propagation: Propagation,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtraBackoff {
    station: String,
    slots: u32,
    #[serde(default)]
    wall_clock: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subscribe {
    kinds: Vec<String>,
    #[serde(default)]
    stations: Option<Vec<String>>,
    #[serde(default)]
    interval_s: Option<f64>,
}

fn understand(method: &str, params: Value, config: &Config) -> Result<Request, Refusal> {
    let wrong = |message: String| refusal("params", format!("{method}: {message}"));
    let name = |name: &str| station(name, config).map_err(wrong);
    let change = match method {
        "hello" => {
            let Hello { version } = take(params).map_err(wrong)?;
            let spoken = version == VERSION;
            return if spoken { Ok(Request::Hello) } else { Err(refusal("version", unsupported_version(version))) };
        }
        "stats" => return take(params).map_err(wrong).map(|Nothing {}| Request::Stats),
        "unsubscribe" => return take(params).map_err(wrong).map(|Nothing {}| Request::Unsubscribe),
        "shutdown" => return take(params).map_err(wrong).map(|Nothing {}| Request::Shutdown),
        "subscribe" => {
            return subscription(take(params).map_err(wrong)?, config).map(Request::Subscribe).map_err(wrong);
        }
        "set_position" => {
            let Position { station, position_m } = take(params).map_err(wrong)?;
            if position_m.iter().any(|metres| metres.abs() > COORDINATE_M_MAX) {
                return Err(wrong(format!("position_m {position_m:?}: must lie within {COORDINATE_M_MAX} of 0")));
            }
            Change::Position { station: name(&station)?, position_m }
        }
        "set_rate" => {
            let Rate { station, to, data_rate_bps } = take(params).map_err(wrong)?;
            config.radio.phy.check_rate(data_rate_bps).map_err(wrong)?;
            let (station, to) = (name(&station)?, to.map(|to| name(&to)).transpose()?);
            if to == Some(station) {
                return Err(wrong("to: must be another station than \"station\"".into()));
            }
            Change::Rate { station, to, data_rate_bps }
        }
        "set_rts_threshold" => {
            let RtsThreshold { bytes } = take(params).map_err(wrong)?;
            Change::RtsThreshold { bytes }
        }
        "set_ranges" => {
            let Ranges { decode_m, sense_m } = take(params).map_err(wrong)?;
            let capture_db = config.radio.propagation.capture_db();
            propagation(Propagation::Range { decode_m, sense_m, capture_db }, config).map_err(wrong)?
        }
        "set_propagation" => {
            let Powers { propagation: wanted } = take(params).map_err(wrong)?;
            propagation(wanted, config).map_err(wrong)?
        }
        "set_extra_backoff" => {
            let ExtraBackoff { station, slots, wall_clock } = take(params).map_err(wrong)?;
            if slots > EXTRA_BACKOFF_MAX {
                return Err(wrong(format!("slots {slots}: must be at most {EXTRA_BACKOFF_MAX}")));
            }
            Change::ExtraBackoff { station: name(&station)?, slots, wall_clock }
        }
        _ => return Err(refusal("method", format!("{method:?}: there is no such method"))),
    };
    Ok(Request::Change(change))
}

fn unsupported_version(version: u32) -> String {
    format!("version {version}: this mediumd speaks version {VERSION}")
}

fn take<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| error.to_string())
}

fn station(name: &str, config: &Config) -> Result<StationId, String> {
    let place = config.stations.iter().position(|station| station.name == name);
    place.map(StationId::from_index).ok_or_else(|| format!("station {name:?}: there is no such station"))
}

fn propagation(wanted: Propagation, config: &Config) -> Result<Change, String> {
    config.check_propagation(&wanted)?;
    Ok(Change::Propagation(wanted))
}

fn subscription(wanted: Subscribe, config: &Config) -> Result<Subscription, String> {
    let mut kinds = 0;
    for name in &wanted.kinds {
        let known = kind::NAMES.iter().find(|&&(known, _)| known == name);
        kinds |= known.ok_or_else(|| format!("kinds: {name:?}: there is no such kind"))?.1;
    }
    let stations = match wanted.stations {
        None => u64::MAX,
        Some(names) => names.iter().try_fold(0, |bits, name| Ok::<_, String>(bits | 1 << station(name, config)?.0))?,
    };
    let interval_s = wanted.interval_s.unwrap_or(1.0);
    if !INTERVAL_S.contains(&interval_s) {
        return Err(format!("interval_s {interval_s}: must lie in {INTERVAL_S:?}"));
    }
    Ok(Subscription { kinds, stations, interval_s })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::air::Change;
    use crate::config::tests::line;
    use proptest::prelude::*;

    fn ask(text: &str) -> (Value, Result<Request, Refusal>) {
        read(text.as_bytes(), &line(3, 200.0, "ns2"))
    }

    #[test]
    fn good_requests_are_understood() {
        let change = |method: &str, params: &str| match ask(&format!(
            r#"{{"id": "x", "method": "{method}", "params": {params}}}"#
        )) {
            (id, Ok(Request::Change(change))) if id == "x" => change,
            other => panic!("{other:?}"),
        };
        let Change::Position { station: StationId(1), position_m: [5.0, -3.0] } =
            change("set_position", r#"{"station": "n1", "position_m": [5, -3]}"#)
        else {
            panic!("set_position")
        };
        let Change::Rate { station: StationId(0), to: Some(StationId(2)), data_rate_bps: 11_000_000 } =
            change("set_rate", r#"{"station": "n0", "to": "n2", "data_rate_bps": 11000000}"#)
        else {
            panic!("set_rate")
        };
        let Change::RtsThreshold { bytes: u32::MAX } = change("set_rts_threshold", r#"{"bytes": 4294967295}"#) else {
            panic!("set_rts_threshold")
        };
        let Change::Propagation(Propagation::Range { decode_m, capture_db, .. }) =
            change("set_ranges", r#"{"decode_m": 100, "sense_m": 250}"#)
        else {
            panic!("set_ranges")
        };
        assert!(decode_m == 100.0 && capture_db == 10.0);
        let Change::ExtraBackoff { station: StationId(2), slots: 8, wall_clock: false } =
            change("set_extra_backoff", r#"{"station": "n2", "slots": 8}"#)
        else {
            panic!("set_extra_backoff")
        };
        let Change::ExtraBackoff { station: StationId(0), slots: 5, wall_clock: true } =
            change("set_extra_backoff", r#"{"station": "n0", "slots": 5, "wall_clock": true}"#)
        else {
            panic!("set_extra_backoff by the clock")
        };
        assert!(matches!(ask(r#"{"id": 1, "method": "hello", "params": {"version": 1}}"#).1, Ok(Request::Hello)));
        assert!(matches!(ask(r#"{"id": 1, "method": "stats"}"#).1, Ok(Request::Stats)));
    }

    #[test]
    fn a_subscription_names_kinds_and_stations() {
        let text =
            r#"{"id": 1, "method": "subscribe", "params": {"kinds": ["transmit", "air"], "stations": ["n0", "n2"]}}"#;
        let (_, Ok(Request::Subscribe(subscription))) = ask(text) else { panic!("refused") };
        let kinds = kind::TRANSMIT | kind::AIR;
        assert_eq!(subscription, Subscription { kinds, stations: 0b101, interval_s: 1.0 });
    }

    fn check_refused(cases: &[(&str, &str, &str)]) {
        for &(text, code, reported) in cases {
            let (id, Err(refusal)) = ask(text) else { panic!("{text}: accepted") };
            assert_eq!((refusal.code, id.is_null()), (code, code == "parse"), "{text}");
            assert!(
                refusal.message.contains(reported) && !refusal.message.contains('\n'),
                "{text}: {}",
                refusal.message
            );
        }
    }

    #[test]
    fn what_is_no_request_is_refused_with_code_and_one_line() {
        check_refused(&[
            ("", "parse", "not a request"),
            ("{", "parse", "not a request"),
            ("[1]", "parse", "not a request"),
            (r#"{"id": null, "method": "stats"}"#, "parse", "id"),
            (r#"{"id": [1], "method": "stats"}"#, "parse", "id"),
            (r#"{"id": 1, "method": "stats", "extra": 1}"#, "parse", "extra"),
            (r#"{"id": 1, "method": "fly"}"#, "method", "fly"),
            (r#"{"id": 1, "method": "stats", "params": {"a": 1}}"#, "params", "a"),
        ]);
        let nested = "[".repeat(60_000);
        assert!(ask(&nested).1.is_err_and(|refusal| refusal.code == "parse"));
    }

    #[test]
    fn bad_parameters_are_refused_with_code_and_one_line() {
        check_refused(&[
            (r#"{"id": 1, "method": "hello", "params": {"version": 2}}"#, "version", "version 2"),
            (r#"{"id": 1, "method": "hello"}"#, "params", "version"),
            (
                r#"{"id": 1, "method": "set_position", "params": {"station": "n9", "position_m": [0, 0]}}"#,
                "params",
                "n9",
            ),
            (
                r#"{"id": 1, "method": "set_position", "params": {"station": "n0", "position_m": [1e9, 0]}}"#,
                "params",
                "position_m",
            ),
            (
                r#"{"id": 1, "method": "set_position", "params": {"station": "n0", "position_m": [1e999, 0]}}"#,
                "parse",
                "range",
            ),
            (
                r#"{"id": 1, "method": "set_position", "params": {"station": "n0", "position_m": [1]}}"#,
                "params",
                "length",
            ),
            (r#"{"id": 1, "method": "set_rate", "params": {"station": "n0", "data_rate_bps": 3}}"#, "params", "rate 3"),
            (
                r#"{"id": 1, "method": "set_rate", "params": {"station": "n0", "to": "n0", "data_rate_bps": 2000000}}"#,
                "params",
                "another station",
            ),
            (r#"{"id": 1, "method": "set_rts_threshold", "params": {"bytes": -1}}"#, "params", "-1"),
            (
                r#"{"id": 1, "method": "set_ranges", "params": {"decode_m": 500, "sense_m": 250}}"#,
                "params",
                "decode_m 500",
            ),
            (
                r#"{"id": 1, "method": "set_propagation", "params": {"propagation": {"kind": "magic"}}}"#,
                "params",
                "magic",
            ),
            (
                r#"{"id": 1, "method": "set_extra_backoff", "params": {"station": "n0", "slots": 65536}}"#,
                "params",
                "65536",
            ),
            (r#"{"id": 1, "method": "subscribe", "params": {"kinds": ["fun"]}}"#, "params", "fun"),
            (r#"{"id": 1, "method": "subscribe", "params": {"kinds": [], "interval_s": 0}}"#, "params", "interval_s 0"),
        ]);
    }

    /// JSON of some depth, with the words of the protocol in it.
    fn values() -> impl Strategy<Value = Value> {
        let words = prop::sample::select(vec!["n0", "n9", "transmit", "range", "two-ray", "", "\u{0}é"]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            prop::sample::select(vec![0u64, 1, 2, 2_000_000, u64::from(u32::MAX)]).prop_map(Value::from),
            words.prop_map(Value::from),
        ];
        let keys = prop::sample::select(vec![
            "station",
            "to",
            "position_m",
            "data_rate_bps",
            "bytes",
            "decode_m",
            "sense_m",
            "propagation",
            "kind",
            "kinds",
            "stations",
            "interval_s",
            "slots",
            "version",
            "capture_db",
            "links",
        ]);
        leaf.prop_recursive(3, 24, 5, move |inner| {
            let fields = prop::collection::vec((keys.clone().prop_map(String::from), inner.clone()), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let (id, request) = read(&bytes, &line(2, 200.0, "ns2"));
            prop_assert!(request.is_ok() || !id.is_array());
        }

        #[test]
        fn any_parameters_are_taken_or_refused_and_what_is_taken_is_in_range(
            method in prop::sample::select(vec![
                "hello", "stats", "set_position", "set_rate", "set_rts_threshold", "set_ranges", "set_propagation",
                "set_extra_backoff", "subscribe", "unsubscribe",
            ]),
            params in values(),
        ) {
            let text = json!({"id": 7, "method": method, "params": params}).to_string();
            match read(text.as_bytes(), &line(2, 200.0, "ns2")).1 {
                Ok(Request::Change(Change::Position { station, position_m })) => {
                    prop_assert!(station < StationId(2) && position_m.iter().all(|metres| metres.abs() <= 1e6));
                }
                Ok(Request::Change(Change::Propagation(wanted))) => prop_assert!(wanted.capture_ratio() >= 1.0),
                Ok(_) => {}
                Err(refusal) => prop_assert!(!refusal.message.contains('\n')),
            }
        }

        #[test]
        fn a_bent_request_never_breaks(at in 0usize..90, byte: u8) {
            let mut text = br#"{"id": 1, "method": "set_position", "params": {"station": "n1", "position_m": [5, -3]}}"#.to_vec();
            let place = at % text.len();
            text[place] = byte;
            let _ = read(&text, &line(2, 200.0, "ns2"));
        }
    }
}
