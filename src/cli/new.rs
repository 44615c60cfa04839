//! `proxy new`: the beginning of an extension.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::output;
use crate::builtins::is_plain_name;
use crate::diagnostic::Diagnostic;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A `.star` file that gives a tool, and its test
    Extension {
        /// What it is called: letters, digits, `_` and `-`
        name: String,
        /// Where to write it
        #[arg(long, value_name = "DIR", default_value = "extensions")]
        folder: PathBuf,
    },
}

const EXTENSION: &str = include_str!("new_extension.star");
const TEST: &str = include_str!("new_extension_test.star");
const PLACEHOLDER: &str = "NAME";

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let What::Extension { name, folder } = &arguments.what;
    // It becomes the name of a file, and of a module in load().
    if !is_plain_name(name) || name.contains('.') || name.ends_with("_test") {
        let hint = "letters, digits, `_` and `-`; a name that ends with `_test` is a test";
        let diagnostic = Diagnostic::error(format!("an extension cannot be called `{name}`")).hint(hint);
        return Err(Failure::failed(diagnostic));
    }
    let files = [(folder.join(format!("{name}.star")), EXTENSION), (folder.join(format!("{name}_test.star")), TEST)];
    if let Some((there, _)) = files.iter().find(|(file, _)| file.exists()) {
        return Err(Failure::failed(is_there(there)));
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

/// Never over what is there.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).open(file);
    opened.and_then(|mut opened| opened.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::failed(is_there(file)),
        _ => Failure::failed(Diagnostic::error(format!("`{}` cannot be written: {error}", file.display()))),
    })
}

fn is_there(file: &Path) -> Diagnostic {
    Diagnostic::error(format!("`{}` is there already", file.display())).hint("another name, or --folder DIR")
}
