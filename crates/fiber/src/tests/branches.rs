//! Branches of one run, in a fiber of the pool and on a plain thread.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use futures::FutureExt;
use tokio::sync::Semaphore;

use super::Alive;
use crate::{Branches, Pool, is_over_slice, wait_for_siblings, wait_here};

type Jobs<'a> = Vec<Box<dyn FnOnce() + 'a>>;

fn run(jobs: Jobs<'_>, limit: usize) {
    wait_here(Branches::new(jobs, limit, &|| true)).unwrap();
}

/// Runs it on a plain thread, and then as a job of a pool.
async fn everywhere(test: fn()) {
    std::thread::spawn(test).join().unwrap();
    Pool::new(4).run(test).await.unwrap();
}

#[tokio::test]
async fn branches_start_in_order_within_the_limit_and_borrow_from_their_caller() {
    everywhere(|| {
        let (order, running, most) = (RefCell::new(Vec::new()), Cell::new(0), Cell::new(0));
        let gate = Semaphore::new(0);
        let jobs = (0..98).map(|number| {
            let (order, running, most, gate) = (&order, &running, &most, &gate);
            Box::new(move || {
                order.borrow_mut().push(number);
                running.set(running.get() + 1);
                most.set(running.get().max(most.get()));
                // Six wait until the seventh has started.
                if number % 7 == 6 {
                    gate.add_permits(7);
                }
                wait_here(gate.acquire()).unwrap().forget();
                running.set(running.get() - 1);
            }) as Box<dyn FnOnce() + '_>
        });
        run(jobs.collect(), 7);
        assert_eq!(*order.borrow(), (0..98).collect::<Vec<_>>());
        assert_eq!(most.get(), 7);
    })
    .await;
}

#[tokio::test]
async fn branches_of_branches_wait_for_what_their_siblings_do() {
    everywhere(|| {
        let gate = Semaphore::new(0);
        let passed = RefCell::new(0);
        let outer = (0..20).map(|_| {
            let (gate, passed) = (&gate, &passed);
            Box::new(move || {
                let inner = (0..10).map(|_| {
                    Box::new(move || {
                        wait_here(gate.acquire()).unwrap().forget();
                        *passed.borrow_mut() += 1;
                    }) as Box<dyn FnOnce() + '_>
                });
                run(inner.collect(), 10);
            }) as Box<dyn FnOnce() + '_>
        });
        let opener: Box<dyn FnOnce() + '_> = Box::new(|| gate.add_permits(200));
        run(outer.chain([opener]).collect(), 100);
        assert_eq!(*passed.borrow(), 200);
    })
    .await;
}

/// After a panic the code around the branches must still be able to wait on its own stack.
#[tokio::test]
async fn a_panic_in_a_branch_unwinds_its_siblings_and_the_caller_can_still_wait() {
    everywhere(|| {
        let (gate, alive) = (Semaphore::new(0), Alive::default());
        for _ in 0..50 {
            let mut jobs: Jobs<'_> = (0..10)
                .map(|_| {
                    let (gate, alive) = (&gate, alive.clone());
                    Box::new(move || {
                        let _alive = alive;
                        wait_here(gate.acquire()).unwrap().forget();
                    }) as Box<dyn FnOnce() + '_>
                })
                .collect();
            jobs.push(Box::new(|| panic!("oh")));
            assert!(catch_unwind(AssertUnwindSafe(|| run(jobs, 100))).is_err());
            assert_eq!(alive.count(), 0, "every sibling was unwound");
            wait_here(pending_once());
        }
    })
    .await;
}

/// A future that is ready at the second poll.
async fn pending_once() {
    let mut polled = false;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[tokio::test]
async fn dropped_branches_unwind_what_has_started_and_never_start_the_rest() {
    everywhere(|| {
        let (gate, alive, started) = (Semaphore::new(0), Alive::default(), RefCell::new(0));
        let jobs = (0..100).map(|_| {
            let (gate, alive, started) = (&gate, alive.clone(), &started);
            Box::new(move || {
                let _alive = alive;
                *started.borrow_mut() += 1;
                wait_here(gate.acquire()).unwrap().forget();
            }) as Box<dyn FnOnce() + '_>
        });
        let mut branches = Branches::new(jobs.collect(), 10, &|| true);
        // On a busy machine, a poll ends before it has started all: others get their turn.
        for _ in 0..100 {
            assert!((&mut branches).now_or_never().is_none());
        }
        assert_eq!((alive.count(), *started.borrow()), (100, 10));
        drop(branches);
        assert_eq!((alive.count(), *started.borrow()), (0, 10));
    })
    .await;
}

#[tokio::test]
async fn a_branch_that_waits_for_its_siblings_continues_after_them() {
    everywhere(|| {
        let order = RefCell::new(Vec::new());
        let may_go_on = || order.borrow().len() >= 2;
        let first: Box<dyn FnOnce() + '_> = Box::new(|| {
            assert!(wait_for_siblings());
            order.borrow_mut().push("first");
        });
        let other = |name| {
            let order = &order;
            Box::new(move || order.borrow_mut().push(name)) as Box<dyn FnOnce() + '_>
        };
        let branches = Branches::new(vec![first, other("second"), other("third")], 1, &may_go_on);
        wait_here(branches).unwrap();
        assert_eq!(*order.borrow(), ["second", "third", "first"]);
    })
    .await;
}

#[tokio::test]
async fn branches_that_all_wait_for_each_other_are_told_so() {
    everywhere(|| {
        let hopeless = RefCell::new(0);
        let jobs = (0..5).map(|_| {
            let hopeless = &hopeless;
            Box::new(move || {
                if !wait_for_siblings() {
                    *hopeless.borrow_mut() += 1;
                }
            }) as Box<dyn FnOnce() + '_>
        });
        wait_here(Branches::new(jobs.collect(), 5, &|| false)).unwrap();
        assert_eq!(*hopeless.borrow(), 5);
    })
    .await;
}

/// On a plain thread no other fiber competes for the thread, so a branch runs until it waits.
#[test]
fn a_branch_outside_of_a_pool_has_no_time_slice() {
    let started = std::time::Instant::now();
    let over = RefCell::new(None);
    let job: Box<dyn FnOnce() + '_> = Box::new(|| {
        while started.elapsed() < std::time::Duration::from_millis(5) {}
        *over.borrow_mut() = Some(is_over_slice());
    });
    run(vec![job], 1);
    assert_eq!(*over.borrow(), Some(false));
}

/// Wakers of branches are used from other threads while the branches come and go.
#[tokio::test]
async fn branches_woken_from_other_threads_miss_no_wakeup() {
    let pool = Pool::new(8);
    let passed = Arc::new(AtomicUsize::new(0));
    let jobs = (0..8).map(|_| {
        let passed = passed.clone();
        pool.run(move || {
            for _ in 0..20 {
                let jobs = (0..20).map(|_| {
                    let passed = &passed;
                    Box::new(move || {
                        let (sender, receiver) = tokio::sync::oneshot::channel();
                        tokio::task::spawn_blocking(move || sender.send(()));
                        wait_here(receiver).unwrap();
                        passed.fetch_add(1, Ordering::SeqCst);
                    }) as Box<dyn FnOnce() + '_>
                });
                run(jobs.collect(), 5);
            }
        })
    });
    futures::future::join_all(jobs).await.into_iter().for_each(|done| done.unwrap());
    assert_eq!(passed.load(Ordering::SeqCst), 8 * 20 * 20);
}
