//! `proxy completions SHELL`: prints a completion script. The scripts of bash, zsh and fish run this command again, with
//! the command line behind `--`, and so complete the names of tools and servers too.

mod line;
mod values;

use clap::Args;
use clap_complete::Shell;

use crate::cli::failure::CommandFailure;
use crate::cli::output;
use line::{CommandLine, Wanted};
use values::Candidate;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to print the script for
    shell: Shell,
    /// The command line to complete: for bash its word breaks and the text, for others the words
    #[arg(last = true, hide = true)]
    line: Vec<String>,
}

pub(super) fn run(args: &CompletionsArgs) -> Result<(), CommandFailure> {
    if !args.line.is_empty() {
        return complete(args);
    }
    match args.shell {
        Shell::Bash => output::out(include_str!("proxy.bash").trim_end()),
        Shell::Zsh => output::out(include_str!("proxy.zsh").trim_end()),
        Shell::Fish => output::out(include_str!("proxy.fish").trim_end()),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut crate::cli::command(), "proxy", &mut script);
            output::bytes(&script);
        }
    }
    Ok(())
}

/// Prints the candidates for the end of the command line, one per line. Fails without a message if a file is expected,
/// because the shell completes files itself.
fn complete(args: &CompletionsArgs) -> Result<(), CommandFailure> {
    let (line, breaks) = match (args.shell, &args.line[..]) {
        (Shell::Bash, [breaks, text]) => (CommandLine::split(text), breaks.as_str()),
        (Shell::Bash, _) => return Err(CommandFailure::usage("bash passes its word breaks and the text of the line")),
        (_, words) => (CommandLine::of_words(words), ""),
    };
    let candidates = match line.wanted() {
        Wanted::Files => return Err(CommandFailure::already_reported(1)),
        Wanted::Known(known) => known,
        Wanted::Arguments { kind, item } => {
            let mut found = values::arguments(kind, &item, &line.source());
            found.retain(|found| !found.value.split_once('=').is_some_and(|(name, _)| line.has_argument(name)));
            found
        }
        Wanted::Items { prefix, kind } => {
            let found = values::last_known(kind, &line.source());
            found.into_iter().map(|found| Candidate { value: format!("{prefix}{}", found.value), ..found }).collect()
        }
    };
    for candidate in candidates {
        match args.shell {
            Shell::Bash => {
                if let Some(text) = line.bash_text(&candidate.value, breaks) {
                    output::data(&text);
                }
            }
            _ if candidate.description.is_empty() => output::data(&candidate.value),
            _ => output::data(&format!("{}\t{}", candidate.value, candidate.description)),
        }
    }
    Ok(())
}
