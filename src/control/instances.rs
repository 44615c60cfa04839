//! Finds the running proxies by their control sockets.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::folder::check_private;
use super::{IO_TIMEOUT, LOGS, STATUS};

/// The maximum size of a status.
const MAX_STATUS_BYTES: u64 = 64 << 20;

/// A running proxy.
#[derive(Debug)]
pub struct Instance {
    pub pid: u32,
    socket: PathBuf,
}

impl Instance {
    /// Requests the status. Blocking.
    pub fn status(&self) -> io::Result<Value> {
        self.ask(STATUS)
    }

    /// Requests the last lines that a server wrote to stderr. Blocking.
    pub fn server_log(&self, server: &str) -> io::Result<Value> {
        self.ask(&format!("{LOGS} {server}"))
    }

    fn ask(&self, request: &str) -> io::Result<Value> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        stream.set_write_timeout(Some(IO_TIMEOUT))?;
        stream.write_all(format!("{request}\n").as_bytes())?;
        let mut text = String::new();
        stream.take(MAX_STATUS_BYTES).read_to_string(&mut text)?;
        serde_json::from_str(&text).map_err(io::Error::from)
    }
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
            Ok(_) => found.push(Instance { pid, socket }),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let _ = std::fs::remove_file(&socket);
            }
            Err(_) => {}
        }
    }
    found.sort_by_key(|instance| instance.pid);
    Ok(found)
}
