//! The way to ask a running proxy how it is: a socket of its own for each, which only the same user can reach.

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

/// What is asked, in one line; nothing else can be asked.
const STATUS: &str = "status";
/// Nobody needs longer for a line on a socket of this machine.
const IO_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes the answer anew for everybody who asks.
pub type Answer = Arc<dyn Fn() -> Value + Send + Sync>;

/// An open socket; it is gone when this is dropped.
pub struct Control {
    path: PathBuf,
    serving: JoinHandle<()>,
}

impl Control {
    /// Listens in this folder under the process's own number.
    pub fn listen(folder: &std::path::Path, answer: Answer) -> io::Result<Self> {
        folder::create_private(folder)?;
        // What processes that were killed have left.
        instances(folder);
        let path = folder.join(format!("{}.sock", std::process::id()));
        // A process of the same number may have been here before.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Control { path, serving: tokio::spawn(serve(listener, answer)) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.serving.abort();
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn serve(listener: UnixListener, answer: Answer) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let answer = Arc::clone(&answer);
                tokio::spawn(async move {
                    let responded = tokio::time::timeout(IO_TIMEOUT, respond(stream, &answer)).await;
                    if let Ok(Err(error)) = responded {
                        tracing::debug!(%error, "somebody who asked for the status got no answer");
                    }
                });
            }
            Err(error) => {
                tracing::debug!(%error, "the control socket");
                // Too many open files, most likely: trying at once would only burn time.
                tokio::time::sleep(IO_TIMEOUT).await;
            }
        }
    }
}

async fn respond(mut stream: UnixStream, answer: &Answer) -> io::Result<()> {
    let peer = stream.peer_cred()?.uid();
    if peer != rustix::process::getuid().as_raw() && peer != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let (read, mut write) = stream.split();
    let mut line = String::new();
    BufReader::new(read).take(64).read_line(&mut line).await?;
    let text = match line.trim() {
        STATUS => answer().to_string(),
        _ => serde_json::json!({"error": format!("only `{STATUS}` can be asked")}).to_string(),
    };
    write.write_all(text.as_bytes()).await?;
    write.shutdown().await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn who_asks_is_answered_and_nothing_is_left_behind() {
        let folder = std::env::temp_dir().join(format!("proxy-control-{}", std::process::id()));
        let control = Control::listen(&folder, Arc::new(|| json!({"how": "well"}))).unwrap();
        let socket = control.path.clone();
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
        // One that nobody listens on any more.
        drop(std::os::unix::net::UnixListener::bind(folder.join("4194304.sock")).unwrap());
        let asked = folder.clone();
        let answers = tokio::task::spawn_blocking(move || {
            let found = instances(&asked);
            found.iter().map(|instance| (instance.pid, instance.status().unwrap())).collect::<Vec<_>>()
        });
        assert_eq!(answers.await.unwrap(), [(std::process::id(), json!({"how": "well"}))]);
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
        assert!(error.to_string().contains("others can reach"), "{error}");
        std::fs::remove_dir(folder).unwrap();
    }
}
