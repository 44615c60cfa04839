//! What is wrong with an entry that starts this proxy, and the command that mends it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::commands::entry_options::{configs_of, profile_of};
use crate::cli::commands::install::is_ours;
use crate::cli::setup::{self, SourceArgs};
use proxy_base::process::{find_program, is_executable};
use proxy_config::entries::{command_words, is_this_proxy};
use proxy_config::import::ImportClient;

/// An entry of a client's file.
pub(super) struct ClientEntry<'a> {
    client: &'a ImportClient,
    is_project: bool,
    name: &'a str,
    entry: &'a Value,
    words: Vec<String>,
}

impl<'a> ClientEntry<'a> {
    /// `None` if it starts another program.
    pub(super) fn of(client: &'a ImportClient, is_project: bool, name: &'a str, entry: &'a Value) -> Option<Self> {
        let words = command_words(entry);
        let is_proxy = is_this_proxy(words.iter().map(String::as_str));
        is_proxy.then_some(ClientEntry { client, is_project, name, entry, words })
    }

    /// What is wrong with it, and the fix.
    pub(super) fn fault(&self) -> Option<(String, String)> {
        if let Some(problem) = missing_program(self.words.first()?) {
            let anew = || format!("{} writes the entry anew", self.command(self.usable_profile()));
            let fix = self.unless_manual("write the path of this program into the entry", anew);
            return Some((problem, fix));
        }
        let configs = configs_of(&self.words);
        if let Some(gone) = configs.iter().find(|file| Path::new(file).is_absolute() && !Path::new(file).is_file()) {
            return Some((format!("the config `{gone}` is gone"), self.fix_of_config()));
        }
        let profile = profile_of(&self.words)?;
        let config = self.config()?;
        if knows_profile(&config, profile)? {
            return None;
        }
        let without = || format!("add it to `profiles`, or {} writes the entry without it", self.command(None));
        let fix = self.unless_manual("add it to `profiles`, or name another one in the entry", without);
        Some((format!("{} has no profile `{profile}`", config.display()), fix))
    }

    fn fix_of_config(&self) -> String {
        let kept = self.usable_profile();
        let lost = match profile_of(&self.words) {
            Some(profile) if kept.is_none() => format!(", without the profile `{profile}`"),
            _ => String::new(),
        };
        let anew = || format!("{} writes the entry anew{lost}", self.command(kept));
        self.unless_manual("put the file back, or name another one in the entry", anew)
    }

    /// `proxy install` would refuse the entry of another program, and names one config only.
    fn unless_manual(&self, manual: &str, command: impl FnOnce() -> String) -> String {
        if configs_of(&self.words).len() > 1 || !is_ours(self.entry) { manual.to_owned() } else { command() }
    }

    /// The config that it serves, if the client's folder does not decide that.
    fn config(&self) -> Option<PathBuf> {
        match configs_of(&self.words).as_slice() {
            [] if self.is_project => found_here(),
            [] => {
                let folder = setup::user_config_folder();
                proxy_config::find(None, Path::new("/nonexistent"), folder.as_deref()).ok()?
            }
            [named] => Some(PathBuf::from(named)).filter(|file| file.is_absolute()),
            _ => None,
        }
    }

    /// The config that it names, if `proxy install` can name it again.
    fn usable_config(&self) -> Option<&str> {
        configs_of(&self.words).into_iter().find(|file| Path::new(file).is_file())
    }

    /// Its profile, unless the config that it has when it is written anew has none of this name.
    fn usable_profile(&self) -> Option<&str> {
        let profile = profile_of(&self.words)?;
        let config = self.usable_config().map(PathBuf::from).or_else(found_here);
        let is_known = config.is_none_or(|config| knows_profile(&config, profile).unwrap_or(true));
        is_known.then_some(profile)
    }

    /// The command that writes the entry anew with the options that it has.
    fn command(&self, profile: Option<&str>) -> String {
        let mut command = format!("proxy install {}", self.client.name);
        if self.is_project {
            command.push_str(" --scope project");
        }
        let name = Some(self.name).filter(|name| *name != "proxy");
        for (option, value) in [("--name", name), ("--config", self.usable_config()), ("--profile", profile)] {
            if let Some(value) = value {
                command.push_str(&format!(" {option} {}", shell_word(value)));
            }
        }
        format!("`{command}`")
    }
}

fn missing_program(program: &str) -> Option<String> {
    if program.contains('/') {
        let path = Path::new(program);
        let is_there = path.is_file() && is_executable(path);
        return if is_there { None } else { Some(format!("`{program}` is gone")) };
    }
    let found = find_program(program, |name| std::env::var_os(name));
    found.err().map(|_| format!("there is no program `{program}`"))
}

/// What a command finds that is told of no config.
fn found_here() -> Option<PathBuf> {
    let folder = std::env::current_dir().ok()?;
    setup::find_config(None, &folder, setup::user_config_folder().as_deref()).ok()?
}

/// `None` if the config cannot be read, which is another fault.
fn knows_profile(config: &Path, profile: &str) -> Option<bool> {
    let (loaded, _) = SourceArgs::of_file(config).load_with_warnings().ok()?;
    Some(loaded.config.select_profile(profile).is_ok())
}

/// The word as a shell reads it.
fn shell_word(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+@%:,=".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
