//! Visits to other network namespaces.

use std::fs::File;
use std::io;
use std::path::Path;

use nix::sched::{CloneFlags, setns};

/// Does `work` inside the network namespace that `path` names (None: the present one). Only the calling thread goes there.
///
/// # Errors
/// That the namespace cannot be entered, as one line; then what `work` returns.
pub fn inside<T>(path: Option<&Path>, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let Some(path) = path else { return work() };
    let told = |what: &str, error: io::Error| {
        format!("{what} network namespace {}: {error}{}", path.display(), advice(&error))
    };
    let home = File::open("/proc/thread-self/ns/net").map_err(|error| told("remembering the own", error))?;
    let there = File::open(path).map_err(|error| told("opening", error))?;
    setns(&there, CloneFlags::CLONE_NEWNET).map_err(|error| told("entering", error.into()))?;
    let result = work();
    setns(&home, CloneFlags::CLONE_NEWNET).map_err(|error| told("coming back from", error.into()))?;
    result
}

fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; run as root",
        Some(libc::ENOENT) => "; `ip netns add NAME` makes /run/netns/NAME",
        Some(libc::EINVAL) => "; that is no network namespace",
        _ => "",
    }
}
