//! `proxy new`: scaffolds a policy or an extension with its test, or a test alone.

mod templates;
mod test_of_policy;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::test;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use proxy_author::lint::Role;
use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::is_plain_name;
use proxy_script::Source;
use templates::{Template, filled};

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    #[command(subcommand)]
    what: NewCommand,
}

#[derive(Debug, Subcommand)]
enum NewCommand {
    /// Write a session script, and a test for it
    Policy {
        /// Name of the script: letters, digits, `_` and `-`
        name: String,
        /// Folder to write to [default: scripts]
        #[arg(long, value_name = "DIR", default_value = "scripts", hide_default_value = true)]
        folder: PathBuf,
    },
    /// Write an extension with a tool, a resource and a prompt, and its test
    Extension(ExtensionArgs),
    /// Write an extension with one tool, and its test
    Tool(ExtensionArgs),
    /// Write an extension with a resource and a template, and its test
    Resource(ExtensionArgs),
    /// Write an extension with one prompt, and its test
    Prompt(ExtensionArgs),
    /// Write a test for a script or an extension
    Test {
        /// Name of the script or extension, without `.star`
        name: String,
        /// Folder of the script, and of the new test [default: the one that `proxy test` searches and that has the script]
        #[arg(long, value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
struct ExtensionArgs {
    /// Name of the extension, and of its only tool, prompt or resource: letters, digits, `_` and `-`
    name: String,
    /// Folder to write to [default: extensions]
    #[arg(long, value_name = "DIR", default_value = "extensions", hide_default_value = true)]
    folder: PathBuf,
}

/// A policy with this name, and its test.
pub(in crate::cli::commands) fn policy_example(name: &str) -> (String, String) {
    (templates::POLICY.script(name), templates::POLICY.test(name))
}

pub(super) fn run(args: &NewArgs) -> Result<(), CommandFailure> {
    match &args.what {
        NewCommand::Policy { name, folder } => {
            check_name(name, "a policy")?;
            let (script, test) = write_both(folder, name, &templates::POLICY)?;
            output::err(&format!(
                "wrote {script} and {test}. Next: `proxy test {test}`, then `proxy list-tools --script {script}`. To use it, write \
                 `sessionInit: {{ scriptFile: {script} }}` into the config"
            ));
            Ok(())
        }
        NewCommand::Extension(args) => new_extension(args, &templates::EXTENSION, "call", "greet name=Ann"),
        NewCommand::Tool(args) => new_extension(args, &templates::TOOL, "call", "NAME text='one two three' limit=2"),
        NewCommand::Resource(args) => new_extension(args, &templates::RESOURCE, "read", "resource://NAME/rooms"),
        NewCommand::Prompt(args) => new_extension(args, &templates::PROMPT, "prompt", "NAME changes='Faster start'"),
        NewCommand::Test { name, folder } => {
            check_name(name, "a test")?;
            new_test(name, folder.as_deref())
        }
    }
}

/// Writes an extension, and says how to use its items: with this command and these arguments.
fn new_extension(
    ExtensionArgs { name, folder }: &ExtensionArgs,
    template: &Template,
    command: &str,
    arguments: &str,
) -> Result<(), CommandFailure> {
    check_name(name, "an extension")?;
    let (script, test) = write_both(folder, name, template)?;
    let arguments = filled(arguments, name);
    output::err(&format!(
        "wrote {script} and {test}. Next: `proxy test {test}`, then `proxy {command} --extension {script} {arguments}`. To serve \
         it, write `extensions: {{ paths: [{}] }}` into the config",
        folder.display()
    ));
    Ok(())
}

/// The name becomes a file name, and a module name in load().
fn check_name(name: &str, what: &str) -> Result<(), CommandFailure> {
    if is_plain_name(name) && !name.contains('.') && !name.ends_with("_test") {
        return Ok(());
    }
    let hint = "use letters, digits, `_` and `-`; names that end in `_test` are reserved for tests";
    Err(CommandFailure::failed(Diagnostic::error(format!("`{name}` is not a valid name for {what}")).hint(hint)))
}

/// Writes a script and its test, and returns their paths.
fn write_both(folder: &Path, name: &str, template: &Template) -> Result<(String, String), CommandFailure> {
    let files = [
        (folder.join(format!("{name}.star")), template.script(name)),
        (folder.join(format!("{name}_test.star")), template.test(name)),
    ];
    if let Some((existing, _)) = files.iter().find(|(file, _)| file.exists()) {
        return Err(CommandFailure::failed(already_exists(existing)));
    }
    std::fs::create_dir_all(folder)?;
    for (file, text) in &files {
        write(file, text)?;
    }
    let [(script, _), (test, _)] = &files;
    Ok((script.display().to_string(), test.display().to_string()))
}

/// Writes a test beside the script of this name. If there is none, the test is for the preset.
fn new_test(name: &str, folder: Option<&Path>) -> Result<(), CommandFailure> {
    let (root, searched) = test::searched(&[])?;
    let folders: Vec<PathBuf> = match folder {
        Some(folder) => vec![folder.to_owned()],
        None => {
            // Where `proxy test` will find it.
            let mut folders = searched;
            folders.retain(|folder| folder.is_dir() && *folder != Path::new("."));
            let current = std::env::current_dir()?;
            let below = |folder: &str| {
                let folder = root.join(folder);
                folder.strip_prefix(&current).map(Path::to_owned).unwrap_or(folder)
            };
            folders.splice(0..0, [below("scripts"), below("extensions")]);
            folders.push(below(""));
            folders
        }
    };
    let mut scripts = folders.iter().map(|folder| folder.join(format!("{name}.star")));
    let script = scripts.find(|script| script.is_file());
    let Some(script) = &script else {
        let folder = folders.first().map_or(Path::new(""), PathBuf::as_path);
        let file = write_test(folder, name, &filled(templates::TEST_OF_PRESET, name))?;
        output::err(&format!("wrote {0}, a test of the preset `default`. Next: `proxy test {0}`", file.display()));
        return Ok(());
    };
    let text = std::fs::read_to_string(script).map_err(|error| {
        CommandFailure::failed(Diagnostic::error(format!("cannot read `{}`: {error}", script.display())))
    })?;
    let folder = script.parent().unwrap_or(Path::new(""));
    if Role::of_text(&Source::at(name, text, script)) == Role::Extension {
        let file = write_test(folder, name, &filled(templates::TEST_OF_EXTENSION, name))?;
        output::err(&format!("wrote {0}, a test of {1}. Next: `proxy test {0}`", file.display(), script.display()));
        return Ok(());
    }
    let text = test_of_policy::text(name, script);
    let file = write_test(folder, name, &text)?;
    let found = test_of_policy::add_published(&text, &file, &root);
    output::err(&format!("wrote {0}, a test of {1}. Next: `proxy test {0}`", file.display(), script.display()));
    if let Err(problem) = found {
        let warning = Diagnostic::warning(format!("the test does not pass yet: {}", problem.message));
        output::diagnostics(&[warning.hint("write the servers and tools that the script expects into `SERVERS`")]);
    }
    Ok(())
}

fn write_test(folder: &Path, name: &str, text: &str) -> Result<PathBuf, CommandFailure> {
    let file = folder.join(format!("{name}_test.star"));
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(folder)?;
    }
    write(&file, text)?;
    Ok(file)
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
