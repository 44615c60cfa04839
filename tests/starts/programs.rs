//! Programs that the shell of a user finds, and a program started from a desktop does not.

use std::process::Command;

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::real_servers::missing;

const SHORT_PATH: &str = "/usr/bin:/bin";

/// A proxy with a server `notes-server`, as a desktop starts it. The program is a script for an interpreter that is beside
/// it, as those of npm are, in this folder below the home folder.
fn from_a_desktop(folder: &str) -> Proxy {
    let backend = fake_backend(["--only", "echo"]);
    let arguments: Vec<_> = backend.get_args().map(|argument| argument.to_string_lossy()).collect();
    let line = format!("exec '{}' {}", backend.get_program().display(), arguments.join(" "));
    let config = Config::new().server("notes", &Command::new("notes-server"));
    Proxy::new(&config)
        .environment("PATH", SHORT_PATH)
        .environment("SHELL", "/bin/bash")
        .executable(&format!("home/{folder}/notes-server"), "#!/usr/bin/env notes-node\n")
        .executable(&format!("home/{folder}/notes-node"), &format!("#!/bin/sh\n{line}\n"))
}

#[tokio::test]
async fn a_program_of_nvm_is_found_with_the_node_that_it_needs() {
    let proxy = from_a_desktop(".nvm/versions/node/v22.9.0/bin");
    let checked = proxy.run(["check"]).await.expect(0);
    assert!(!checked.stderr.contains("notes-server"), "{checked:?}");
    let mut served = proxy.stdio();
    served.client.initialize("2025-11-25").await.result();
    assert_eq!(served.tools().await, ["echo"]);
    served.client.stderr().line("/v22.9.0/bin/notes-server").await;
}

#[tokio::test]
async fn a_program_in_the_path_of_the_log_in_shell_is_found_whatever_else_its_files_print_and_ask() {
    let proxy = from_a_desktop("odd place").file("home/.bash_profile", "echo Welcome!; . ~/.bashrc\n").file(
        "home/.bashrc",
        "case $- in *i*) read -p 'Continue? ' answer; export PATH=\"$HOME/odd place:$PATH\";; esac\n",
    );
    let listed = proxy.run(["list-tools"]).await.expect(0);
    assert_eq!(listed.column(), ["echo"]);
}

#[tokio::test]
async fn a_program_in_the_path_of_a_fish_shell_is_found() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(fish) = std::env::split_paths(&path).map(|folder| folder.join("fish")).find(|file| file.is_file()) else {
        let _: Option<()> = missing("there is no `fish`");
        return;
    };
    let proxy = from_a_desktop("odd place")
        .environment("SHELL", fish.to_str().expect("its path is UTF-8"))
        .file("home/.config/fish/config.fish", "echo Welcome!\nfish_add_path \"$HOME/odd place\"\n");
    let listed = proxy.run(["list-tools"]).await.expect(0);
    assert_eq!(listed.column(), ["echo"]);
}

#[tokio::test]
async fn what_is_nowhere_is_told_with_the_places_that_were_searched() {
    let proxy = from_a_desktop("elsewhere");
    let problem = "in `PATH`, in the folders of nvm, Homebrew and others, or in the log-in shell's `PATH`";
    let checked = proxy.run(["check"]).await.expect(0);
    assert!(checked.stderr.contains(&format!("there is no program `notes-server` {problem}")), "{checked:?}");
    let listed = proxy.run(["list-servers", "--live", "--json"]).await.expect(1).json();
    assert_eq!(listed[0]["error"], format!("the command `notes-server` was not found {problem}"));
    let hanging = from_a_desktop("elsewhere").file("home/.bash_profile", "sleep 600\n");
    let checked = hanging.run(["check"]).await.expect(0);
    assert!(checked.stderr.contains("the log-in shell did not print its `PATH` within 2 s"), "{checked:?}");
}

#[tokio::test]
async fn a_server_with_a_path_of_its_own_is_looked_for_there_alone() {
    let config = Config::new().server_with(
        "notes",
        &Command::new("notes-server"),
        serde_json::json!({"env": {"PATH": SHORT_PATH}}),
    );
    let proxy = Proxy::new(&config).executable("home/.local/bin/notes-server", "#!/bin/sh\nexit 1\n");
    let listed = proxy.run(["list-servers", "--live", "--json"]).await.expect(1).json();
    assert_eq!(listed[0]["error"], "the command `notes-server` was not found");
}
