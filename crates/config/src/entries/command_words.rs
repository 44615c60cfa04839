//! The command of an entry, and whether it starts this proxy.

use std::path::Path;

use serde_json::Value as Json;

/// The name of the packages of the proxy on npm and PyPI.
const PACKAGE: &str = proxy_base::NAME;

/// The program and its arguments, however the client writes them; empty if the entry has no command.
pub fn command_words(entry: &Json) -> Vec<String> {
    let strings = |value: &Json| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(Json::as_str).map(str::to_owned).collect()
    };
    let mut words = match &entry["command"] {
        Json::String(program) => vec![program.clone()],
        // opencode
        Json::Array(_) => strings(&entry["command"]),
        // Zed, in earlier versions
        Json::Object(command) => {
            let program = command.get("path").and_then(Json::as_str).map(str::to_owned);
            return program.into_iter().chain(command.get("args").map(strings).unwrap_or_default()).collect();
        }
        _ => return Vec::new(),
    };
    words.extend(strings(&entry["args"]));
    words
}

/// Whether a command may start this proxy: a program of its name, or its package. Another program may have that name.
pub fn is_this_proxy<'a>(words: impl IntoIterator<Item = &'a str>) -> bool {
    let words: Vec<&str> = words.into_iter().collect();
    let is_named = program(&words) == Some("proxy") && words[1..].contains(&"serve");
    is_named || is_our_package(words)
}

/// Whether a command starts this proxy by the name of its package: the program, or a package runner's argument.
pub fn is_our_package<'a>(words: impl IntoIterator<Item = &'a str>) -> bool {
    let words: Vec<&str> = words.into_iter().collect();
    let Some(program) = program(&words) else { return false };
    let args = &words[1..];
    let Some(serve) = args.iter().position(|argument| *argument == "serve") else { return false };
    let is_package = |argument: &&str| argument.split(['@', '=']).next() == Some(PACKAGE);
    program == PACKAGE || args[..serve].iter().any(is_package)
}

/// The name of the program without its folder; `None` if there is none.
fn program<'a>(words: &[&'a str]) -> Option<&'a str> {
    Path::new(*words.first()?).file_name()?.to_str()
}
