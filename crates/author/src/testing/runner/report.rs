//! The results of a test run.

use std::time::Duration;

use serde_json::{Value, json};

use proxy_base::diagnostic::Diagnostic;

/// The result of one test, or of a file that could not be loaded.
#[derive(Clone, Debug)]
pub struct TestResult {
    /// The path as it was passed or found.
    pub file: String,
    /// The test function; None for a file that could not be loaded.
    pub test: Option<String>,
    /// The error; None for a test that passed.
    pub failure: Option<Box<Diagnostic>>,
    /// The output of `print()` and `log`, in the test and in the scripts under test.
    pub output: Vec<String>,
    pub duration: Duration,
}

impl TestResult {
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }

    /// The full name: `scripts/limits_test.star::test_burst`.
    pub fn name(&self) -> String {
        full_name(&self.file, self.test.as_deref())
    }

    fn to_json(&self) -> Value {
        let mut members = json!({
            "file": self.file,
            "name": self.test,
            "status": if self.passed() { "passed" } else { "failed" },
            "seconds": seconds(self.duration),
        });
        if let Some(failure) = &self.failure {
            let place = failure.place.as_ref();
            members["error"] = json!({
                "message": failure.message,
                "file": place.map(|place| place.file.as_str()),
                "line": place.map(|place| place.line()),
                "text": failure.render(false),
            });
            members["output"] = json!(self.output);
        }
        members
    }
}

pub(crate) fn full_name(file: &str, test: Option<&str>) -> String {
    test.map_or_else(|| file.to_owned(), |test| format!("{file}::{test}"))
}

/// All results, in the order of the files and of the tests in each file.
#[derive(Clone, Debug, Default)]
pub struct TestReport {
    pub ran: Vec<TestResult>,
    /// Wall-clock time of the whole run.
    pub duration: Duration,
}

impl TestReport {
    pub fn failed(&self) -> usize {
        self.ran.iter().filter(|ran| !ran.passed()).count()
    }

    pub fn passed(&self) -> usize {
        self.ran.len() - self.failed()
    }

    pub fn to_json(&self) -> Value {
        json!({
            "passed": self.passed(),
            "failed": self.failed(),
            "seconds": seconds(self.duration),
            "tests": self.ran.iter().map(TestResult::to_json).collect::<Vec<_>>(),
        })
    }
}

/// Seconds, rounded down to milliseconds.
pub(crate) fn seconds(duration: Duration) -> f64 {
    duration.as_millis() as f64 / 1000.0
}
