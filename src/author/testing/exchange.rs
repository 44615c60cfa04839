//! Functions of a test live on its thread and can run nowhere else. What runs elsewhere, such as a handler of the tested
//! script, asks for them here; the test's thread answers while it waits for that handler.

use std::collections::HashSet;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value as Json;
use starlark::eval::Evaluator;
use starlark::values::Value;
use starlark::values::dict::{DictMut, DictRef};
use tokio::sync::oneshot;

use super::world::TestWorld;
use crate::script::{Context, ScriptError, Stop, convert, script_error};

pub(super) struct Exchange {
    sender: Sender<Message>,
    inner: Mutex<Inner>,
    next: AtomicU64,
}

struct Inner {
    receiver: Receiver<Message>,
    /// What has ended while somebody waited for something else.
    ended: HashSet<u64>,
}

enum Message {
    Call { function: String, argument: Json, reply: oneshot::Sender<Json> },
    Ended(u64),
}

impl Exchange {
    pub(super) fn new() -> Self {
        let (sender, receiver) = channel();
        Exchange { sender, inner: Mutex::new(Inner { receiver, ended: HashSet::new() }), next: AtomicU64::new(0) }
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the test's thread call one of its functions; none if the test is over.
    pub(super) async fn call(&self, function: &str, argument: Json) -> Option<Json> {
        let (reply, answer) = oneshot::channel();
        self.sender.send(Message::Call { function: function.to_owned(), argument, reply }).ok()?;
        answer.await.ok()
    }

    /// Takes the next message; none after the deadline.
    fn next(&self, deadline: Instant) -> Option<Message> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.inner().receiver.recv_timeout(left).ok()
    }
}

/// Keeps a function of the test, for others to ask for by the name that is returned.
pub(super) fn keep<'v>(
    world: &TestWorld,
    function: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<String> {
    let kept = eval.module().extra_value().ok_or_else(|| script_error("this function works in tests only"))?;
    let name = world.exchange.number().to_string();
    let key = eval.heap().alloc_str(&name).get_hashed_value();
    let mut functions = DictMut::from_value(kept).map_err(|error| script_error(error.to_string()))?;
    functions.aref.insert_hashed(key, function);
    Ok(name)
}

/// Waits for something that runs elsewhere, and meanwhile calls the functions that it asks for. One that fails ends it.
pub(super) fn wait_for<'v, T: Send + 'static>(
    world: &TestWorld,
    eval: &mut Evaluator<'v, '_, '_>,
    future: impl Future<Output = T> + Send + 'static,
) -> starlark::Result<T> {
    let (own, sender) = (world.exchange.number(), world.exchange.sender.clone());
    let running = world.runtime.spawn(async move {
        let output = future.await;
        // Nobody waits any more.
        let _ = sender.send(Message::Ended(own));
        output
    });
    let broken = |_| script_error("what the test waited for broke down");
    loop {
        if world.exchange.inner().ended.remove(&own) {
            return world.runtime.block_on(running).map_err(broken);
        }
        match world.exchange.next(world.deadline) {
            None => {
                running.abort();
                Context::of(eval)?.wait(|| Err::<(), Stop>(Stop::Deadline))?;
            }
            Some(Message::Ended(number)) => {
                world.exchange.inner().ended.insert(number);
            }
            Some(Message::Call { function, argument, reply }) => match called(&function, &argument, eval) {
                // Who asked may have been cancelled.
                Ok(answer) => drop(reply.send(answer)),
                Err(error) => {
                    running.abort();
                    return Err(error);
                }
            },
        }
    }
}

/// Calls a function of the test on the test's own thread.
pub(super) fn called<'v>(name: &str, argument: &Json, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Json> {
    let heap = eval.heap();
    let kept = eval.module().extra_value().and_then(DictRef::from_value).and_then(|kept| kept.get_str(name));
    let function = kept.ok_or_else(|| script_error("a function of the test is gone"))?;
    let argument = convert::to_starlark(argument, heap)?;
    let answer = Context::of(eval)?.invoke(eval, function, &[argument], &[])?;
    convert::to_json(answer, heap)
        .map_err(|error| ScriptError::new(format!("`{function}` returned what cannot become JSON: {error}")).into())
}
