//! Warnings about what is published, each logged once: surfaces are built often, for every change and every user.

use std::collections::HashSet;

use parking_lot::Mutex;

/// The maximum number of warnings that are remembered. Further ones are logged each time.
const MAX_REMEMBERED: usize = 1000;

/// Whether this process has not logged a warning yet. From now on it has.
pub(crate) fn is_new(warning: &str) -> bool {
    static LOGGED: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let mut logged = LOGGED.lock();
    let logged = logged.get_or_insert_default();
    if logged.len() < MAX_REMEMBERED { logged.insert(warning.to_owned()) } else { !logged.contains(warning) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_new_until_it_changes() {
        assert!(is_new("one of two") && !is_new("one of two"));
        assert!(is_new("one of three"));
    }
}
