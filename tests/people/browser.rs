//! The pages in a real browser: a person logs in, and what a page must not do is refused. `browser/` has the steps.

use std::path::Path;
use std::process::Command;

use super::World;
use crate::console::browser::chromium;
use crate::support::finished::Finished;
use crate::support::real_servers::browser_driver;

#[tokio::test]
#[ignore = "a real browser"]
async fn a_person_logs_in_with_a_browser_that_enforces_the_policy_of_the_pages() {
    let Some(chromium) = chromium() else { return };
    let Some(driver) = browser_driver() else { return };
    let world = World::start().await;
    let steps = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/people/browser/run.mjs");
    let mut command = Command::new("node");
    command.arg(steps).arg(world.page()).arg(&world.issuer.url);
    command.env("BROWSER_DRIVER", driver).env("CHROMIUM", chromium);
    let done = Finished::run(command).await.expect(0);
    assert_eq!(done.stdout.trim(), "connected, refused: inline script, image, fetch, frame");
    assert!(world.is_connected("ann").await);
}
