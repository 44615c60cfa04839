//! A prompt on one line.

use std::io::Write;

use crate::cli::failure::CommandFailure;

/// What the user types after the question.
pub(in crate::cli) fn asked(question: &str) -> Result<String, CommandFailure> {
    let _ = write!(std::io::stderr(), "{question}");
    let mut answer = String::new();
    if std::io::stdin().read_line(&mut answer)? == 0 {
        // The end of the input means no. An empty line would mean the default answer.
        return Ok("n".to_owned());
    }
    Ok(answer.trim().to_owned())
}
