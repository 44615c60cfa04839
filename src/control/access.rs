//! Who may use the control socket: the same user and root, but nothing that this proxy has started. A server that is told
//! what to do by a model must not call other servers past the policy that applies to the model.

use std::path::Path;

use tokio::net::UnixStream;

/// More parents than any process has; the table changes while it is read.
const MAX_PARENTS: usize = 1000;

/// Why the process at the other end may not use this proxy; `None` if it may.
pub fn refusal(stream: &UnixStream) -> Option<String> {
    let peer = match stream.peer_cred() {
        Ok(peer) => peer,
        Err(error) => return Some(format!("the process at the other end is not known: {error}")),
    };
    if peer.uid() != rustix::process::getuid().as_raw() && peer.uid() != 0 {
        return Some("only the user who started the proxy may use its control socket".to_owned());
    }
    let own = std::process::id();
    let Some(pid) = peer.pid().and_then(|pid| u32::try_from(pid).ok()) else {
        return Some("the process at the other end is not known".to_owned());
    };
    // Tests of the proxy ask their own process.
    let descends = pid != own && descends(pid, own, |pid| parent(Path::new("/proc"), pid));
    descends.then(|| "processes that this proxy has started may not use its control socket".to_owned())
}

/// Whether a process was started by another one, directly or not.
fn descends(mut pid: u32, ancestor: u32, parent: impl Fn(u32) -> Option<u32>) -> bool {
    for _ in 0..MAX_PARENTS {
        match parent(pid) {
            Some(above) if above == ancestor => return true,
            Some(above) if above > 1 => pid = above,
            _ => return false,
        }
    }
    true
}

/// The parent of a process: the second field after the name, which is in parentheses and may contain some.
fn parent(table: &Path, pid: u32) -> Option<u32> {
    let line = std::fs::read_to_string(table.join(pid.to_string()).join("stat")).ok()?;
    line.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descendant_is_known_by_its_parents() {
        let table = |pid| {
            [(9, 7), (7, 5), (5, 1), (8, 5), (3, 3)]
                .into_iter()
                .find(|(child, _)| *child == pid)
                .map(|(_, above)| above)
        };
        assert!(descends(9, 7, table) && descends(9, 5, table) && descends(8, 5, table));
        assert!(!descends(8, 7, table) && !descends(5, 9, table));
        assert!(descends(3, 4, table), "a circle is not trusted");
    }

    #[test]
    fn a_name_with_parentheses_does_not_hide_the_parent() {
        let folder = std::env::temp_dir().join(format!("proxy-stat-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("7")).unwrap();
        std::fs::write(folder.join("7/stat"), "7 (a) S 1 (b) R 42 7 7 0 -1").unwrap();
        assert_eq!(parent(&folder, 7), Some(42));
        assert_eq!(parent(&folder, 8), None);
        std::fs::remove_dir_all(folder).unwrap();
        let own = std::process::id();
        assert_eq!(parent(Path::new("/proc"), own), Some(std::os::unix::process::parent_id()));
    }
}
