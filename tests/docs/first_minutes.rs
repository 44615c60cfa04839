//! The sections that a reader follows from an empty folder: their files are written and their commands run in the order in
//! which they stand there.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::console::commands;
use super::markdown::{self, Block};
use super::root;
use crate::support::finished::Finished;
use crate::support::temp_dir::TempDir;
use crate::support::{programs, real_servers};

/// Sections of a page, which a reader follows in the same folder.
#[derive(Clone, Copy)]
struct Walkthrough {
    page: &'static str,
    headings: &'static [&'static str],
}

const FIRST_MINUTES: Walkthrough = Walkthrough {
    page: "docs/getting-started/first-steps.md",
    headings: &["## The first five minutes", "## Write your own script"],
};
const FROM_STARLARK_MCP: Walkthrough =
    Walkthrough { page: "docs/getting-started/from-starlark-mcp.md", headings: &["## A worked example"] };
const FROM_TOOLSCRIPT: Walkthrough =
    Walkthrough { page: "docs/getting-started/from-toolscript.md", headings: &["## A worked example"] };

/// Whether the block belongs to such a section.
pub fn is_of_section(block: &Block) -> bool {
    [FIRST_MINUTES, FROM_STARLARK_MCP, FROM_TOOLSCRIPT].iter().any(|walkthrough| walkthrough.has(block))
}

fn line_of(block: &Block) -> usize {
    block.place.rsplit(':').next().and_then(|line| line.parse().ok()).expect("a line")
}

impl Walkthrough {
    fn text(self) -> String {
        markdown::read(&root().join(self.page))
    }

    fn has(self, block: &Block) -> bool {
        if block.place.rsplit_once(':').map(|(page, _)| page) != Some(self.page) {
            return false;
        }
        let text = self.text();
        let headings: Vec<&str> = text.lines().take(line_of(block)).filter(|line| line.starts_with("## ")).collect();
        headings.last().is_some_and(|heading| self.headings.contains(heading))
    }

    /// The name in the last code span before the block: "Save this as `policy.star`:".
    fn file_name(self, block: &Block) -> String {
        let text = self.text();
        let before: Vec<&str> = text.lines().take(line_of(block) - 1).collect();
        let start = before.iter().rposition(|line| line.starts_with("```")).map_or(0, |at| at + 1);
        markdown::code_spans(&before[start..].join("\n")).pop().expect("the text before a file names it")
    }

    /// Does everything that the sections say, on a machine with the proxy and these programs.
    async fn follow(self, programs_of_reader: &[(&str, &Command)]) {
        let world = TempDir::new();
        world.directory("bin");
        stand_in(&world, "proxy", &programs::proxy());
        for (name, command) in programs_of_reader {
            stand_in(&world, name, command);
        }
        let (folder, home) = (world.directory("empty"), world.directory("home"));
        let path = format!("{}:{}", world.path().join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let blocks = markdown::blocks(&root().join(self.page)).into_iter().filter(|block| self.has(block));
        let blocks: Vec<Block> = blocks.collect();
        assert!(blocks.len() >= 5, "the sections have {} blocks", blocks.len());
        for block in blocks {
            if block.language != "console" {
                world.write(&format!("empty/{}", self.file_name(&block)), &block.text);
                continue;
            }
            for (line, shown) in commands(&block) {
                let mut command = Command::new("sh");
                command.args(["-c", &line]).current_dir(&folder).env("HOME", &home).env("PATH", &path);
                command.env("XDG_RUNTIME_DIR", world.directory("runtime"));
                command.env_remove("XDG_CACHE_HOME").env_remove("XDG_CONFIG_HOME");
                let finished = Finished::run(command).await;
                // Each command succeeds, and shows what the page shows.
                assert_eq!(finished.code, 0, "{}: `{line}`\n{}{}", block.place, finished.stdout, finished.stderr);
                let is_shown = shown.is_empty() || is_as_shown(&finished.stdout, &shown);
                assert!(is_shown, "{}: `{line}`\n{}", block.place, finished.stdout);
            }
        }
    }
}

/// Whether this is the output on the page, where `...` stands for what differs from run to run.
fn is_as_shown(output: &str, shown: &str) -> bool {
    let Some((first, others)) = shown.split_once("...") else { return output == shown };
    let Some(mut rest) = output.strip_prefix(first) else { return false };
    let (middle, last) = others.rsplit_once("...").map_or((None, others), |(middle, last)| (Some(middle), last));
    for part in middle.into_iter().flat_map(|middle| middle.split("...")) {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// A program of this name for the commands of the page.
fn stand_in(folder: &TempDir, name: &str, command: &Command) {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
    // `uvx` has the name of the package as its first argument.
    let skip = if name == "uvx" { "shift; " } else { "" };
    let file = folder.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{skip}exec {} \"$@\"\n", words.join(" ")));
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_newcomer_gets_from_nothing_to_a_tested_policy_in_five_minutes() {
    let Some(time) = real_servers::time() else { return };
    FIRST_MINUTES.follow(&[("uvx", &time)]).await;
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn an_extension_of_starlark_mcp_runs_unchanged_and_then_better() {
    FROM_STARLARK_MCP.follow(&[]).await;
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_script_of_toolscript_is_carried_over() {
    let Some(time) = real_servers::time() else { return };
    FROM_TOOLSCRIPT.follow(&[("uvx", &time)]).await;
}
