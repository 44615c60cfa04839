//! Console blocks: every command line of the proxy parses, and what the README shows is what comes out.

use std::path::Path;
use std::process::Command;

use super::markdown::{self, Block};
use super::{blocks, first_minutes, root};
use crate::support::finished::Finished;
use crate::support::programs;
use crate::support::temp_dir::TempDir;

/// The commands of a block, each with the output that is shown for it.
pub fn commands(block: &Block) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in block.text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((command, output))) if output.is_empty() && command.ends_with('\\') => {
                command.pop();
                command.push_str(line.trim_start());
            }
            (None, Some((_, output))) => {
                output.push_str(line);
                output.push('\n');
            }
            (None, None) => panic!("{}: a console block begins with `$ `", block.place),
        }
    }
    commands
}

/// The part after `proxy`, however the proxy is started.
fn arguments(command: &str) -> Option<&str> {
    ["proxy", "cargo run --"].iter().find_map(|start| command.strip_prefix(start)).map(str::trim_start)
}

/// Through a shell, so that quotes mean what they mean to a reader.
fn shell(arguments: &str, folder: &Path, home: &TempDir) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec \"$PROXY\" {arguments}")]).current_dir(folder);
    command.env("PROXY", programs::proxy().get_program()).env("HOME", home.path());
    command.env_remove("XDG_CACHE_HOME").env_remove("XDG_CONFIG_HOME");
    command
}

#[tokio::test]
async fn every_command_line_parses() {
    let home = TempDir::new();
    let mut checked = 0;
    for block in blocks(&["console"]) {
        for (command, _) in commands(&block) {
            let Some(arguments) = arguments(&command) else { continue };
            // Help is given only if everything before it is understood.
            let finished = Finished::run(shell(&format!("{arguments} --help"), home.path(), &home)).await;
            assert_eq!(finished.code, 0, "{}: `{command}`\n{}", block.place, finished.stderr);
            checked += 1;
        }
    }
    assert!(checked > 10, "only {checked} command lines were found");
}

#[tokio::test]
async fn the_readme_and_the_guide_show_what_comes_out() {
    let home = TempDir::new();
    let mut compared = 0;
    let pages = [root().join("README.md"), root().join("docs/getting-started/first-steps.md")];
    for block in pages
        .iter()
        .flat_map(|page| markdown::blocks(page))
        .filter(|block| block.language == "console" && !first_minutes::is_of_section(block))
    {
        for (command, shown) in commands(&block) {
            let Some(arguments) = arguments(&command).filter(|_| !shown.is_empty()) else { continue };
            let finished = Finished::run(shell(arguments, root(), &home)).await;
            assert_eq!(finished.stdout, shown, "{}: `{command}`\n{}", block.place, finished.stderr);
            compared += 1;
        }
    }
    assert!(compared >= 3, "only {compared} outputs were compared");
}
