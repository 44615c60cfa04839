//! What Linux can do to hold a process: it needs nothing of the system but memory, its pipe and its own end.

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, Scope};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// No file can be opened and no port connected, from this thread and those it starts. Does nothing where the kernel
/// cannot.
pub(super) fn without_files_and_network() {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V5))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V5)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create);
    // A kernel without it has the filter below all the same.
    let _ = ruleset.and_then(landlock::RulesetCreated::restrict_self);
}

/// Leaves processors to those who serve clients. A low priority alone is not enough: whoever wakes up while all of them
/// compute for scripts may still wait for the next tick of the clock, which is milliseconds.
pub(super) fn on_half_of_the_processors() {
    // With one processor, or where one may not choose, priority is all there is.
    let _ = sched_getaffinity(None).map(|allowed| {
        let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number)).collect();
        let mut half = CpuSet::new();
        for number in &numbers[numbers.len() / 2..] {
            half.set(*number);
        }
        sched_setaffinity(None, &half)
    });
}

/// From here on every thread computes, allocates, and talks over descriptors it has; all else is refused.
pub(super) fn few_calls_only() {
    if let Ok(program) = filter() {
        // A kernel without it still has the limits and the empty environment.
        let _ = seccompiler::apply_filter_all_threads(&program);
    }
}

fn filter() -> Result<BpfProgram, BackendError> {
    let mut rules: std::collections::BTreeMap<_, _> = ALLOWED.iter().map(|number| (*number, Vec::new())).collect();
    // An abort signals its own process; no other may be signalled.
    let own = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, u64::from(std::process::id()))?;
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![own])?]);
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
}

const ALLOWED: &[i64] = &[
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
