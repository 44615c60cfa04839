//! Runs jobs in parallel, each on its own thread with a timeout. A job that never returns does not block the others.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use proxy_script::BIG_STACK;

pub(super) type TestJob<T> = Box<dyn FnOnce() -> T + Send>;

/// Runs all jobs, at most `parallelism` at a time. Calls `done` with the index and result of each, in the order of
/// completion; the result is None if the job panicked or exceeded `timeout`.
pub(super) fn run_all<T: Send + 'static>(
    jobs: Vec<TestJob<T>>,
    parallelism: usize,
    timeout: Duration,
    mut done: impl FnMut(usize, Option<T>),
) {
    let (sender, receiver) = channel();
    let mut queued = jobs.into_iter().enumerate();
    let mut running: HashMap<usize, Instant> = HashMap::new();
    loop {
        while running.len() < parallelism.max(1) {
            let Some((index, job)) = queued.next() else { break };
            running.insert(index, Instant::now());
            if start(index, job, sender.clone()).is_err() {
                running.remove(&index);
                done(index, None);
            }
        }
        let Some(oldest) = running.values().min() else { return };
        match receiver.recv_timeout((*oldest + timeout).saturating_duration_since(Instant::now())) {
            // A job that has timed out may still finish later; its result is ignored.
            Ok((index, result)) => {
                if running.remove(&index).is_some() {
                    done(index, result);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                let expired: Vec<usize> =
                    running.iter().filter(|(_, since)| since.elapsed() >= timeout).map(|(index, _)| *index).collect();
                for index in expired {
                    running.remove(&index);
                    done(index, None);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn start<T: Send + 'static>(index: usize, job: TestJob<T>, sender: Sender<(usize, Option<T>)>) -> std::io::Result<()> {
    let run = move || {
        let result = catch_unwind(AssertUnwindSafe(job)).ok();
        // The receiver is gone if the job has timed out.
        let _ = sender.send((index, result));
    };
    Builder::new().name("test".into()).stack_size(BIG_STACK).spawn(run).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_panics_does_not_block_the_others() {
        let jobs = (0..6)
            .map(|index| match index {
                4 => Box::new(|| -> usize { panic!("oh") }) as TestJob<usize>,
                _ => Box::new(move || index),
            })
            .collect();
        let mut results = vec![];
        run_all(jobs, 2, Duration::from_secs(3600), |index, result| results.push((index, result)));
        results.sort();
        assert_eq!(results, [(0, Some(0)), (1, Some(1)), (2, Some(2)), (3, Some(3)), (4, None), (5, Some(5))]);
    }

    #[test]
    fn a_job_that_hangs_does_not_block_the_others() {
        let (release, released) = channel::<()>();
        let mut released = Some(released);
        let jobs = (0..6)
            .map(|index| match released.take_if(|_| index == 2) {
                Some(released) => Box::new(move || released.recv().map_or(2_usize, |()| 2)) as TestJob<usize>,
                None => Box::new(move || index),
            })
            .collect();
        let mut results = vec![];
        run_all(jobs, 2, Duration::from_millis(100), |index, result| results.push((index, result)));
        results.sort();
        // On a busy machine one of the others may also take too long, but each of them is reported.
        assert_eq!(results.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(results[2], (2, None));
        drop(release);
    }
}
