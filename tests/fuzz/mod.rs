//! Everything that parses what somebody else wrote, fed with damaged input. By default each target gets the same inputs in
//! every run, so that a test fails because of a change and not by chance; `FUZZ_SECONDS` feeds it new ones for so long.
//! A failure is shrunk and printed. What such a run finds becomes a line of the corpus in `tests/corpus/fuzz`.

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
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};

/// How many inputs a target gets without `FUZZ_SECONDS`.
const CASES: u32 = 512;

/// Checks the property: with the same inputs as ever, or with new ones until the time is over.
fn fuzz<S: Strategy>(input: &S, property: impl Fn(S::Value) -> TestCaseResult) {
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let Ok(seconds) = std::env::var("FUZZ_SECONDS") else {
        return check(
            &mut TestRunner::new(Config { cases: CASES, rng_seed: RngSeed::Fixed(1), ..config }),
            input,
            &property,
        );
    };
    let end = Instant::now() + Duration::from_secs(seconds.parse().expect("FUZZ_SECONDS is a number"));
    let mut runner = TestRunner::new(config);
    while Instant::now() < end {
        check(&mut runner, input, &property);
    }
}

fn check<S: Strategy>(runner: &mut TestRunner, input: &S, property: &impl Fn(S::Value) -> TestCaseResult) {
    if let Err(failure) = runner.run(input, property) {
        panic!("{failure}");
    }
}

/// Whether serde_json accepts the grammar of this text, whatever is in its strings.
fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<&serde_json::value::RawValue>(bytes).is_ok()
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
