//! Everything a test can observe or change, in one value that the test, its sessions and its mocks share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::runtime::Handle;

use super::clock::TestClock;
use super::exchange::Exchange;
use super::mocks::TestMocks;
use super::scripted_user::ScriptedUser;
use super::test_case::TestCase;
use proxy_base::diagnostic::{Diagnostic, Location};
use proxy_json::{Raw, RawRef};
use proxy_store::Store;

/// A test that runs longer is stopped by its evaluator.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct TestWorld {
    pub test: TestCase,
    pub runtime: Handle,
    pub deadline: Instant,
    pub clock: TestClock,
    pub store: Store,
    pub exchange: Exchange,
    pub mocks: TestMocks,
    output: Mutex<TestOutput>,
}

#[derive(Default)]
struct TestOutput {
    lines: Vec<String>,
    /// The users of all sessions. Each must have been asked every question that the test has an answer for.
    users: Vec<Arc<ScriptedUser>>,
}

impl TestWorld {
    pub(crate) fn new(test: &TestCase, runtime: Handle) -> Self {
        let clock = TestClock::new();
        let store_clock = clock.clone();
        let deadline = Instant::now() + DEADLINE;
        TestWorld {
            test: test.clone(),
            exchange: Exchange::new(runtime.clone(), deadline),
            runtime,
            deadline,
            store: Store::memory_with(Arc::new(move || store_clock.micros())),
            clock,
            mocks: TestMocks::default(),
            output: Mutex::default(),
        }
    }

    fn output(&self) -> MutexGuard<'_, TestOutput> {
        self.output.lock()
    }

    pub(crate) fn print(&self, line: String) {
        self.output().lines.push(line);
    }

    pub(crate) fn printed(&self) -> Vec<String> {
        self.output().lines.clone()
    }

    /// Fails the test if answers of this user are left at its end.
    pub(crate) fn expect_answers_of(&self, user: &Arc<ScriptedUser>) {
        self.output().users.push(Arc::clone(user));
    }

    /// The result of an effect that the test replaces: a sleep advances the test's clock, and mocked requests get the
    /// mock's reply. Returns None for effects that are real. `call` calls a function of the test by its ID.
    pub(crate) fn mocked(
        &self,
        kind: &str,
        request: &RawRef,
        place: Option<Location>,
        call: impl FnOnce(&str, &Value) -> Result<Value, String>,
    ) -> Option<Result<Raw, String>> {
        if matches!(kind, "sleep" | "time.sleep") {
            let seconds = request.get().parse().unwrap_or_default();
            self.clock.advance(Duration::try_from_secs_f64(seconds).unwrap_or_default());
            return Some(Ok(RawRef::NULL.to_owned()));
        }
        self.mocks.reply(kind, request, place, call)
    }

    /// What is wrong at the end of a test whose function did not fail: a request without a mock, or an unused answer.
    pub(crate) fn final_error(&self) -> Option<Diagnostic> {
        let unmatched = self.mocks.unmatched();
        unmatched.or_else(|| self.output().users.iter().find_map(|user| user.unused_answers()))
    }
}
