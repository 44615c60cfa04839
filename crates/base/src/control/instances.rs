//! Finds the running proxies by their control sockets.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::folder::check_private;

/// A running proxy.
#[derive(Clone, Debug)]
pub struct Instance {
    pub pid: u32,
    pub socket: PathBuf,
    /// When it began to listen.
    pub since: SystemTime,
}

/// All running proxies, by process ID; none if the folder does not exist. Removes the sockets of proxies that have exited.
/// Fails if the folder is not private. Blocking.
pub fn instances(folder: &Path) -> io::Result<Vec<Instance>> {
    match check_private(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        checked => checked?,
    }
    let entries: Vec<_> = std::fs::read_dir(folder)?.flatten().collect();
    let mut found: Vec<Instance> = Vec::new();
    for entry in entries {
        let socket = entry.path();
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".sock")).and_then(|pid| pid.parse().ok());
        let Some(pid) = number else { continue };
        match UnixStream::connect(&socket) {
            Ok(_) => {
                let since = entry.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
                found.push(Instance { pid, socket, since });
            }
            // A process that is there may be about to listen.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && !is_alive(pid) => {
                let _ = std::fs::remove_file(&socket);
            }
            Err(_) => {}
        }
    }
    found.sort_by_key(|instance| instance.pid);
    Ok(found)
}

/// Whether there is a process with this ID.
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
