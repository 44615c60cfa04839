//! A command as a person at a terminal runs it. `script` of util-linux lends the terminal.

use std::process::{Command, Stdio};

use super::real_servers::missing;

/// The same command on a terminal so many characters wide; none, with a word, where nothing lends one.
pub fn on_a_terminal(command: &Command, columns: u16) -> Option<Command> {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        return missing("there is no `script` to lend a terminal");
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted: Vec<String> =
        words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"))).collect();
    let line = format!("stty rows 24 cols {columns}; exec {}", quoted.join(" "));
    let mut terminal = Command::new("script");
    terminal.args(["-q", "-e", "-c", &line, "/dev/null"]);
    terminal.current_dir(command.get_current_dir().expect("a test has its own directory"));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    Some(terminal)
}
