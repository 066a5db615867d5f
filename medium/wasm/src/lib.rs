//! The simulator as a WebAssembly module without imports: an air configuration in, a result out (`medium/README.md`).
//!
//! ```text
//!   page                                   module
//!   at = take(length); write UTF-8 there
//!   answer = run(at, length)               consumes the text; answer points to: u32 length (little-endian), UTF-8 JSON
//!   read it; give_back(answer, 4 + length)
//! ```
//!
//! `places` is called like `run` and returns the positions of the moving nodes: `{"step_s": 0.1, "places": {"0": [[x,
//! y], ...]}}`.
//!
//! The answer is `{"result": {...}}` or `{"error": "one line"}`. Everything that decides an event is computed in
//! software (`libm`), so that a page gets the bytes that the native engine gives.

use std::ops::ControlFlow;

use pacelab_air_config::{Config, ns_from_s};
use pacelab_network::Network;
use pacelab_network::network::motion;
use serde_json::json;

/// Maximum number of positions per node for a page.
const MOST_PLACES: u64 = 1000;

/// Runs an air configuration without hooks, because schemes need Python.
pub fn answer(config_json: &str) -> String {
    let ran = Config::from_json(config_json).and_then(|config| Network::new(config, Vec::new())).map(|mut network| {
        network.run(&mut |_| ControlFlow::Continue(()));
        network.report()
    });
    match ran {
        Ok(result) => json!({"result": result}).to_string(),
        Err(message) => json!({"error": message}).to_string(),
    }
}

/// Positions of the moving nodes of an air configuration during a run.
pub fn positions(config_json: &str) -> String {
    let found = Config::from_json(config_json).map(|config| {
        let step = motion::STEP_NS.max(ns_from_s(config.duration_s).div_ceil(MOST_PLACES));
        json!({"step_s": step as f64 / 1e9, "places": motion::places(&config, step)})
    });
    match found {
        Ok(result) => json!({"result": result}).to_string(),
        Err(message) => json!({"error": message}).to_string(),
    }
}

/// The functions that a page calls.
#[allow(unsafe_code)]
pub mod exports {
    /// Room for `length` octets.
    #[unsafe(no_mangle)]
    pub extern "C" fn take(length: usize) -> *mut u8 {
        Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
    }

    /// Runs the configuration at `at`.
    ///
    /// # Safety
    /// `at` is from `take(length)` and is not used again.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn run(at: *mut u8, length: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { asked(at, length, super::answer) }
    }

    /// Finds the places of the configuration at `at`.
    ///
    /// # Safety
    /// `at` is from `take(length)` and is not used again.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn places(at: *mut u8, length: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { asked(at, length, super::positions) }
    }

    /// The answer to the text at `at`.
    unsafe fn asked(at: *mut u8, length: usize, answer: fn(&str) -> String) -> *mut u8 {
        // SAFETY: the caller's promise.
        let text = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) };
        let answer = answer(&String::from_utf8_lossy(&text));
        let mut out = (answer.len() as u32).to_le_bytes().to_vec();
        out.extend_from_slice(answer.as_bytes());
        Box::into_raw(out.into_boxed_slice()).cast()
    }

    /// Frees an answer.
    ///
    /// # Safety
    /// `at` is from `run`, `length` is all of it, and it is not used again.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn give_back(at: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_configuration_is_answered_with_one_line() {
        let answer = answer("{}");
        assert!(answer.starts_with("{\"error\":\""), "{answer}");
    }

    #[test]
    fn who_moves_is_where_the_engine_has_it_every_step() {
        // From (0, 50) at 1 s to (100, 50) at 2 s, of three seconds: 10 m each step on the way.
        let radio = r#"{"preset": "ns2", "basic_rate_bps": 1000000, "data_rate_bps": 2000000, "rts_threshold_bytes": 0,
            "short_retry_limit": 7, "long_retry_limit": 4, "queue_pkts": 50, "mac_ack_rate": "basic",
            "propagation": {"kind": "range", "decode_m": 250.0, "sense_m": 550.0, "capture_db": 10.0}}"#;
        let walk = |duration_s: f64| {
            format!(
                r#"{{"version": 1, "seed": 1, "duration_s": {duration_s:?}, "warmup_s": 0.0, "series_interval_s": 1.0,
                    "tap": false, "radio": {radio}, "headers": "real", "wired": [], "routing": "aodv", "flows": [],
                    "nodes": [{{"name": "a", "wireless": true, "position_m": [9.0, 9.0]}},
                              {{"name": "b", "wireless": true, "position_m": [0.0, 50.0]}}],
                    "moves": [[1, 1.0, 0.0, 50.0], [1, 2.0, 100.0, 50.0]]}}"#
            )
        };
        let read = |text: &str| -> serde_json::Value { serde_json::from_str(text).unwrap() };
        let found = read(&positions(&walk(3.0)));
        assert_eq!(found["result"]["step_s"], 0.1);
        let places = found["result"]["places"].as_object().unwrap();
        assert_eq!(places.keys().collect::<Vec<_>>(), ["1"]);
        let x: Vec<f64> = places["1"].as_array().unwrap().iter().map(|place| place[0].as_f64().unwrap()).collect();
        assert_eq!(x.len(), 31);
        let far = |step: usize, wanted: f64| (x[step] - wanted).abs() < 1e-9;
        assert!(far(0, 0.0) && far(10, 0.0) && far(13, 30.0) && far(20, 100.0) && far(30, 100.0), "{x:?}");
        // A long run's places are further apart.
        let found = read(&positions(&walk(3600.0)));
        assert_eq!(found["result"]["step_s"], 3.6);
        assert_eq!(found["result"]["places"]["1"].as_array().unwrap().len(), 1001);
        assert!(positions("{}").starts_with("{\"error\":\""));
    }

    #[test]
    fn text_goes_in_and_out_through_the_door() {
        let at = exports::take(2);
        #[allow(unsafe_code)]
        // SAFETY: as a page does it.
        let text = unsafe {
            std::ptr::copy_nonoverlapping(b"{}".as_ptr(), at, 2);
            let out = exports::run(at, 2);
            let length = u32::from_le_bytes([*out, *out.add(1), *out.add(2), *out.add(3)]) as usize;
            let text = String::from_utf8_lossy(std::slice::from_raw_parts(out.add(4), length)).into_owned();
            exports::give_back(out, 4 + length);
            text
        };
        assert_eq!(text, answer("{}"));
    }
}
