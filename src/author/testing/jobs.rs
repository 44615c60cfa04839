//! Jobs on threads of their own, a few at once. One that never ends is given up: the others and the report go on.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::script::BIG_STACK;

pub(super) type Job<T> = Box<dyn FnOnce() -> T + Send>;

/// Runs all jobs; `done` hears of each, in any order. None stands for one that broke down or took longer than `patience`.
pub(super) fn run_all<T: Send + 'static>(
    jobs: Vec<Job<T>>,
    at_once: usize,
    patience: Duration,
    mut done: impl FnMut(usize, Option<T>),
) {
    let (sender, receiver) = channel();
    let mut waiting = jobs.into_iter().enumerate();
    let mut running: HashMap<usize, Instant> = HashMap::new();
    loop {
        while running.len() < at_once.max(1) {
            let Some((number, job)) = waiting.next() else { break };
            running.insert(number, Instant::now());
            if start(number, job, sender.clone()).is_err() {
                running.remove(&number);
                done(number, None);
            }
        }
        let Some(first) = running.values().min() else { return };
        match receiver.recv_timeout((*first + patience).saturating_duration_since(Instant::now())) {
            // One that was given up may still come to its end.
            Ok((number, result)) => {
                if running.remove(&number).is_some() {
                    done(number, result);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                let late: Vec<usize> = running
                    .iter()
                    .filter(|(_, since)| since.elapsed() >= patience)
                    .map(|(number, _)| *number)
                    .collect();
                for number in late {
                    running.remove(&number);
                    done(number, None);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn start<T: Send + 'static>(number: usize, job: Job<T>, sender: Sender<(usize, Option<T>)>) -> std::io::Result<()> {
    let run = move || {
        let result = catch_unwind(AssertUnwindSafe(job)).ok();
        // It was given up, and nobody waits.
        let _ = sender.send((number, result));
    };
    Builder::new().name("test".into()).stack_size(BIG_STACK).spawn(run).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_never_ends_and_one_that_breaks_down_hold_nobody_up() {
        let (hold, held) = channel::<()>();
        let mut held = Some(held);
        let jobs: Vec<Job<usize>> = (0..6)
            .map(|number| match (number, held.take_if(|_| number == 2)) {
                (2, Some(held)) => Box::new(move || held.recv().map_or(2usize, |()| 2)) as Job<usize>,
                (4, _) => Box::new(|| panic!("oh")),
                _ => Box::new(move || number),
            })
            .collect();
        let mut results = vec![];
        run_all(jobs, 2, Duration::from_millis(300), |number, result| results.push((number, result)));
        results.sort();
        assert_eq!(results, [(0, Some(0)), (1, Some(1)), (2, None), (3, Some(3)), (4, None), (5, Some(5))]);
        drop(hold);
    }
}
