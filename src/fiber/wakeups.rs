//! Workers are woken once for all the jobs that one turn of the thread that serves everybody has brought: woken for each
//! they would take turns with it, one job at a time.

use std::cell::RefCell;

use super::Pool;

/// So many jobs do not wait for more.
const MOST: usize = 32;

thread_local! {
    /// Whose workers are to be woken, and for how many jobs; none on threads that do not say when they rest.
    static PUT_OFF: RefCell<Option<Vec<(Pool, usize)>>> = const { RefCell::new(None) };
}

/// From now on this thread calls [`flush_wakeups`] before it rests.
pub fn on_runtime_park() {
    PUT_OFF.with(|put_off| put_off.replace(Some(Vec::new())));
}

/// Wakes the workers of the jobs that came since it last rested.
pub fn flush_wakeups() {
    let due = PUT_OFF.with(|put_off| put_off.borrow_mut().as_mut().map(std::mem::take));
    for (pool, jobs) in due.into_iter().flatten() {
        pool.wake_for(jobs);
    }
}

/// Remembers that a job has come; false where it must be seen to at once.
pub(super) fn put_off(pool: &Pool) -> bool {
    let jobs = PUT_OFF.with(|put_off| {
        let mut put_off = put_off.borrow_mut();
        let due = put_off.as_mut()?;
        match due.iter_mut().find(|(other, _)| other.is(pool)) {
            Some((_, jobs)) => {
                *jobs += 1;
                Some(*jobs)
            }
            None => {
                due.push((pool.clone(), 1));
                Some(1)
            }
        }
    });
    if jobs.is_some_and(|jobs| jobs >= MOST) {
        flush_wakeups();
    }
    jobs.is_some()
}
