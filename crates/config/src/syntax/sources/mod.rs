//! Values that a config takes from elsewhere: `${file:PATH}`, `${credential:NAME}` and `${exec:PROGRAM ARGS}`. A load reads
//! each file and runs each command once.

mod expression;
mod file;
mod value;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proxy_model::Secret;

pub use expression::SecretCommand;
pub(crate) use expression::{Source, SourceProblem};
pub(crate) use file::fingerprint;

use super::variable_lookup::VariableLookup;

/// The folder of credentials, which systemd names in this variable.
const CREDENTIALS_FOLDER: &str = "CREDENTIALS_DIRECTORY";
const CREDENTIAL_HINT: &str =
    "systemd sets it for a service with `LoadCredential=NAME:FILE`; elsewhere write `${file:PATH}`";

/// Runs commands, and returns the output of each, or why there is none.
pub type CommandRunner<'a> = dyn Fn(&[SecretCommand]) -> Vec<Result<Vec<u8>, String>> + 'a;

/// Which of these values a load reads. The others stay as they are written.
#[derive(Clone, Copy)]
pub enum SecretValues<'a> {
    Unread,
    /// Those in files. A credential is left out where there is no folder of credentials: in a shell, for example.
    OfFiles,
    All(&'a CommandRunner<'a>),
}

/// How much is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Nothing,
    Files,
    /// Files, and which commands there are.
    WantedCommands,
    Outputs,
}

type Read = Result<Secret, SourceProblem>;

/// The values that one load has read so far.
pub(crate) struct Sources<'a> {
    reading: Reading,
    environment: &'a VariableLookup<'a>,
    files: RefCell<BTreeMap<PathBuf, Read>>,
    /// The commands that the config needs, in order, with their outputs once they have run.
    commands: RefCell<BTreeMap<SecretCommand, Option<Read>>>,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(reading: Reading, environment: &'a VariableLookup<'a>) -> Self {
        Sources { reading, environment, files: RefCell::default(), commands: RefCell::default() }
    }

    /// The value of a source; `None` if it is left unread. `folder` is the base of relative paths.
    pub(crate) fn value(&self, source: &Source, folder: &Path) -> Result<Option<Secret>, SourceProblem> {
        match source {
            Source::File(path) => self.file(&expression::file_path(path, folder)?, path),
            Source::Credential(name) => self.credential(expression::credential_name(name)?),
            Source::Command(words) => self.command(SecretCommand::parse(words, folder)?),
        }
    }

    fn file(&self, path: &Path, shown: &str) -> Result<Option<Secret>, SourceProblem> {
        if self.reading == Reading::Nothing {
            return Ok(None);
        }
        let mut files = self.files.borrow_mut();
        let read = files.entry(path.to_owned()).or_insert_with(|| file::read(path, shown));
        read.clone().map(Some)
    }

    fn credential(&self, name: &str) -> Result<Option<Secret>, SourceProblem> {
        match credentials_folder(self.environment) {
            Some(folder) => self.file(&folder.join(name), name),
            None if matches!(self.reading, Reading::Nothing | Reading::Files) => Ok(None),
            None => {
                let problem = format!("the credential `{name}` cannot be read: `${CREDENTIALS_FOLDER}` is not set");
                Err(SourceProblem::new(problem, CREDENTIAL_HINT))
            }
        }
    }

    fn command(&self, command: SecretCommand) -> Result<Option<Secret>, SourceProblem> {
        if self.reading == Reading::Nothing {
            return Ok(None);
        }
        let mut commands = self.commands.borrow_mut();
        commands.entry(command).or_default().clone().transpose()
    }

    /// Runs the commands that the config needs. From now on they have values.
    pub(crate) fn run(&mut self, run: &CommandRunner) {
        let commands = self.commands.get_mut();
        let wanted: Vec<SecretCommand> = commands.keys().cloned().collect();
        let outputs = run(&wanted);
        for (command, output) in wanted.into_iter().zip(outputs) {
            let value = output.and_then(|bytes| value::of_output(bytes).map_err(str::to_owned));
            let read = value.map_err(|problem| command.problem(&problem));
            commands.insert(command, Some(read));
        }
        self.reading = Reading::Outputs;
    }

    pub(crate) fn has_commands(&self) -> bool {
        !self.commands.borrow().is_empty()
    }

    /// Every value that was read.
    pub(crate) fn values(&self) -> Vec<Secret> {
        let files = self.files.borrow();
        let commands = self.commands.borrow();
        let outputs = commands.values().flatten();
        files.values().chain(outputs).flatten().cloned().collect()
    }
}

/// The files behind a source, which a reload has to watch.
pub(crate) fn file_of(source: &Source, folder: &Path, environment: &VariableLookup) -> Option<PathBuf> {
    match source {
        Source::File(path) => expression::file_path(path, folder).ok(),
        Source::Credential(name) => {
            let name = expression::credential_name(name).ok()?;
            Some(credentials_folder(environment)?.join(name))
        }
        Source::Command(_) => None,
    }
}

fn credentials_folder(environment: &VariableLookup) -> Option<PathBuf> {
    environment(CREDENTIALS_FOLDER).map(PathBuf::from).filter(|folder| folder.is_absolute())
}
