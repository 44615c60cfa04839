//! Opens the authorization URL in a browser. It never passes through a shell: the URL comes from a server.

use std::io;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// A browser that is being opened, or why there is none.
pub(super) enum Browser {
    Started { program: String, child: Child },
    None(String),
}

impl Browser {
    pub(super) fn open(url: &str) -> Self {
        let Some(words) = command(std::env::var("BROWSER").ok().as_deref(), has_display()) else {
            return Browser::None("there is no display".to_owned());
        };
        let words = with_url(&words, url);
        let Some((program, arguments)) = words.split_first() else {
            return Browser::None("`BROWSER` is empty".to_owned());
        };
        match spawn(program, arguments) {
            Ok(child) => Browser::Started { program: program.clone(), child },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Browser::None(format!("the command `{program}` was not found"))
            }
            Err(error) => Browser::None(format!("`{program}`: {error}")),
        }
    }

    /// Completes with the reason if there is no browser; never, if it was opened.
    pub(super) async fn failed(self) -> String {
        match self {
            Browser::None(reason) => reason,
            Browser::Started { program, mut child } => match child.wait().await {
                Ok(status) if !status.success() => format!("`{program}` ended with {status}"),
                _ => std::future::pending().await,
            },
        }
    }
}

/// Its output would mix with that of this command. Ctrl-C here must not close the person's browser.
fn spawn(program: &str, arguments: &[String]) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn()
}

/// The words of the command: those of `BROWSER`, or the one that the system has.
fn command(browser: Option<&str>, has_display: bool) -> Option<Vec<String>> {
    match browser.map(str::trim).filter(|browser| !browser.is_empty()) {
        Some(browser) => Some(browser.split_whitespace().map(str::to_owned).collect()),
        None if cfg!(target_os = "macos") => Some(vec!["open".to_owned()]),
        // Without a display `xdg-open` looks for browsers that need the terminal.
        None => has_display.then(|| vec!["xdg-open".to_owned()]),
    }
}

fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].into_iter().any(is_set)
}

/// The URL takes the place of `%s`, or is the last argument.
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
        let opened = |browser: &str| with_url(&command(Some(browser), false).unwrap(), "https://a/?x=1&y=$(b) c;'");
        assert_eq!(opened("firefox"), ["firefox", "https://a/?x=1&y=$(b) c;'"]);
        assert_eq!(opened(" lynx  -accept_all_cookies "), ["lynx", "-accept_all_cookies", "https://a/?x=1&y=$(b) c;'"]);
        assert_eq!(opened("chromium --app=%s --new"), ["chromium", "--app=https://a/?x=1&y=$(b) c;'", "--new"]);
    }

    #[test]
    fn without_a_display_there_is_no_browser_unless_one_is_named() {
        if !cfg!(target_os = "macos") {
            assert_eq!(command(None, false), None);
            assert_eq!(command(Some(" "), false), None);
            assert_eq!(command(None, true), Some(vec!["xdg-open".to_owned()]));
        }
        assert_eq!(command(Some("w3m"), false), Some(vec!["w3m".to_owned()]));
    }
}
