//! The system calls of a process that reads files and computes on several threads. It starts no program, has no sockets and
//! changes nothing: not even what Landlock leaves open, such as permissions and times of files.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads,
};

use crate::sandbox::worker::kernel::{ALLOWED, program};

/// Filters the system calls of every thread of this process. Returns whether the kernel enforces it.
pub(super) fn filter() -> bool {
    // Both hold. The second one lets `clone3` pass, so that the first decides.
    [unknown_clone(), allowed()]
        .into_iter()
        .all(|program| program.is_ok_and(|program| apply_filter_all_threads(&program).is_ok()))
}

/// `clone3` has its flags in memory, where no filter sees them. Libraries that do not find it use `clone`.
fn unknown_clone() -> Result<BpfProgram, BackendError> {
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let unknown = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, unknown, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn allowed() -> Result<BpfProgram, BackendError> {
    let plain = ALLOWED.iter().chain(READING).chain(THREADS).chain(RUNTIME);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = plain.map(|number| (*number, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.extend(OLDER.iter().map(|number| (*number, Vec::new())));
    let thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
    rules.insert(libc::SYS_clone, vec![argument(0, SeccompCmpOp::MaskedEq(thread), thread)?]);
    // Of another process, limits are its own business.
    rules.insert(libc::SYS_prlimit64, vec![argument(0, SeccompCmpOp::Eq, 0)?]);
    rules.insert(libc::SYS_prctl, vec![argument(0, SeccompCmpOp::Eq, u64::from(libc::PR_SET_NAME.cast_unsigned()))?]);
    let asked: Result<_, _> = IOCTLS.into_iter().map(|request| argument(1, SeccompCmpOp::Eq, request)).collect();
    rules.insert(libc::SYS_ioctl, asked?);
    // Without an address: with one, a socket that is connected to itself reaches others.
    let address = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
    rules.insert(libc::SYS_sendto, vec![SeccompRule::new(vec![address])?]);
    program(rules)
}

/// The condition that an argument has this value.
fn argument(number: u8, comparison: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(number, SeccompCmpArgLen::Dword, comparison, value)?])
}

/// `TCGETS` and `TIOCGWINSZ`, which fail without a terminal, `FIONBIO` and `FIOCLEX`. The C libraries disagree on their type.
const IOCTLS: [u64; 4] = [0x5401, 0x5413, 0x5421, 0x5451];

const READING: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getcwd,
    libc::SYS_fcntl,
    libc::SYS_dup,
    libc::SYS_dup3,
];

const THREADS: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_sched_getaffinity,
    libc::SYS_membarrier,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
];

const RUNTIME: &[i64] = &[
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    // Connected to nothing but itself: the runtime's signal handler writes to it.
    libc::SYS_socketpair,
    libc::SYS_recvfrom,
    libc::SYS_ppoll,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getppid,
    libc::SYS_getrusage,
];

/// Those that newer architectures no longer have.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_readlink,
    libc::SYS_access,
    libc::SYS_getdents,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_time,
    libc::SYS_arch_prctl,
];
