//! Everything that parses what somebody else wrote, fed with damaged input. Each target runs for `FUZZ_SECONDS`, two by
//! default; a failure is shrunk and printed. What a longer run finds becomes a line of the corpus in `tests/corpus/fuzz`.

mod challenges;
mod config;
mod damage;
mod framing;
mod headers;
mod imports;
mod json;
mod messages;
mod schemas;
mod sealed;
mod sse;
mod templates;
mod workers;

use std::time::{Duration, Instant};

use proptest::sample::Index;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};

/// Checks the property with new input until the time is over.
fn fuzz<S: Strategy>(input: &S, property: impl Fn(S::Value) -> TestCaseResult) {
    let seconds = std::env::var("FUZZ_SECONDS").map_or(2, |text| text.parse().expect("FUZZ_SECONDS is a number"));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    while Instant::now() < end {
        if let Err(failure) = runner.run(input, &property) {
            panic!("{failure}");
        }
    }
}

/// Cuts bytes at these positions, as a network might.
fn chunks(bytes: &[u8], cuts: &[Index]) -> Vec<Vec<u8>> {
    let mut positions: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    positions.push(bytes.len());
    positions.sort_unstable();
    let mut from = 0;
    let mut parts = Vec::new();
    for to in positions {
        parts.push(bytes[from..to].to_vec());
        from = to;
    }
    parts
}
