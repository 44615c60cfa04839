//! Finds test files, runs their tests in parallel, and reports the results.

mod find;
mod jobs;
mod junit;
mod report;
mod run;
mod run_test;

pub use find::find;
pub use junit::junit;
pub use report::{TestReport, TestResult};
pub use run::{TestOptions, run};
