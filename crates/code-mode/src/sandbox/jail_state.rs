//! Which jail layers the system supports. The zygote detects and reports them; they do not change while the proxy runs.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The layers that the kernel enforces on workers, in addition to resource limits, without which workers do not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JailState {
    /// Files and the network are denied.
    pub landlock: bool,
    /// System calls are filtered.
    pub seccomp: bool,
}

impl JailState {
    /// Both layers are there.
    pub fn is_complete(self) -> bool {
        self.landlock && self.seccomp
    }

    /// The layers that the system refuses, for people.
    pub fn missing(self) -> String {
        let layers = [(self.seccomp, "the system call filter (seccomp)"), (self.landlock, "Landlock")];
        let missing: Vec<&str> = layers.into_iter().filter(|(is_there, _)| !is_there).map(|(_, name)| name).collect();
        missing.join(" and ")
    }

    pub(super) fn to_bits(self) -> i32 {
        i32::from(self.landlock) << 1 | i32::from(self.seccomp)
    }

    pub(super) fn from_bits(bits: i32) -> Self {
        JailState { landlock: bits & 2 != 0, seccomp: bits & 1 != 0 }
    }
}

/// What to do about a missing layer.
pub const HINT: &str = "let the container or service use seccomp and Landlock (Linux 5.13 or later), or set \
                        `codeMode.requireJail: true` to refuse scripts";

#[derive(Default)]
struct Found {
    /// Whether the state is needed: a zygote was started or will be.
    is_requested: bool,
    state: Option<JailState>,
}

static FOUND: Mutex<Found> = Mutex::new(Found { is_requested: false, state: None });
static REPORTED: Condvar = Condvar::new();

/// The state of the jail; none before the first worker was requested.
pub fn jail_state() -> Option<JailState> {
    FOUND.lock().state
}

/// Waits for the report of the zygote if code mode is in use, and gives up after a while.
pub fn wait_for_jail_state(timeout: Duration) -> Option<JailState> {
    let mut found = FOUND.lock();
    REPORTED.wait_while_for(&mut found, |found| found.is_requested && found.state.is_none(), timeout);
    found.state
}

pub(super) fn requested() {
    FOUND.lock().is_requested = true;
}

/// Takes the report of the zygote, and says loudly if something is missing.
pub(super) fn reported(state: JailState) {
    let earlier = FOUND.lock().state.replace(state);
    REPORTED.notify_all();
    if earlier != Some(state) && !state.is_complete() {
        tracing::warn!(
            "code mode: the system refuses {}, so models' scripts are less confined than they should be; {HINT}",
            state.missing()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        for bits in 0..4 {
            assert_eq!(JailState::from_bits(bits).to_bits(), bits);
        }
        assert_eq!(JailState::from_bits(0).missing(), "the system call filter (seccomp) and Landlock");
        assert_eq!(JailState::from_bits(1).missing(), "Landlock");
        assert!(JailState::from_bits(3).is_complete() && JailState::from_bits(3).missing().is_empty());
    }
}
