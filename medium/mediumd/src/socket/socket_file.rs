//! The socket's file: made with tight permissions, never taken from a living mediumd, removed at a clean end.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, umask};
use nix::unistd::{Group, chown};

/// sun_path less the final zero, unix(7). An empty one would be a socket that nobody finds.
const PATH_BYTES_MAX: usize = 107;

/// A listening socket and its file.
#[derive(Debug)]
pub struct SocketFile {
    /// Accepts clients.
    pub listener: UnixListener,
    /// Where it is.
    pub path: PathBuf,
}

impl SocketFile {
    /// Listens at `path`, for root alone or for `group` too. Call while there is one thread: the umask is the process's.
    ///
    /// # Errors
    /// One line.
    pub fn listen(path: &Path, group: Option<&str>) -> Result<Self, String> {
        let told = |what: String| format!("socket {}: {what}", path.display());
        let bytes = path.as_os_str().len();
        if !(1..=PATH_BYTES_MAX).contains(&bytes) {
            return Err(told(format!("a path of {bytes} bytes; allowed are 1 to {PATH_BYTES_MAX}")));
        }
        let group = group.map(|name| match Group::from_name(name) {
            Ok(Some(group)) => Ok(group.gid),
            Ok(None) => Err(told(format!("there is no group {name:?}; try: groupadd {name}"))),
            Err(error) => Err(told(format!("looking for group {name:?}: {error}"))),
        });
        let group = group.transpose()?;
        remove_stale(path).map_err(told)?;
        let before = umask(Mode::from_bits_truncate(0o177));
        let listener = UnixListener::bind(path);
        umask(before);
        let listener = listener.map_err(|error| match error.kind() {
            ErrorKind::NotFound => told("its folder is missing: make it first".into()),
            _ => told(error.to_string()),
        })?;
        let socket = SocketFile { listener, path: path.into() };
        socket.listener.set_nonblocking(true).map_err(|error| told(error.to_string()))?;
        if let Some(group) = group {
            chown(path, None, Some(group)).map_err(|error| told(format!("giving it to the group: {error}")))?;
            let mode = Permissions::from_mode(0o660);
            fs::set_permissions(path, mode).map_err(|error| told(format!("opening it to the group: {error}")))?;
        }
        Ok(socket)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path); // it may be gone already, with its folder
    }
}

fn remove_stale(path: &Path) -> Result<(), String> {
    let kind = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.to_string()),
        Ok(metadata) => metadata.file_type(),
    };
    if !kind.is_socket() {
        return Err("there is something else of this name".into());
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|error| format!("removing a stale one: {error}"))
        }
        Err(error) => Err(error.to_string()),
        Ok(_) => Err("in use by a process that answers".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_file_is_replaced_and_a_living_one_is_not() {
        let folder = std::env::temp_dir().join(format!("mediumd-test-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let path = folder.join("s");
        let socket = SocketFile::listen(&path, None).expect("listening");
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        assert!(SocketFile::listen(&path, None).expect_err("in use").contains("in use"));
        drop(socket);
        assert!(!path.exists());
        drop(UnixListener::bind(&path).expect("a stale one"));
        assert!(path.exists());
        drop(SocketFile::listen(&path, None).expect("replacing"));
        fs::write(&path, "text").expect("a file");
        assert!(SocketFile::listen(&path, None).expect_err("a file").contains("something else"));
        let long = folder.join("a".repeat(108));
        for path in [Path::new(""), &long] {
            assert!(SocketFile::listen(path, None).expect_err("a length").contains("allowed are 1 to 107"));
        }
        assert!(SocketFile::listen(&folder.join("no/s"), None).expect_err("no folder").contains("folder is missing"));
        fs::remove_dir_all(&folder).expect("removing");
    }
}
