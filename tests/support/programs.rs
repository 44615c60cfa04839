//! The programs under test and the ones they talk to, as commands.

use std::path::PathBuf;
use std::process::Command;

pub fn proxy() -> Command {
    Command::new(env!("CARGO_BIN_EXE_proxy"))
}

/// The misbehaving raw server.
pub fn fake_backend<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    example("fake-backend", arguments)
}

/// The well-behaved server on rmcp.
pub fn rmcp_server<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    example("rmcp-server", arguments)
}

fn example<'a>(name: &str, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(example_path(name));
    command.args(arguments);
    command
}

/// The tests run from `deps`; examples are built beside it.
fn example_path(name: &str) -> PathBuf {
    let this = std::env::current_exe().expect("the test knows its own path");
    let built = this.parent().and_then(|deps| deps.parent()).expect("the test is in deps");
    let path = built.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(path.exists(), "{} is not built: run `cargo build --examples`", path.display());
    path
}
