//! Linux restrictions for a process that needs only memory, its socket and exit.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    Scope,
};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Denies this thread, and the threads and processes it starts, to open files and to use the network (Landlock). Returns
/// whether the kernel enforces it. Kernels before 6.7 do so for files only; the system call filter remains for the rest.
pub(super) fn deny_files_and_network() -> bool {
    deny_files_but(None)
}

/// The same, but files and folders below this one can be read.
pub(in crate::sandbox) fn deny_files_but(readable: Option<&Path>) -> bool {
    let restricted = restrict(readable);
    restricted.is_ok_and(|status| status.ruleset != landlock::RulesetStatus::NotEnforced)
}

fn restrict(readable: Option<&Path>) -> Result<RestrictionStatus, Box<dyn Error>> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V5))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?;
    if let Some(folder) = readable {
        let access = AccessFs::ReadFile | AccessFs::ReadDir;
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(folder)?, access))?;
    }
    Ok(ruleset.restrict_self()?)
}

/// Keeps this process off half of the processors, which are left to the proxy. A low priority alone is not enough: if
/// scripts compute on all processors, a thread of the proxy that wakes up may wait for the next scheduler tick, which is
/// milliseconds.
pub(super) fn use_half_of_the_processors() {
    // With one processor, or without the right to choose, only the priority remains.
    let _ = sched_getaffinity(None).map(|allowed| {
        let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number)).collect();
        let mut half = CpuSet::new();
        for number in &numbers[numbers.len() / 2..] {
            half.set(*number);
        }
        sched_setaffinity(None, &half)
    });
}

/// Allows every thread of this process to compute, to allocate, and to use the descriptors it has; all other system calls
/// fail (seccomp). Returns whether the kernel enforces it; if it does not, the resource limits and the empty environment
/// remain.
pub(super) fn filter_system_calls() -> bool {
    filter().is_ok_and(|program| seccompiler::apply_filter_all_threads(&program).is_ok())
}

fn filter() -> Result<BpfProgram, BackendError> {
    program(ALLOWED.iter().map(|number| (*number, Vec::new())).collect())
}

/// A filter that allows these system calls, under the conditions that they have, and denies all others.
pub(in crate::sandbox) fn program(mut rules: BTreeMap<i64, Vec<SeccompRule>>) -> Result<BpfProgram, BackendError> {
    // `abort` signals its own process; no other process may be signalled.
    let own = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, u64::from(std::process::id()))?;
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![own])?]);
    let denied = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(rules, denied, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// What a process needs to compute, and to use the descriptors it has.
pub(in crate::sandbox) const ALLOWED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_futex,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
