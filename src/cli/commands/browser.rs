//! Opens a URL in a browser. It never passes through a shell, because the authorization URL comes from a server.

use std::io;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// The commands that can open the URL, in the order in which they are tried.
pub(super) struct Browser {
    commands: std::vec::IntoIter<Vec<String>>,
    /// The running command.
    running: Option<(String, Child)>,
    /// Why the commands before it failed.
    problems: Vec<String>,
}

impl Browser {
    /// Starts the first command that can be started.
    pub(super) fn open(url: &str) -> Self {
        let commands = commands(std::env::var("BROWSER").ok().as_deref(), has_display());
        let problems = if commands.is_empty() { vec!["there is no display".to_owned()] } else { Vec::new() };
        let commands: Vec<Vec<String>> = commands.iter().map(|words| with_url(words, url)).collect();
        let mut browser = Browser { commands: commands.into_iter(), running: None, problems };
        browser.start_next();
        browser
    }

    fn start_next(&mut self) {
        self.running = None;
        for words in self.commands.by_ref() {
            let Some((program, arguments)) = words.split_first() else { continue };
            match spawn(program, arguments) {
                Ok(child) => {
                    self.running = Some((program.clone(), child));
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.problems.push(format!("the command `{program}` was not found"));
                }
                Err(error) => self.problems.push(format!("`{program}`: {error}")),
            }
        }
    }

    /// Completes with the reasons if no command opened a browser; otherwise never completes.
    pub(super) async fn failed(mut self) -> String {
        while let Some((program, child)) = &mut self.running {
            match child.wait().await {
                Ok(status) if !status.success() => self.problems.push(format!("`{program}` ended with {status}")),
                _ => return std::future::pending().await,
            }
            self.start_next();
        }
        self.problems.join("; ")
    }
}

/// Its output must not mix with the output of this command, and Ctrl-C here must not close the browser.
fn spawn(program: &str, arguments: &[String]) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn()
}

/// The commands, split into words: those in `BROWSER`, separated by colons, or the system's command.
fn commands(browser: Option<&str>, has_display: bool) -> Vec<Vec<String>> {
    let words = |command: &str| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let named = browser.unwrap_or_default().split(':').map(words).filter(|words| !words.is_empty());
    let named: Vec<Vec<String>> = named.collect();
    match named.is_empty() {
        false => named,
        true if cfg!(target_os = "macos") => vec![words("open")],
        // Without a display `xdg-open` looks for browsers that need the terminal.
        true if has_display => vec![words("xdg-open")],
        true => Vec::new(),
    }
}

fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].into_iter().any(is_set)
}

/// The URL replaces `%s`, or is the last argument.
fn with_url(words: &[String], url: &str) -> Vec<String> {
    let has_place = words.iter().skip(1).any(|word| word.contains("%s"));
    let filled = words.iter().enumerate();
    let mut filled: Vec<String> =
        filled.map(|(at, word)| if at > 0 { word.replace("%s", url) } else { word.clone() }).collect();
    if !has_place {
        filled.push(url.to_owned());
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_one_argument_wherever_it_stands() {
        let opened = |browser: &str| with_url(&commands(Some(browser), false)[0], "https://a/?x=1&y=$(b) c;'");
        assert_eq!(opened("firefox"), ["firefox", "https://a/?x=1&y=$(b) c;'"]);
        assert_eq!(opened(" lynx  -accept_all_cookies "), ["lynx", "-accept_all_cookies", "https://a/?x=1&y=$(b) c;'"]);
        assert_eq!(opened("chromium --app=%s --new"), ["chromium", "--app=https://a/?x=1&y=$(b) c;'", "--new"]);
    }

    #[test]
    fn several_browsers_stand_between_colons() {
        assert_eq!(commands(Some("firefox --new::lynx"), false), [vec!["firefox", "--new"], vec!["lynx"]]);
    }

    #[test]
    fn without_a_display_there_is_no_browser_unless_one_is_named() {
        if !cfg!(target_os = "macos") {
            let none: Vec<Vec<String>> = Vec::new();
            assert_eq!((commands(None, false), commands(Some(" :"), false)), (none.clone(), none));
            assert_eq!(commands(None, true), [["xdg-open"]]);
        }
        assert_eq!(commands(Some("w3m"), false), [["w3m"]]);
    }
}
