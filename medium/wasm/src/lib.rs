//! The simulator as a WebAssembly module without imports: an air configuration in, a result out (`medium/README.md`).
//!
//! ```text
//!   page                                   module
//!   at = take(length); write UTF-8 there
//!   answer = run(at, length)               consumes the text; answer points to: u32 length (little-endian), UTF-8 JSON
//!   read it; give_back(answer, 4 + length)
//! ```
//!
//! The answer is `{"result": {...}}` or `{"error": "one line"}`. Everything that decides an event is computed in software
//! (`libm`), so that a page gets the bytes that the native engine gives.

use std::ops::ControlFlow;

use pacelab_air_config::Config;
use pacelab_network::Network;
use serde_json::json;

/// Runs an air configuration. Schemes need Python and are not here: a configuration runs without hooks.
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

/// What a page calls.
#[allow(unsafe_code)]
pub mod door {
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
        let text = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) };
        let answer = super::answer(&String::from_utf8_lossy(&text));
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
    fn text_goes_in_and_out_through_the_door() {
        let at = door::take(2);
        #[allow(unsafe_code)]
        // SAFETY: as a page does it.
        let text = unsafe {
            std::ptr::copy_nonoverlapping(b"{}".as_ptr(), at, 2);
            let out = door::run(at, 2);
            let length = u32::from_le_bytes([*out, *out.add(1), *out.add(2), *out.add(3)]) as usize;
            let text = String::from_utf8_lossy(std::slice::from_raw_parts(out.add(4), length)).into_owned();
            door::give_back(out, 4 + length);
            text
        };
        assert_eq!(text, answer("{}"));
    }
}
