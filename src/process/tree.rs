//! Descendants that left their process group, found by parentage.

use rustix::process::{Pid, Signal, kill_process};

/// A process, told apart from a later one of the same number by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    id: i32,
    parent: i32,
    pub(super) started: u64,
}

/// Every process below `root`, at this moment. Empty where there is no `/proc`.
pub(super) fn descendants(root: Pid) -> Vec<Process> {
    family(&processes(), Some(root), &[])
}

/// Those of `known` that still live, and every process of `all` below them or `root`.
pub(super) fn family(all: &[Process], root: Option<Pid>, known: &[Process]) -> Vec<Process> {
    let is_known = |now: &&Process| known.iter().any(|then| then.id == now.id && then.started == now.started);
    let mut family: Vec<Process> = all.iter().filter(is_known).copied().collect();
    let mut parents: Vec<i32> = family.iter().map(|process| process.id).collect();
    parents.extend(root.map(|root| root.as_raw_nonzero().get()));
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            if !family.contains(process) {
                parents.push(process.id);
                family.push(*process);
            }
        }
    }
    family
}

/// Signals those that are still the processes they were.
pub(super) fn signal(family: &[Process], signal: Signal) {
    for process in family {
        if read(process.id).is_some_and(|now| now.started == process.started)
            && let Some(id) = Pid::from_raw(process.id)
        {
            // It may end between the look and the signal; then there is nothing to do.
            let _ = kill_process(id, signal);
        }
    }
}

/// Every process that has this variable, `NAME=VALUE`, in the environment it was started with.
pub(super) fn marked(variable: &str) -> Vec<Process> {
    let has = |process: &Process| {
        let environment = std::fs::read(format!("/proc/{}/environ", process.id)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    };
    processes().into_iter().filter(has).collect()
}

pub(super) fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(read).collect()
}

pub(super) fn read(id: i32) -> Option<Process> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in brackets, may hold anything; the fields are counted behind it.
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
    Some(Process { id, parent: fields.get(1)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
}
