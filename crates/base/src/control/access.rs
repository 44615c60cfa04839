//! Access check for the control socket: only the same user and root are admitted, and no process that a proxy started. A
//! server that acts on a model's instructions must not be able to call other servers around the model's policy.

use std::path::Path;

use tokio::net::UnixStream;

/// More parents than any process has; the table changes while it is read.
const MAX_PARENTS: usize = 1000;

/// The reason to refuse the connecting process; `None` if it may use this proxy. `folder` contains the sockets of all
/// proxies, because processes started by another proxy are refused as well. `mark` is an environment variable that all
/// processes started by proxies have.
pub fn refusal(stream: &UnixStream, folder: &Path, mark: &str) -> Option<String> {
    let peer = match stream.peer_cred() {
        Ok(peer) => peer,
        Err(error) => return Some(format!("cannot identify the connecting process: {error}")),
    };
    if peer.uid() != rustix::process::getuid().as_raw() && peer.uid() != 0 {
        return Some("only the user who started the proxy may use its control socket".to_owned());
    }
    let (own, table) = (std::process::id(), Path::new("/proc"));
    let Some(pid) = peer.pid().and_then(|pid| u32::try_from(pid).ok()) else {
        return Some("cannot identify the connecting process".to_owned());
    };
    // Systems without this table do not tell who started a process. Tests of the proxy ask their own process.
    if !table.join("self").exists() || pid == own {
        return None;
    }
    let proxies: Vec<u32> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".sock")?.parse().ok())
        .chain([own])
        .collect();
    let descends = is_marked(table, pid, mark) || descends(pid, &proxies, |pid| parent(table, pid));
    descends.then(|| "processes that a proxy has started may not use its control socket".to_owned())
}

/// Whether a process has the variable in its environment. One that cannot be read counts as marked: it may have exited and
/// left its connection to another.
fn is_marked(table: &Path, pid: u32, mark: &str) -> bool {
    let name = format!("{mark}=");
    std::fs::read(table.join(pid.to_string()).join("environ"))
        .map_or(true, |environment| environment.split(|byte| *byte == 0).any(|one| one.starts_with(name.as_bytes())))
}

/// Whether a process was started by one of these proxies, directly or indirectly. A process that has exited counts as one.
fn descends(mut pid: u32, proxies: &[u32], parent: impl Fn(u32) -> Option<u32>) -> bool {
    for _ in 0..MAX_PARENTS {
        match parent(pid) {
            Some(above) if proxies.contains(&above) => return true,
            Some(above) if above > 1 => pid = above,
            Some(_) => return false,
            None => return true,
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
        assert!(descends(9, &[7], table) && descends(9, &[5], table) && descends(8, &[2, 5], table));
        assert!(!descends(8, &[7], table) && !descends(5, &[9], table));
        assert!(descends(3, &[4], table), "a circle is not trusted");
        assert!(descends(2, &[4], table), "nor is a process that is gone");
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
