//! Fibers of a pool.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};

use super::Alive;
use crate::{Pool, PoolError, batch_wakeups, flush_wakeups, wait, wait_here, yield_now};

/// Lets other tasks run until the condition holds.
async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn no_more_handlers_are_under_way_than_allowed() {
    let pool = Pool::new(3);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let jobs = (0..30).map(|number| {
        let (pool, running, most) = (pool.clone(), running.clone(), most.clone());
        async move {
            let runtime = Handle::current();
            let job = move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                wait(tokio::time::sleep(Duration::from_millis(2)), &runtime);
                running.fetch_sub(1, Ordering::SeqCst);
                number
            };
            pool.run(job).await.unwrap()
        }
    });
    assert_eq!(join_all(jobs).await, (0..30).collect::<Vec<_>>());
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_thousand_handlers_wait_at_once_on_a_few_threads() {
    let pool = Pool::new(1024);
    let gate = Arc::new(Semaphore::new(0));
    let waiting = Arc::new(AtomicUsize::new(0));
    let jobs: Vec<_> = (0..1000)
        .map(|number| {
            let (pool, gate, waiting) = (pool.clone(), gate.clone(), waiting.clone());
            tokio::spawn(async move {
                let runtime = Handle::current();
                let job = move || {
                    waiting.fetch_add(1, Ordering::SeqCst);
                    wait(gate.acquire(), &runtime).map(|permit| permit.forget()).unwrap();
                    number
                };
                pool.run(job).await.unwrap()
            })
        })
        .collect();
    until(|| waiting.load(Ordering::SeqCst) == 1000).await;
    assert!(pool.workers().len() <= 8 + 64);
    gate.add_permits(1000);
    for (number, job) in jobs.into_iter().enumerate() {
        assert_eq!(job.await.unwrap(), number);
    }
}

/// Each of a ring of fibers wakes the next, many times around, across worker threads.
#[tokio::test]
async fn fibers_that_wake_each_other_miss_no_wakeup() {
    const FIBERS: usize = 64;
    const ROUNDS: usize = 200;
    let pool = Pool::new(FIBERS);
    let ring: Arc<Vec<Notify>> = Arc::new((0..FIBERS).map(|_| Notify::new()).collect());
    let turns = Arc::new(AtomicUsize::new(0));
    let jobs = (0..FIBERS).map(|number| {
        let (ring, turns) = (ring.clone(), turns.clone());
        let job = move || {
            for _ in 0..ROUNDS {
                wait_here(ring[number].notified());
                turns.fetch_add(1, Ordering::SeqCst);
                ring[(number + 1) % FIBERS].notify_one();
            }
        };
        pool.run(job)
    });
    ring[0].notify_one();
    join_all(jobs).await.into_iter().for_each(|done| done.unwrap());
    assert_eq!(turns.load(Ordering::SeqCst), FIBERS * ROUNDS);
}

/// The runtime thread batches wake-ups until it parks, as in production.
#[test]
fn jobs_whose_wakeup_was_held_back_all_run() {
    batch_wakeups();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().on_thread_park(flush_wakeups).build();
    let pool = Pool::new(16);
    runtime.unwrap().block_on(async {
        for burst in 0..100 {
            let jobs = (0..burst).map(|number| pool.run(move || number));
            let results: Vec<usize> = join_all(jobs).await.into_iter().map(Result::unwrap).collect();
            assert_eq!(results, (0..burst).collect::<Vec<_>>());
        }
    });
}

/// Handlers that only end when all others have started: possible only if each lets the others run.
#[tokio::test]
async fn handlers_that_compute_let_others_on_their_thread_go_on() {
    let pool = Pool::new(64);
    let done = Arc::new(AtomicUsize::new(0));
    let jobs = (0..32).map(|_| {
        let done = done.clone();
        let job = move || {
            done.fetch_add(1, Ordering::SeqCst);
            while done.load(Ordering::SeqCst) < 32 {
                yield_now();
            }
        };
        pool.run(job)
    });
    join_all(jobs).await.into_iter().for_each(|done| done.unwrap());
}

#[tokio::test]
async fn a_handler_stuck_in_one_operation_does_not_hold_up_new_ones() {
    let pool = Pool::new(64);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let stuck: Vec<_> = (0..16)
        .map(|_| {
            let (pool, held) = (pool.clone(), held.clone());
            // A wait that blocks its thread stands for an operation that cannot be suspended.
            tokio::spawn(async move { pool.run(move || held.lock().recv().is_ok()).await.unwrap() })
        })
        .collect();
    for number in 0..100 {
        assert_eq!(pool.run(move || number).await.unwrap(), number);
    }
    // Whichever job waits first takes what is sent first.
    for _ in &stuck {
        release.send(()).unwrap();
    }
    for job in stuck {
        assert!(job.await.unwrap());
    }
}

/// Fibers that waited on a worker before it got stuck continue when it is free again.
#[tokio::test]
async fn fibers_of_a_stuck_worker_are_not_lost() {
    let pool = Pool::new(256);
    let gate = Arc::new(Semaphore::new(0));
    let waiting = Arc::new(AtomicUsize::new(0));
    let waiters: Vec<_> = (0..100)
        .map(|_| {
            let (gate, waiting) = (gate.clone(), waiting.clone());
            let pool = pool.clone();
            tokio::spawn(async move {
                let job = move || {
                    waiting.fetch_add(1, Ordering::SeqCst);
                    wait_here(gate.acquire()).unwrap().forget();
                };
                pool.run(job).await.unwrap();
            })
        })
        .collect();
    until(|| waiting.load(Ordering::SeqCst) == 100).await;
    let blocked = Arc::new(AtomicUsize::new(0));
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let stuck: Vec<_> = (0..8)
        .map(|_| {
            let (pool, held, blocked) = (pool.clone(), held.clone(), blocked.clone());
            let job = move || {
                blocked.fetch_add(1, Ordering::SeqCst);
                held.lock().recv().unwrap();
            };
            tokio::spawn(async move { pool.run(job).await.unwrap() })
        })
        .collect();
    until(|| blocked.load(Ordering::SeqCst) == 8).await;
    gate.add_permits(100);
    (0..8).for_each(|_| release.send(()).unwrap());
    for job in stuck.into_iter().chain(waiters) {
        job.await.unwrap();
    }
}

#[tokio::test]
async fn a_panic_is_an_error_and_the_worker_lives_on() {
    let pool = Pool::new(1);
    let error = pool.run(|| panic!("oh")).await.map(|(): ()| ()).unwrap_err();
    assert_eq!(error.to_string(), "handler panicked: oh");
    assert_eq!(pool.run(|| 1).await.unwrap(), 1);
}

/// Every other fiber panics after it has waited; the fibers that share its thread still finish.
#[tokio::test]
async fn panics_between_waiting_fibers_leave_the_others_alone() {
    let pool = Pool::new(256);
    let gate = Arc::new(Semaphore::new(0));
    let alive = Alive::default();
    let jobs: Vec<_> = (0..200)
        .map(|number| {
            let (pool, gate, alive) = (pool.clone(), gate.clone(), alive.clone());
            tokio::spawn(async move {
                let job = move || {
                    let _alive = alive;
                    wait_here(gate.acquire()).unwrap().forget();
                    assert!(number % 2 == 0, "number {number}");
                    wait_here(gate.acquire()).unwrap().forget();
                    number
                };
                pool.run(job).await
            })
        })
        .collect();
    gate.add_permits(300);
    for (number, job) in jobs.into_iter().enumerate() {
        match job.await.unwrap() {
            Ok(result) => assert_eq!(result, number),
            Err(PoolError::Panicked(text)) => assert_eq!(text, format!("number {number}")),
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(alive.count(), 0, "every stack was unwound");
}

#[tokio::test]
async fn a_future_dropped_in_the_queue_never_runs_its_job_and_one_dropped_later_keeps_its_permit() {
    let pool = Pool::new(1);
    let gate = Arc::new(Semaphore::new(0));
    let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let job = |gate: &Arc<Semaphore>| {
        let (gate, started, ended) = (gate.clone(), started.clone(), ended.clone());
        move || {
            started.fetch_add(1, Ordering::SeqCst);
            wait_here(gate.acquire()).unwrap().forget();
            ended.fetch_add(1, Ordering::SeqCst);
        }
    };
    let mut first = Box::pin(pool.run(job(&gate)));
    assert!((&mut first).now_or_never().is_none());
    until(|| started.load(Ordering::SeqCst) == 1).await;
    let mut queued: Vec<_> = (0..50).map(|_| Box::pin(pool.run(job(&gate)))).collect();
    assert!(queued.iter_mut().all(|queued| queued.as_mut().now_or_never().is_none()));
    drop(queued);
    drop(first);
    let mut next = Box::pin(pool.run(|| 1));
    assert!((&mut next).now_or_never().is_none(), "the job without a caller still has the only permit");
    gate.add_permits(1);
    assert_eq!(next.await.unwrap(), 1);
    assert_eq!((started.load(Ordering::SeqCst), ended.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test]
async fn a_dropped_pool_finishes_the_fibers_that_have_started() {
    let gate = Arc::new(Semaphore::new(0));
    let alive = Alive::default();
    let waiting = Arc::new(AtomicUsize::new(0));
    {
        let pool = Pool::new(100);
        let mut jobs: Vec<_> = (0..100)
            .map(|_| {
                let (gate, alive, waiting) = (gate.clone(), alive.clone(), waiting.clone());
                Box::pin(pool.run(move || {
                    let _alive = alive;
                    waiting.fetch_add(1, Ordering::SeqCst);
                    wait_here(gate.acquire()).unwrap().forget();
                }))
            })
            .collect();
        assert!(jobs.iter_mut().all(|job| is_pending(job.as_mut())));
        until(|| waiting.load(Ordering::SeqCst) == 100).await;
    }
    assert_eq!(alive.count(), 100);
    gate.add_permits(100);
    until(|| alive.count() == 0).await;
}

fn is_pending(future: impl Future) -> bool {
    future.now_or_never().is_none()
}

/// A runtime that always has something to do never parks, and nothing that it has for a worker may wait for that.
#[test]
fn workers_are_woken_by_a_runtime_that_never_parks() {
    // On a thread of its own: batching cannot be disabled.
    let thread = std::thread::spawn(|| {
        batch_wakeups();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (pool, gate) = (Pool::new(4), Arc::new(Semaphore::new(0)));
            let waiting = Arc::new(AtomicUsize::new(0));
            for round in 1..=3 {
                let (opened, started) = (Arc::clone(&gate), Arc::clone(&waiting));
                let job = pool.run(move || {
                    started.fetch_add(1, Ordering::SeqCst);
                    wait_here(opened.acquire()).map(|permit| permit.forget()).unwrap();
                });
                let busy = async {
                    until(|| waiting.load(Ordering::SeqCst) == round).await;
                    gate.add_permits(1);
                    until(|| false).await;
                };
                tokio::select! {
                    done = job => done.unwrap(),
                    () = busy => {}
                }
            }
        });
    });
    thread.join().unwrap();
}
