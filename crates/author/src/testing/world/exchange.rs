//! Lets other threads call functions of a test.
//!
//! Starlark values of a test belong to its thread. A handler of the tested script runs elsewhere, so a mock or fake
//! server that is a function of the test sends a message here. The test's thread serves these messages while it waits
//! for the handler.

use std::collections::HashSet;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value as Json;
use starlark::eval::Evaluator;
use starlark::values::Value;
use starlark::values::dict::{DictMut, DictRef};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use proxy_script::{Context, ScriptError, Stop, convert, script_error};

pub(crate) struct Exchange {
    sender: Sender<ExchangeMessage>,
    inbox: Mutex<Inbox>,
    next_id: AtomicU64,
    runtime: Handle,
    deadline: Instant,
}

struct Inbox {
    receiver: Receiver<ExchangeMessage>,
    /// Futures that completed while the test's thread waited for another one.
    completed: HashSet<u64>,
}

enum ExchangeMessage {
    Call { function: String, argument: Json, reply: oneshot::Sender<Json> },
    Completed(u64),
}

impl Exchange {
    /// Futures run on `runtime`; waiting for them fails at `deadline`.
    pub(super) fn new(runtime: Handle, deadline: Instant) -> Self {
        let (sender, receiver) = channel();
        let inbox = Mutex::new(Inbox { receiver, completed: HashSet::new() });
        Exchange { sender, inbox, next_id: AtomicU64::new(0), runtime, deadline }
    }

    fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock()
    }

    /// Calls a function of the test on the test's thread. Returns None if the test has ended.
    pub(crate) async fn call(&self, function: &str, argument: Json) -> Option<Json> {
        let (reply, result) = oneshot::channel();
        self.sender.send(ExchangeMessage::Call { function: function.to_owned(), argument, reply }).ok()?;
        result.await.ok()
    }

    /// Stores a function of the test and returns the ID by which [`Exchange::call`] finds it.
    pub(crate) fn register<'v>(
        &self,
        function: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let registered =
            eval.module().extra_value().ok_or_else(|| script_error("functions can be registered in tests only"))?;
        let id = self.new_id().to_string();
        let key = eval.heap().alloc_str(&id).get_hashed_value();
        let mut functions = DictMut::from_value(registered).map_err(|error| script_error(error.to_string()))?;
        functions.aref.insert_hashed(key, function);
        Ok(id)
    }

    /// Waits for a future and meanwhile serves calls of the test's functions. A function that fails aborts the future.
    pub(crate) fn wait_for<'v, T: Send + 'static>(
        &self,
        eval: &mut Evaluator<'v, '_, '_>,
        future: impl Future<Output = T> + Send + 'static,
    ) -> starlark::Result<T> {
        let (id, sender) = (self.new_id(), self.sender.clone());
        let task = self.runtime.spawn(async move {
            let output = future.await;
            // An error means that the test has ended.
            let _ = sender.send(ExchangeMessage::Completed(id));
            output
        });
        loop {
            if self.inbox().completed.remove(&id) {
                return self.runtime.block_on(task).map_err(|_| script_error("the request panicked"));
            }
            match self.next_message() {
                None => {
                    task.abort();
                    Context::of(eval)?.wait(|| Err::<(), Stop>(Stop::Deadline))?;
                }
                Some(ExchangeMessage::Completed(other)) => {
                    self.inbox().completed.insert(other);
                }
                Some(ExchangeMessage::Call { function, argument, reply }) => {
                    match call_registered(&function, &argument, eval) {
                        // The receiver is gone if the caller was cancelled.
                        Ok(result) => drop(reply.send(result)),
                        Err(error) => {
                            task.abort();
                            return Err(error);
                        }
                    }
                }
            }
        }
    }

    /// Receives the next message. Returns None at the deadline.
    fn next_message(&self) -> Option<ExchangeMessage> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.inbox().receiver.recv_timeout(left).ok()
    }
}

/// Calls a registered function; must run on the test's thread.
pub(super) fn call_registered<'v>(
    id: &str,
    argument: &Json,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Json> {
    let heap = eval.heap();
    let registered = eval.module().extra_value().and_then(DictRef::from_value).and_then(|all| all.get_str(id));
    let function = registered.ok_or_else(|| script_error("this function belongs to another test"))?;
    let argument = convert::to_starlark(argument, heap)?;
    let result = Context::of(eval)?.invoke(eval, function, &[argument], &[])?;
    convert::to_json(result, heap).map_err(|error| {
        ScriptError::new(format!("`{function}` returned a value that cannot be converted to JSON: {error}")).into()
    })
}
