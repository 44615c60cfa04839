//! The plugin for Claude Code: its skill teaches what works, and its server is a proxy of its own version.

use std::path::PathBuf;
use std::process::Command;

use super::build::{VERSION, built, executable, unpack};
use crate::support::finished::Finished;
use crate::support::programs;
use crate::support::temp_dir::TempDir;

/// The plugin as Claude Code installs it.
async fn installed() -> (TempDir, PathBuf) {
    let folder = TempDir::new();
    let archive = built().await.join(format!("starlark-mcp-proxy-{VERSION}-claude-plugin.tar.gz"));
    unpack(&archive, folder.path()).await;
    let plugin = folder.path().join("starlark-mcp-proxy");
    (folder, plugin)
}

#[tokio::test]
async fn the_policy_and_the_test_of_the_skill_work_together() {
    let (folder, plugin) = installed().await;
    let skill = plugin.join("skills/write-mcp-policy/SKILL.md");
    let text = std::fs::read_to_string(skill).expect("a skill");
    let blocks: Vec<&str> = text.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [policy, test] = blocks[..] else { panic!("a policy and a test: {blocks:?}") };
    folder.write("policy.star", policy);
    folder.write("policy_test.star", test);
    let mut command = programs::proxy();
    command.arg("test").current_dir(folder.path()).env("HOME", folder.path());

    let done = Finished::run(command).await.expect(0);

    assert!(done.stdout.contains("2 tests, all passed"), "{}", done.stdout);
    // A skill begins with its name and when to use it.
    assert!(text.starts_with("---\nname: write-mcp-policy\ndescription: "), "{text}");
}

/// The plugin's server with only these programs in the PATH.
async fn start(programs: &[(&str, &str)]) -> Command {
    let (folder, plugin) = installed().await;
    let path = TempDir::new();
    for (name, text) in programs {
        executable(&path, name, &format!("#!/bin/sh\n{text}\n"));
    }
    let mut command = Command::new("/bin/sh");
    command.arg(plugin.join("start")).arg("author").env("PATH", path.path());
    // They live until the command has run.
    std::mem::forget((folder, path));
    command
}

#[tokio::test]
async fn the_server_is_an_installed_proxy_of_the_same_version() {
    let ours = format!("[ \"$1\" = --version ] && echo proxy {VERSION} || echo \"ours $*\"");
    let command = start(&[("proxy", &ours), ("npx", "echo npx")]).await;
    assert_eq!(Finished::run(command).await.expect(0).stdout, "ours author\n");
}

#[tokio::test]
async fn without_one_the_server_comes_from_npm_or_pypi() {
    // Other programs are called `proxy` too.
    let other = ("proxy", "echo a proxy of libproxy");
    let command = start(&[other, ("npx", "echo \"npx $*\""), ("uvx", "echo uvx")]).await;
    assert_eq!(Finished::run(command).await.expect(0).stdout, format!("npx -y starlark-mcp-proxy@{VERSION} author\n"));
    let command = start(&[other, ("uvx", "echo \"uvx $*\"")]).await;
    assert_eq!(Finished::run(command).await.expect(0).stdout, format!("uvx starlark-mcp-proxy=={VERSION} author\n"));
}

#[tokio::test]
async fn without_anything_the_error_says_what_to_install() {
    let refused = Finished::run(start(&[]).await).await.expect(1);
    assert!(refused.stderr.contains(&format!("there is no proxy {VERSION}, and neither npx nor uvx")));
    assert!(refused.stderr.contains("\nhint: install "), "{}", refused.stderr);
}
