//! Worker threads for handlers. A handler waits for backends with its stack, so it needs a thread of its own: at most
//! `max`, started on demand; the one that became idle last works next, the others end after a while.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// Deep comparisons recurse natively; only touched pages cost.
const STACK: usize = 8 << 20;
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error("the handler broke down: {0}")]
    Panicked(String),
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    max: usize,
    idle_time: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    threads: usize,
    queue: VecDeque<Job>,
    idle: Vec<Arc<Seat>>,
}

/// Where an idle worker waits for its next job.
#[derive(Default)]
struct Seat {
    job: Mutex<Option<Job>>,
    given: Condvar,
}

impl Pool {
    pub fn new(max: usize) -> Pool {
        Pool::with_idle_time(max, IDLE)
    }

    fn with_idle_time(max: usize, idle_time: Duration) -> Pool {
        Pool(Arc::new(Shared { max: max.max(1), idle_time, state: Mutex::default() }))
    }

    /// Runs a job on a worker, or queues it. If the future is dropped the job still runs to its end, unless it is queued.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, PoolError> {
        let (sender, receiver) = oneshot::channel();
        self.submit(Box::new(move || {
            if sender.is_closed() {
                return;
            }
            let result = catch_unwind(AssertUnwindSafe(job)).map_err(|payload| PoolError::Panicked(text_of(&*payload)));
            // Nobody waits any more: the result is nobody's.
            let _ = sender.send(result);
        }))?;
        receiver.await.unwrap_or_else(|_| Err(PoolError::Panicked("it gave no result".to_owned())))
    }

    fn submit(&self, job: Job) -> Result<(), PoolError> {
        let mut state = lock(&self.0.state);
        if let Some(seat) = state.idle.pop() {
            drop(state);
            *lock(&seat.job) = Some(job);
            seat.given.notify_one();
            return Ok(());
        }
        if state.threads >= self.0.max {
            state.queue.push_back(job);
            return Ok(());
        }
        state.threads += 1;
        state.queue.push_back(job);
        drop(state);
        self.start()
    }

    fn start(&self) -> Result<(), PoolError> {
        let shared = self.0.clone();
        let thread = std::thread::Builder::new().name("handler".into()).stack_size(STACK).spawn(move || shared.work());
        let Err(error) = thread else { return Ok(()) };
        let mut state = lock(&self.0.state);
        state.threads -= 1;
        // With other workers the job simply waits its turn; alone it would wait for ever.
        if state.threads > 0 {
            return Ok(());
        }
        state.queue.clear();
        Err(error.into())
    }
}

impl Shared {
    fn work(&self) {
        let seat = Arc::new(Seat::default());
        while let Some(job) = self.next(&seat) {
            job();
        }
    }

    /// The next job, or none: then the thread is no longer counted and must end.
    fn next(&self, seat: &Arc<Seat>) -> Option<Job> {
        let mut state = lock(&self.state);
        if let Some(job) = state.queue.pop_front() {
            return Some(job);
        }
        state.idle.push(seat.clone());
        drop(state);
        let slot = lock(&seat.job);
        let (mut slot, _) = seat
            .given
            .wait_timeout_while(slot, self.idle_time, |job| job.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(job) = slot.take() {
            return Some(job);
        }
        drop(slot);
        let mut state = lock(&self.state);
        if let Some(position) = state.idle.iter().position(|idle| Arc::ptr_eq(idle, seat)) {
            state.idle.remove(position);
            state.threads -= 1;
            return None;
        }
        drop(state);
        // Somebody took the seat just now and is about to put a job on it.
        let slot = lock(&seat.job);
        let mut slot = seat.given.wait_while(slot, |job| job.is_none()).unwrap_or_else(PoisonError::into_inner);
        slot.take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text_of(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn jobs_run_and_threads_are_bounded_and_end() {
        let pool = Pool::with_idle_time(3, Duration::from_millis(50));
        let running = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let jobs = (0..30).map(|number| {
            let (pool, running, most) = (pool.clone(), running.clone(), most.clone());
            async move {
                pool.run(move || {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                    running.fetch_sub(1, Ordering::SeqCst);
                    number
                })
                .await
                .unwrap()
            }
        });
        let results = futures::future::join_all(jobs).await;
        assert_eq!(results, (0..30).collect::<Vec<_>>());
        assert_eq!(most.load(Ordering::SeqCst), 3);
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(lock(&pool.0.state).threads, 0);
        assert_eq!(pool.run(|| 7).await.unwrap(), 7);
    }

    /// A job handed over in the moment in which the worker gives up waiting must not be lost.
    #[tokio::test]
    async fn no_job_is_lost_when_workers_end() {
        let pool = Pool::with_idle_time(2, Duration::from_micros(300));
        for round in 0..2000u64 {
            let job = tokio::time::timeout(Duration::from_secs(10), pool.run(move || round));
            assert_eq!(job.await.unwrap().unwrap(), round);
            std::thread::sleep(Duration::from_micros(round % 400));
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_the_worker_lives_on() {
        let pool = Pool::new(1);
        let error = pool.run(|| panic!("oh")).await.map(|(): ()| ()).unwrap_err();
        assert_eq!(error.to_string(), "the handler broke down: oh");
        assert_eq!(pool.run(|| 1).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_dropped_call_does_not_hurt_the_others() {
        let pool = Pool::new(1);
        let slow = pool.run(|| std::thread::sleep(Duration::from_millis(30)));
        assert!(tokio::time::timeout(Duration::from_millis(5), slow).await.is_err());
        assert_eq!(pool.run(|| 2).await.unwrap(), 2);
    }
}
