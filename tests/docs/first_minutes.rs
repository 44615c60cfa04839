//! The section of the guide that a newcomer follows from an empty folder: its files are written and its commands run in the
//! order in which they stand there.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::console::commands;
use super::markdown::{self, Block};
use super::root;
use crate::support::finished::Finished;
use crate::support::programs;
use crate::support::real_servers;
use crate::support::temp_dir::TempDir;

const SECTION: &str = "## The first five minutes";

fn page() -> PathBuf {
    root().join("docs/guide.md")
}

/// Whether the block belongs to the section.
pub fn is_of_section(block: &Block) -> bool {
    let Some(line) = block.place.strip_prefix("docs/guide.md:").and_then(|line| line.parse::<usize>().ok()) else {
        return false;
    };
    let text = markdown::read(&page());
    let headings: Vec<&str> = text.lines().take(line).filter(|line| line.starts_with("## ")).collect();
    headings.last() == Some(&SECTION)
}

/// The name in the last code span before the block: "Save this as `policy.star`:".
fn file_name(block: &Block) -> String {
    let line: usize = block.place.rsplit(':').next().and_then(|line| line.parse().ok()).expect("a line");
    let text = markdown::read(&page());
    let before: Vec<&str> = text.lines().take(line - 1).collect();
    let start = before.iter().rposition(|line| line.starts_with("```")).map_or(0, |at| at + 1);
    markdown::code_spans(&before[start..].join("\n")).pop().expect("the text before a file names it")
}

/// A program of this name for the commands of the guide.
fn stand_in(folder: &TempDir, name: &str, command: &Command) {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
    // `uvx` has the name of the package as its first argument.
    let skip = if name == "uvx" { "shift; " } else { "" };
    let file = folder.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{skip}exec {} \"$@\"\n", words.join(" ")));
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[tokio::test]
async fn a_newcomer_gets_from_nothing_to_a_tested_policy_in_five_minutes() {
    // Given a machine with the proxy, and the server that the guide uses
    let Some(time) = real_servers::time() else { return };
    let world = TempDir::new();
    world.directory("bin");
    stand_in(&world, "proxy", &programs::proxy());
    stand_in(&world, "uvx", &time);
    let (folder, home) = (world.directory("empty"), world.directory("home"));
    let path = format!("{}:{}", world.path().join("bin").display(), std::env::var("PATH").unwrap_or_default());

    // When everything that the guide says is done
    let blocks: Vec<Block> = markdown::blocks(&page()).into_iter().filter(is_of_section).collect();
    assert!(blocks.len() >= 5, "the section has {} blocks", blocks.len());
    for block in blocks {
        if block.language != "console" {
            std::fs::write(folder.join(file_name(&block)), &block.text).expect("the folder is ours");
            continue;
        }
        for (line, shown) in commands(&block) {
            let mut command = Command::new("sh");
            command.args(["-c", &line]).current_dir(&folder).env("HOME", &home).env("PATH", &path);
            command.env("XDG_RUNTIME_DIR", world.directory("runtime"));
            command.env_remove("XDG_CACHE_HOME").env_remove("XDG_CONFIG_HOME");
            let finished = Finished::run(command).await;
            // Then each command succeeds, and shows what the guide shows
            assert_eq!(finished.code, 0, "{}: `{line}`\n{}{}", block.place, finished.stdout, finished.stderr);
            assert!(shown.is_empty() || finished.stdout == shown, "{}: `{line}`\n{}", block.place, finished.stdout);
        }
    }
}
