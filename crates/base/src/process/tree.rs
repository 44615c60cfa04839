//! The process tree from `/proc`: finds descendants that have left their process group.

use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, Signal, kill_process};

/// A process. The start time distinguishes it from a later process with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessEntry {
    id: i32,
    parent: i32,
    group: i32,
    pub(super) started: u64,
    /// The processor time of the process and of the children that it has waited for, in clock ticks.
    ticks: u64,
}

impl ProcessEntry {
    pub(super) fn id(&self) -> i32 {
        self.id
    }

    /// Whether both entries are of one process.
    pub(super) fn is_same_as(&self, other: &ProcessEntry) -> bool {
        self.id == other.id && self.started == other.started
    }

    pub(super) fn is_in_group(&self, group: Option<Pid>) -> bool {
        group.is_some_and(|group| group.as_raw_nonzero().get() == self.group)
    }

    /// The processor time of the process and of the children that it has waited for.
    pub(super) fn processor_time(&self) -> Duration {
        Duration::from_secs_f64(self.ticks as f64 / clock_ticks_per_second().max(1) as f64)
    }
}

/// Every present descendant of `root`. Empty on systems without `/proc`.
pub(super) fn descendants(root: Pid) -> Vec<ProcessEntry> {
    running_descendants(&processes(), Some(root), &[])
}

/// The processes of `known` that still run, and all descendants in `all` of them and of `root`.
pub(super) fn running_descendants(
    all: &[ProcessEntry],
    root: Option<Pid>,
    known: &[ProcessEntry],
) -> Vec<ProcessEntry> {
    let is_known = |now: &&ProcessEntry| known.iter().any(|then| then.is_same_as(now));
    let mut running: Vec<ProcessEntry> = all.iter().filter(is_known).copied().collect();
    let mut parents: Vec<i32> = running.iter().map(|process| process.id).collect();
    parents.extend(root.map(|root| root.as_raw_nonzero().get()));
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            if !running.contains(process) {
                parents.push(process.id);
                running.push(*process);
            }
        }
    }
    running
}

/// Signals the processes, except those whose number another process has by now.
pub(super) fn signal(running_descendants: &[ProcessEntry], signal: Signal) {
    for process in running_descendants {
        if read(process.id).is_some_and(|now| now.started == process.started)
            && let Some(id) = Pid::from_raw(process.id)
        {
            // The process may exit between the check and the signal; that is no error.
            let _ = kill_process(id, signal);
        }
    }
}

/// Every process with this variable (`NAME=VALUE`) in its initial environment.
pub(super) fn marked(variable: &str) -> Vec<ProcessEntry> {
    let has = |process: &ProcessEntry| {
        let environment = std::fs::read(format!("/proc/{}/environ", process.id)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    };
    processes().into_iter().filter(has).collect()
}

pub(super) fn processes() -> Vec<ProcessEntry> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(read).collect()
}

pub(super) fn read(id: i32) -> Option<ProcessEntry> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The command name in parentheses may contain spaces and parentheses; the other fields follow the last one.
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(ProcessEntry {
        id,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        started: number(19)?,
        ticks: (11..=14).filter_map(number).sum(),
    })
}
