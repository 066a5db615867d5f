//! How a configuration is refused.

/// Times of a run's plan lie below this: as nanoseconds they fit many times over.
pub(crate) const LONGEST_S: f64 = 1e9;

/// Refuses with one line that names the value and what is allowed.
pub(crate) fn check(good: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(message()) }
}
