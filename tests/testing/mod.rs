//! `proxy test`: given this test file, the person sees exactly that.

mod changed_servers;
mod examples;
mod reports;
mod running;
mod sessions;
mod stand_ins;
mod time_and_people;

use crate::support::finished::Finished;
use crate::support::proxy::Proxy;

/// A folder with these files and an empty config.
fn folder(files: &[(&str, &str)]) -> Proxy {
    files.iter().fold(Proxy::with_config_text(""), |proxy, (name, text)| proxy.file(name, text))
}

/// How a test file of this text ends.
async fn tested(text: &str) -> Finished {
    folder(&[("a_test.star", text)]).run(["test", "a_test.star"]).await
}

/// Runs a file of which every test must pass.
async fn passes(text: &str) {
    tested(text).await.expect(0);
}

/// What is said of the only test of a file, which must fail.
async fn fails(text: &str) -> String {
    let finished = tested(text).await.expect(1);
    let (_, told) = finished.stdout.split_once('\n').expect("a line for the test comes first");
    let (told, _) = told.rsplit_once("\n0 passed, 1 failed in ").unwrap_or_else(|| panic!("{}", finished.stdout));
    told.trim_end().to_owned()
}
