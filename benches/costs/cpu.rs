//! CPU time and memory of a process, and of all processes that the proxy consists of.

use std::{env, fs};

/// What the kernel says about a process. Times are seconds, of the user and the system.
struct Stat {
    parent: u32,
    own: f64,
    ended_children: f64,
}

impl Stat {
    /// None if the process is gone.
    fn of(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
        let field = |number: usize| fields.get(number)?.parse::<u32>().ok();
        let seconds = |first: usize| Some(f64::from(field(first)? + field(first + 1)?) / 100.0);
        Some(Stat { parent: field(1)?, own: seconds(11)?, ended_children: seconds(13)? })
    }
}

/// CPU time so far, in seconds, all threads, without children.
pub fn seconds(pid: u32) -> f64 {
    Stat::of(pid).unwrap().own
}

/// The same, exact to the nanosecond; without threads that have ended.
pub fn seconds_of_threads(pid: u32) -> f64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// Resident memory in MB.
pub fn resident(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

/// A process and its descendants, without the counterparts that this program plays.
fn tree(root: u32) -> Vec<u32> {
    let me = env::current_exe().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let parents: Vec<(u32, u32)> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, Stat::of(pid)?.parent)))
        .collect();
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(parent) = tree.get(next).copied() {
        let children = parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid);
        tree.extend(children.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe != me)));
        next += 1;
    }
    tree
}

/// CPU time so far, in seconds, of a process and all that it has started.
pub fn tree_seconds(root: u32) -> f64 {
    tree(root).into_iter().filter_map(Stat::of).map(|stat| stat.own + stat.ended_children).sum()
}

/// Memory in MB of a process and all that it has started. What several processes share counts once (PSS).
pub fn tree_memory(root: u32) -> f64 {
    let of = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("Pss:"))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    tree(root).into_iter().filter_map(of).sum::<f64>() / 1024.0
}
