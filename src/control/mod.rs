//! The control socket of a running proxy, for `proxy status` and `proxy logs`. Only the same user can access it.

mod folder;
mod instances;

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

pub use folder::folder;
pub use instances::{Instance, instances};

/// The request for the status: a line with this word.
const STATUS: &str = "status";
/// The request for the last lines of a server: a line with this word and the name of the server.
const LOGS: &str = "logs";
/// Timeout for a request and its response.
const IO_TIMEOUT: Duration = Duration::from_secs(5);

/// Creates the response to a request.
pub type StatusProvider = Arc<dyn Fn() -> Value + Send + Sync>;
/// Creates the response to a request for the lines of a server.
pub type LogsProvider = Arc<dyn Fn(&str) -> Value + Send + Sync>;

/// A listening control socket. Dropping it removes the socket.
pub struct Control {
    path: PathBuf,
    serving: JoinHandle<()>,
}

impl Control {
    /// Listens on a socket in this folder that is named after the process ID.
    pub fn listen(folder: &std::path::Path, status: StatusProvider, logs: LogsProvider) -> io::Result<Self> {
        folder::create_private(folder)?;
        // Removes the sockets of proxies that were killed.
        instances(folder)?;
        let path = folder.join(format!("{}.sock", std::process::id()));
        // An earlier process may have had the same ID.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Control { path, serving: tokio::spawn(serve(listener, status, logs)) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.serving.abort();
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn serve(listener: UnixListener, status: StatusProvider, logs: LogsProvider) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (status, logs) = (Arc::clone(&status), Arc::clone(&logs));
                tokio::spawn(async move {
                    let responded = tokio::time::timeout(IO_TIMEOUT, respond(stream, &status, &logs)).await;
                    if let Ok(Err(error)) = responded {
                        tracing::debug!(%error, "a status request failed");
                    }
                });
            }
            Err(error) => {
                tracing::debug!(%error, "the control socket cannot accept a connection");
                // Most likely too many open files: an immediate retry would busy-loop.
                tokio::time::sleep(IO_TIMEOUT).await;
            }
        }
    }
}

async fn respond(mut stream: UnixStream, status: &StatusProvider, logs: &LogsProvider) -> io::Result<()> {
    let peer = stream.peer_cred()?.uid();
    if peer != rustix::process::getuid().as_raw() && peer != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let (read, mut write) = stream.split();
    let mut line = String::new();
    BufReader::new(read).take(512).read_line(&mut line).await?;
    let text = match line.trim_end_matches('\n').split_once(' ') {
        None if line.trim() == STATUS => status().to_string(),
        Some((LOGS, server)) => logs(server).to_string(),
        _ => serde_json::json!({"error": format!("unknown request; requests are `{STATUS}` and `{LOGS} SERVER`")})
            .to_string(),
    };
    write.write_all(text.as_bytes()).await?;
    write.shutdown().await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_status_request_is_answered_and_stale_sockets_are_removed() {
        let folder = std::env::temp_dir().join(format!("proxy-control-{}", std::process::id()));
        let control =
            Control::listen(&folder, Arc::new(|| json!({"how": "well"})), Arc::new(|name| json!(name))).unwrap();
        let socket = control.path.clone();
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
        // A socket without a listener.
        drop(std::os::unix::net::UnixListener::bind(folder.join("4194304.sock")).unwrap());
        let asked = folder.clone();
        let answers = tokio::task::spawn_blocking(move || {
            let found = instances(&asked).unwrap();
            found
                .iter()
                .map(|instance| (instance.pid, instance.status().unwrap(), instance.server_log("a b").unwrap()))
                .collect::<Vec<_>>()
        });
        assert_eq!(answers.await.unwrap(), [(std::process::id(), json!({"how": "well"}), json!("a b"))]);
        assert!(!folder.join("4194304.sock").exists());
        drop(control);
        assert!(!socket.exists());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_others_can_write_is_not_used() {
        let folder = std::env::temp_dir().join(format!("proxy-control-open-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        let error = folder::create_private(&folder).unwrap_err();
        assert!(error.to_string().contains("other users can access"), "{error}");
        // Nor is anybody in it believed.
        let socket = std::os::unix::net::UnixListener::bind(folder.join("1.sock")).unwrap();
        assert!(instances(&folder).unwrap_err().to_string().contains("other users can access"));
        drop(socket);
        std::fs::remove_file(folder.join("1.sock")).unwrap();
        let missing = folder.join("missing");
        assert_eq!(instances(&missing).unwrap().len(), 0);
        std::os::unix::fs::symlink("/root", &missing).unwrap();
        assert!(instances(&missing).unwrap_err().to_string().contains("is not a folder of this user"));
        std::fs::remove_file(missing).unwrap();
        std::fs::remove_dir(folder).unwrap();
    }
}
