//! The threads that serve clients. Each has a runtime of its own, and a request is answered on the thread that read it.
//!
//! What belongs to a thread (connections to servers, shared timers) is found by the thread's number. Fibers of that
//! thread's requests run on workers, which take on the number and the runtime of the thread while such a fiber runs.

mod load;
mod number;
mod per_thread;
mod threads;

pub use load::{LoadingConnection, LoadingRequest, ThreadReport};
pub use number::{ThreadHandle, serving_thread};
pub use per_thread::PerThread;
pub use threads::{ServingThreads, serving_runtime};
