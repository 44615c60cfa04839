//! The control socket of a running proxy: where it is, and who may use it.

mod access;
mod folder;
mod instances;

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

pub use access::refusal;
pub use folder::folder;
pub use instances::{Instance, instances};

/// The path of a listening control socket. Dropping it removes the socket.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
}

impl ControlSocket {
    /// Listens on a socket in this folder that is named after the process ID.
    pub fn listen(folder: &Path) -> io::Result<(Self, UnixListener)> {
        folder::create_private(folder)?;
        // Removes the sockets of proxies that were killed.
        instances(folder)?;
        let path = folder.join(format!("{}.sock", std::process::id()));
        // An earlier process may have had the same ID.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        let socket = ControlSocket { path };
        std::fs::set_permissions(&socket.path, std::fs::Permissions::from_mode(0o600))?;
        Ok((socket, listener))
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_found_until_it_is_dropped_and_stale_sockets_are_removed() {
        let folder = std::env::temp_dir().join(format!("proxy-control-{}", std::process::id()));
        let (control, listener) = ControlSocket::listen(&folder).unwrap();
        let socket = control.path.clone();
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
        // A socket without a listener.
        drop(std::os::unix::net::UnixListener::bind(folder.join("4194304.sock")).unwrap());
        let found = instances(&folder).unwrap();
        assert_eq!(found.iter().map(|instance| instance.pid).collect::<Vec<_>>(), [std::process::id()]);
        assert!(!folder.join("4194304.sock").exists());
        drop((control, listener));
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
