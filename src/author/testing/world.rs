//! What one test has of the world.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use starlark::eval::Evaluator;
use tokio::runtime::Handle;

use super::clock::TestClock;
use super::exchange::Exchange;
use super::host::TestHost;
use super::mocks::StandIns;
use super::one::Test;
use super::person::Person;
use super::run::DEADLINE;
use crate::diagnostic::Diagnostic;
use crate::host_io::Reach;
use crate::json::{Raw, RawRef};
use crate::script::{Context, ScriptError, script_error};
use crate::store::Store;

pub(super) struct TestWorld {
    pub test: Test,
    pub runtime: Handle,
    pub deadline: Instant,
    pub clock: TestClock,
    pub store: Store,
    pub exchange: Exchange,
    pub stand_ins: StandIns,
    pub reach: Arc<Reach>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    printed: Vec<String>,
    /// Whoever was to answer questions.
    people: Vec<Arc<Person>>,
}

impl TestWorld {
    pub(super) fn new(test: &Test, runtime: Handle) -> Self {
        let clock = TestClock::new();
        let ticking = clock.clone();
        TestWorld {
            test: test.clone(),
            runtime,
            deadline: Instant::now() + DEADLINE,
            store: Store::memory_with(Arc::new(move || ticking.micros())),
            clock,
            exchange: Exchange::new(),
            stand_ins: StandIns::default(),
            reach: Arc::clone(&test.reach),
            notes: Mutex::default(),
        }
    }

    /// The world of the test that runs; `what` needs one.
    pub(super) fn of<'a>(eval: &Evaluator<'_, 'a, '_>, what: &str) -> starlark::Result<&'a Arc<TestWorld>> {
        let host = Context::of(eval)?.host.as_ref().ok_or_else(|| {
            ScriptError::new(format!("`{what}` is possible only while a test runs, not at the top level"))
                .hint("call it inside of a function `test_...()`, or of a function that tests call")
        })?;
        let host = host.test.as_ref().and_then(|test| test.downcast_ref::<TestHost>());
        host.map(|host| &host.world).ok_or_else(|| script_error(format!("`{what}` works in tests only")))
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn print(&self, line: String) {
        self.notes().printed.push(line);
    }

    pub(super) fn printed(&self) -> Vec<String> {
        self.notes().printed.clone()
    }

    pub(super) fn expect_answers_of(&self, person: &Arc<Person>) {
        self.notes().people.push(Arc::clone(person));
    }

    /// What is said in place of the world: time passes only where the test lets it, and what it has taken is its own.
    /// `call` calls a function of the test.
    pub(super) fn stands_in(
        &self,
        kind: &str,
        request: &RawRef,
        call: impl FnOnce(&str, &Value) -> Result<Value, String>,
    ) -> Option<Result<Raw, String>> {
        if matches!(kind, "sleep" | "time.sleep") {
            let seconds = request.get().parse().unwrap_or_default();
            self.clock.advance(Duration::try_from_secs_f64(seconds).unwrap_or_default());
            return Some(Ok(RawRef::NULL.to_owned()));
        }
        self.stand_ins.answer(kind, request, call)
    }

    /// What is wrong at the end of a test that has not failed.
    pub(super) fn complaint(&self) -> Option<Diagnostic> {
        let unmatched = self.stand_ins.unmatched();
        let left = self.notes().people.iter().find_map(|person| person.left_over());
        unmatched.or(left)
    }
}
