//! How many files the proxy may have open: as many as the system allows it, while its children get back the limit that
//! the proxy was started with. Programs that use `select` break if they can have descriptors above 1023.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most that is asked for. Some systems allow any number, or refuse to set a limit that the kernel cannot keep.
const MOST: u64 = 1 << 16;

/// The limit that this process was started with, if it was raised since.
static STARTED_WITH: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit of this process as far as the system allows.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return };
    let wanted = limit.maximum.map_or(MOST, |maximum| maximum.min(MOST));
    if wanted <= current {
        return;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }) {
        Ok(()) => drop(STARTED_WITH.set(limit)),
        Err(error) => tracing::debug!(%error, current, wanted, "cannot raise the limit of open files"),
    }
}

/// How many connections of clients may be open at once. The rest is for servers, and for whatever else opens files.
pub fn max_connections() -> usize {
    let limit = getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let reserve = (limit / 4).clamp(128, 4096);
    limit.saturating_sub(reserve).max(16)
}

/// Sets the limit in a child, between fork and exec. Async-signal-safe: a single system call.
pub(super) fn put_back() -> io::Result<()> {
    match STARTED_WITH.get() {
        Some(limit) => Ok(setrlimit(Resource::Nofile, *limit)?),
        None => Ok(()),
    }
}
