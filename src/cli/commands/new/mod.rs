//! `proxy new`: scaffolds an extension and its test.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::builtins::is_plain_name;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use crate::diagnostic::Diagnostic;

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    #[command(subcommand)]
    what: NewCommand,
}

#[derive(Debug, Subcommand)]
enum NewCommand {
    /// Write a `.star` file with a tool, and a test for it
    Extension {
        /// Name of the extension: letters, digits, `_` and `-`
        name: String,
        /// Folder to write to
        #[arg(long, value_name = "DIR", default_value = "extensions")]
        folder: PathBuf,
    },
}

const EXTENSION: &str = include_str!("extension.star");
const TEST: &str = include_str!("extension_test.star");
const PLACEHOLDER: &str = "NAME";

pub(super) fn run(args: &NewArgs) -> Result<(), CommandFailure> {
    let NewCommand::Extension { name, folder } = &args.what;
    // The name becomes a file name, and a module name in load().
    if !is_plain_name(name) || name.contains('.') || name.ends_with("_test") {
        let hint = "use letters, digits, `_` and `-`; names that end in `_test` are reserved for tests";
        let diagnostic = Diagnostic::error(format!("`{name}` is not a valid name for an extension")).hint(hint);
        return Err(CommandFailure::failed(diagnostic));
    }
    let files = [(folder.join(format!("{name}.star")), EXTENSION), (folder.join(format!("{name}_test.star")), TEST)];
    if let Some((existing, _)) = files.iter().find(|(file, _)| file.exists()) {
        return Err(CommandFailure::failed(already_exists(existing)));
    }
    std::fs::create_dir_all(folder)?;
    for (file, text) in &files {
        write(file, &text.replace(PLACEHOLDER, name))?;
    }
    let [(extension, _), (test, _)] = &files;
    output::err(&format!(
        "wrote {0} and {1}. Next: `proxy test {1}`, then `proxy call --extension {0} greet name=Ann`",
        extension.display(),
        test.display()
    ));
    Ok(())
}

/// Writes a new file and never overwrites an existing one.
fn write(file: &Path, text: &str) -> Result<(), CommandFailure> {
    let opened = OpenOptions::new().write(true).create_new(true).open(file);
    opened.and_then(|mut opened| opened.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CommandFailure::failed(already_exists(file)),
        _ => CommandFailure::failed(Diagnostic::error(format!("cannot write `{}`: {error}", file.display()))),
    })
}

fn already_exists(file: &Path) -> Diagnostic {
    Diagnostic::error(format!("`{}` already exists", file.display()))
        .hint("choose another name, or another folder with --folder DIR")
}
