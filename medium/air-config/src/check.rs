//! How a configuration is refused.

/// Refuses with one line that names the value and what is allowed.
pub(crate) fn check(good: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(message()) }
}
