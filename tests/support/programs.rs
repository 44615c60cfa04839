//! The programs under test and the ones they talk to, as commands.

use std::process::Command;

use super::examples;
use super::program::Program;

pub fn proxy() -> Command {
    Command::new(env!("CARGO_BIN_EXE_proxy"))
}

/// The misbehaving raw server.
pub fn fake_backend<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    example("fake-backend", arguments)
}

/// The same, listening: with its URL.
pub async fn fake_http_backend(arguments: &[&str]) -> (Program, String) {
    Program::start_server(fake_backend(["--http", "127.0.0.1:0"].into_iter().chain(arguments.iter().copied()))).await
}

/// The well-behaved server on rmcp.
pub fn rmcp_server<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    example("rmcp-server", arguments)
}

/// Runs another program where the system refuses layers of the jail of scripts.
pub fn refusing<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    example("refusing", arguments)
}

fn example<'a>(name: &str, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(examples::path(name));
    command.args(arguments);
    command
}
