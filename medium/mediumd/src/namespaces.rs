//! Network namespaces: work inside another one, and a list of all of them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sched::{CloneFlags, setns};

/// The namespace of the calling thread.
const PRESENT: &str = "/proc/thread-self/ns/net";

/// Does `work` inside the network namespace at `path` (None: the present one). Only the calling thread enters it.
///
/// # Errors
/// The namespace cannot be entered, or `work` fails. The message is one line.
pub fn inside<T>(path: Option<&Path>, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let Some(path) = path else { return work() };
    let describe = |what: &str, error: io::Error| {
        format!("{what} network namespace {}: {error}{}", path.display(), entry_advice(&error))
    };
    let home = File::open(PRESENT).map_err(|error| describe("remembering the own", error))?;
    let there = File::open(path).map_err(|error| describe("opening", error))?;
    setns(&there, CloneFlags::CLONE_NEWNET).map_err(|error| describe("entering", error.into()))?;
    let result = work();
    setns(&home, CloneFlags::CLONE_NEWNET).map_err(|error| describe("coming back from", error.into()))?;
    result
}

fn entry_advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; run as root",
        Some(libc::ENOENT) => "; `ip netns add NAME` makes /run/netns/NAME",
        Some(libc::EINVAL) => "; that is no network namespace",
        _ => "",
    }
}

/// The network namespace of the process or file at `path`, as a number.
pub fn number(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|namespace| namespace.ino())
}

/// The numbers of all processes.
pub fn processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// One path to each network namespace that a process or a name in /run/netns keeps, as far as this process may read
/// them. The present namespace is the path None.
pub fn all() -> Vec<Option<PathBuf>> {
    let names = fs::read_dir("/run/netns").into_iter().flatten().flatten().map(|entry| entry.path());
    let places = processes().into_iter().map(|pid| PathBuf::from(format!("/proc/{pid}/ns/net"))).chain(names);
    let mut seen: BTreeSet<u64> = number(Path::new(PRESENT)).into_iter().collect();
    let others = places.filter(|place| number(place).is_some_and(|number| seen.insert(number)));
    std::iter::once(None).chain(others.map(Some)).collect()
}
