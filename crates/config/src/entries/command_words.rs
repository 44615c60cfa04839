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

/// Whether a command starts this proxy: the program itself, or a package runner with its package.
pub fn is_this_proxy<'a>(words: impl IntoIterator<Item = &'a str>) -> bool {
    let mut words = words.into_iter();
    let Some(program) = words.next() else { return false };
    let program = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let args: Vec<&str> = words.collect();
    let Some(serve) = args.iter().position(|argument| *argument == "serve") else { return false };
    let is_package = |argument: &&str| argument.split(['@', '=']).next() == Some(PACKAGE);
    program == "proxy" || program == PACKAGE || args[..serve].iter().any(is_package)
}
