//! Serving threads, and the workers that work for them.

use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::{Pool, ServingThreads, run_on_runtime, serving_thread, wait_here, yield_now};

/// Runtimes of all threads, in turn.
fn runtimes(threads: &ServingThreads, count: usize) -> Vec<Handle> {
    let connections: Vec<_> = (0..count).map(|_| threads.least_loaded()).collect();
    connections.iter().map(|(runtime, _)| (*runtime).clone()).collect()
}

#[tokio::test]
async fn connections_are_spread_by_what_the_threads_have_to_do() {
    let threads = ServingThreads::start(3).unwrap();
    let connections = [threads.least_loaded().1, threads.least_loaded().1, threads.least_loaded().1];
    let counts =
        |reports: Vec<crate::ThreadReport>| reports.iter().map(|report| report.connections).collect::<Vec<_>>();
    assert_eq!(counts(threads.reports()), [1, 1, 1]);
    let running = [connections[0].request(), connections[2].request()];
    let more = [threads.least_loaded().1, threads.least_loaded().1];
    assert_eq!(counts(threads.reports()), [1, 3, 1], "requests count more than connections");
    drop((running, more));
    let reports = threads.reports();
    assert_eq!(counts(reports.clone()), [1, 1, 1]);
    assert_eq!(
        reports.iter().map(|report| (report.running, report.requests)).collect::<Vec<_>>(),
        [(0, 1), (0, 0), (0, 1)]
    );
}

#[tokio::test]
async fn a_fiber_works_for_the_thread_that_its_job_came_from() {
    let (threads, pool) = (ServingThreads::start(3).unwrap(), Pool::new(100));
    let tasks = runtimes(&threads, 60).into_iter().map(|runtime| {
        let (pool, own) = (pool.clone(), runtime.id());
        runtime.spawn(async move {
            let (number, name) = (serving_thread(), thread::current().name().map(str::to_owned));
            let job = pool.run(move || {
                let (sender, ran_on) = oneshot::channel();
                run_on_runtime(move || drop(sender.send(thread::current().name().map(str::to_owned))));
                let ran_on = wait_here(ran_on).unwrap();
                // Fibers of other threads run on this worker in between.
                yield_now();
                (serving_thread(), Handle::current().id(), ran_on)
            });
            assert_eq!(job.await.unwrap(), (number, own, name));
            number
        })
    });
    let mut numbers = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        numbers.push(task.await.unwrap());
    }
    assert_eq!([0, 1, 2].map(|number| numbers.iter().filter(|other| **other == number).count()), [20, 20, 20]);
}

#[tokio::test]
async fn a_worker_that_another_thread_started_works_for_the_first_one_too() {
    let threads = ServingThreads::start(2).unwrap();
    let pool = Pool::new(100);
    // Given a worker that was started by a job of the second thread
    let second = runtimes(&threads, 2).pop().unwrap();
    let first_job = pool.clone();
    let started_by = second.spawn(async move { first_job.run(serving_thread).await.unwrap() }).await.unwrap();
    assert_eq!(started_by, 1);
    // When it runs a job of the first, then on the runtime of the first
    let own = Handle::current().id();
    let ran_on = pool.run(|| (serving_thread(), Handle::current().id())).await.unwrap();
    assert_eq!(ran_on, (0, own));
}

#[tokio::test]
async fn the_other_threads_end_with_the_last_clone() {
    let threads = ServingThreads::start(2).unwrap();
    let second = runtimes(&threads, 2).pop().unwrap();
    let (alive, ended) = oneshot::channel::<()>();
    second.spawn(async move {
        std::future::pending::<()>().await;
        drop(alive);
    });
    drop(threads);
    ended.await.unwrap_err();
}
