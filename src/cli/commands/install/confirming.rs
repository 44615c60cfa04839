//! The question before a file is changed.

use std::io::IsTerminal;

use crate::cli::failure::CommandFailure;
use crate::cli::terminal::asked;

pub(super) fn confirmed(question: &str) -> Result<bool, CommandFailure> {
    if !std::io::stdin().is_terminal() {
        let problem = "standard input is not a terminal: pass --yes to accept these changes";
        return Err(CommandFailure::usage(problem));
    }
    Ok(matches!(asked(question)?.as_str(), "y" | "Y" | "yes"))
}
