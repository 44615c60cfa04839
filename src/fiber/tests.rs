use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;

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
    assert_eq!(futures::future::join_all(jobs).await, (0..30).collect::<Vec<_>>());
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
    while waiting.load(Ordering::SeqCst) < 1000 {
        tokio::task::yield_now().await;
    }
    assert!(pool.0.workers.lock().unwrap().len() <= 8 + 64);
    gate.add_permits(1000);
    for (number, job) in jobs.into_iter().enumerate() {
        assert_eq!(job.await.unwrap(), number);
    }
}

/// Two handlers that only end when the other has run: possible only if each lets the other go on.
#[tokio::test]
async fn handlers_that_compute_let_others_on_their_thread_go_on() {
    let pool = Pool::new(64);
    let done = Arc::new(AtomicUsize::new(0));
    let jobs = (0..32).map(|_| {
        let (pool, done) = (pool.clone(), done.clone());
        async move {
            let job = move || {
                done.fetch_add(1, Ordering::SeqCst);
                while done.load(Ordering::SeqCst) < 32 {
                    give_way();
                }
            };
            pool.run(job).await.unwrap();
        }
    });
    futures::future::join_all(jobs).await;
}

#[tokio::test]
async fn a_handler_stuck_in_one_operation_does_not_hold_up_new_ones() {
    let pool = Pool::new(64);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let stuck: Vec<_> = (0..16)
        .map(|_| {
            let (pool, held) = (pool.clone(), held.clone());
            // A wait that blocks its thread stands for an operation that nothing can interrupt.
            tokio::spawn(async move { pool.run(move || held.lock().unwrap().recv().is_ok()).await.unwrap() })
        })
        .collect();
    for number in 0..100 {
        assert_eq!(pool.run(move || number).await.unwrap(), number);
    }
    for job in stuck {
        release.send(()).unwrap();
        assert!(job.await.unwrap());
    }
}

#[tokio::test]
async fn a_panic_is_an_error_and_the_worker_lives_on() {
    let pool = Pool::new(1);
    let error = pool.run(|| panic!("oh")).await.map(|(): ()| ()).unwrap_err();
    assert_eq!(error.to_string(), "the handler broke down: oh");
    assert_eq!(pool.run(|| 1).await.unwrap(), 1);
}
