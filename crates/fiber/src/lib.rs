//! Scheduling: decides which code runs on which thread, and when. It knows threads, stacks and tokio, but nothing about what
//! the code does.
//!
//! Starlark is synchronous: a handler that calls a server waits with its stack. A thread for each handler would cost
//! several thread switches per call, so handlers are fibers. A fiber has a stack of its own; a few worker threads run
//! many fibers each, and a fiber that waits, or computes for long, lets the others run.
//!
//! # Threads
//!
//! - A **serving thread** runs a single-threaded tokio runtime: the sockets, pipes and timers of the requests that it
//!   answers. The first one also has everything that belongs to no request. There are `serve.threads` of them
//!   ([`ServingThreads`]). It never runs a handler, and must never block or compute for long. Messages above 128 KiB are
//!   parsed on tokio's blocking pool ([`off_thread_if_large`]); the passes over them that remain yield in between
//!   ([`yield_if_large`]).
//! - A **worker** is a thread of a [`Pool`]. There are as many as CPUs (2 to 8). Workers ask the kernel for a long time
//!   slice ([`request_long_timeslice`]), so serving threads preempt them when a message arrives.
//!   While a worker runs a fiber, it works for the serving thread that the fiber's job came from: it has that thread's
//!   number ([`serving_thread`]) and runtime.
//! - A **fiber** runs on the worker that started it, from its first instruction to its last. It never migrates, so its
//!   stack may hold `Rc`s and other values that are not `Send`.
//! - A **branch** ([`Branches`]) is a fiber that runs inside another fiber, or on a plain thread, and borrows from it. It
//!   runs only while its owner waits for it, on the owner's thread and within the owner's time slice.
//!
//! # Who wakes whom
//!
//! - A serving thread pushes jobs to the pool's queue. It wakes workers at the end of its turn, once for all jobs of that
//!   turn ([`flush_wakeups`]); 32 jobs, or the first job of a pool, do not wait for that.
//! - A woken worker takes one job, polls its fibers, and takes the next job. Each job is taken by one worker.
//! - A future that a fiber waits for wakes that fiber's task on its worker. What a serving thread completes in one turn
//!   wakes a sleeping worker once, together with the jobs. A branch's waker marks the branch as ready and wakes the task of
//!   the fiber around it.
//! - A worker wakes tasks of a runtime only through [`run_on_runtime`], in batches and in order. This includes the
//!   results of jobs. A serving thread does the same with what it has for another one ([`ThreadHandle::run`]).
//!
//! # What must not block
//!
//! - A fiber waits with [`wait`] or [`wait_here`], never with a blocking call. Script code yields after 1 ms of computing
//!   ([`is_over_slice`], [`yield_now`]), and so do checks against schemas ([`yield_if_over_slice`]).
//! - A single long operation cannot be suspended. If a job stays in the queue for 20 ms and every worker has been inside
//!   one operation for that long, the pool starts another worker, up to 64.
//! - No lock is held across [`wait`] or [`yield_now`]: another fiber of the same thread would deadlock on it.
//!
//! # Cancellation and panics
//!
//! - Dropping the future of [`Pool::run`] before the job has a permit drops the job. After that the job runs to its end:
//!   a handler is cancelled by its host, which fails what the handler waits for.
//! - A job holds its permit until it has ended, whether or not its caller still waits.
//! - A panic in a job is caught on the fiber's stack and becomes [`PoolError::Panicked`]. The worker and its other fibers
//!   continue.
//! - A panic in a branch passes to the code that waits for the branches; the stacks of the other branches are unwound.
//! - Dropping [`Branches`] before they are done unwinds the stacks of the branches that have started. Destructors that run
//!   then are outside of any fiber, and must not wait.
//! - A pool that is dropped lets its workers finish the fibers that have started, and drops its queue.
//! - A job for which there is no memory for a stack is dropped; its caller gets [`PoolError::Dropped`].

mod branches;
mod common_delay;
mod coroutine;
mod hand_over;
mod in_place;
mod large;
mod pool;
mod queue;
mod serving;
mod stack;
mod timeslice;
mod wakeups;
mod worker;
mod worker_waker;

pub use branches::Branches;
pub use common_delay::CommonDelay;
pub use coroutine::{is_fiber, is_over_slice, wait, wait_for_siblings, wait_here, yield_if_over_slice, yield_now};
pub use hand_over::run_on_runtime;
pub use in_place::boxed_in_place;
pub use large::{off_thread_if_large, yield_if_large};
pub use pool::{Pool, PoolError};
pub use serving::{
    LoadingConnection, LoadingRequest, PerThread, ServingThreads, ThreadHandle, ThreadReport, serving_runtime,
    serving_thread,
};
pub use stack::HANDLER_STACK;
pub use timeslice::request_long_timeslice;
pub use wakeups::{batch_wakeups, flush_wakeups};

#[cfg(test)]
mod tests;
