//! Clients that follow single resources.

mod fan_out;
mod gaps;
mod refusals;
mod updates;

use crate::support::config::Config;
use crate::support::program::Program;
use crate::support::programs::fake_backend;

const GREETING: &str = "memo://greeting";
const FAREWELL: &str = "memo://farewell";

fn era(modern: bool) -> &'static str {
    if modern { "modern" } else { "legacy" }
}

/// One server on a pipe.
fn on_a_pipe(modern: bool) -> Config {
    Config::new().server("fake", &fake_backend(["--era", era(modern), "--resources"]))
}

/// One server behind an address, which lives as long as the program does.
async fn behind_an_address(modern: bool, flags: &[&str]) -> (Program, Config) {
    let flags = ["--era", era(modern), "--resources", "--http", "127.0.0.1:0"].into_iter().chain(flags.iter().copied());
    let (program, url) = Program::start_server(fake_backend(flags)).await;
    (program, Config::new().remote("fake", &url))
}

/// How many messages of a record, as the tool `seen` shows it, hold this.
fn count(seen: &str, part: &str) -> usize {
    let seen: serde_json::Value = serde_json::from_str(seen).expect("a record is JSON");
    let messages = seen["messages"].as_array().expect("it has messages").iter();
    // Whoever waits for something names it too.
    let counts = |text: &str| text.contains(part) && !text.contains("wait_for");
    messages.filter(|message| message.as_str().is_some_and(counts)).count()
}
