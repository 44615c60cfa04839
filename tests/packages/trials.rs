//! What the trials of `packages/try` rely on. The trials themselves need a release.

use std::process::Command;

use super::in_checkout;
use crate::support::finished::Finished;

#[tokio::test]
async fn the_trials_know_a_static_program() {
    let mut tests = Command::new("python3");
    tests.args(["-B", "-m", "unittest", "--quiet", "trials.tests"]).current_dir(in_checkout("packages"));
    Finished::run(tests).await.expect(0);
}
