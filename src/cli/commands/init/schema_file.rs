//! The JSON Schema beside a new config file. It is a separate file, so that editors need no network, and its path is
//! relative, so that it is valid on other machines.

use std::path::Path;

use super::super::config_schema;

const NAME: &str = "proxy.schema.json";

/// Writes the schema beside the config and returns its name. Returns `None` if that is not possible: the config works
/// without it.
pub(super) fn write(config: &Path) -> Option<&'static str> {
    let path = config.parent().unwrap_or(Path::new("")).join(NAME);
    let is_ours = |text: String| text.contains("\"title\": \"proxy.yaml\"");
    if path.exists() && !std::fs::read_to_string(&path).is_ok_and(is_ours) {
        return None;
    }
    std::fs::write(&path, config_schema::text() + "\n").ok().map(|()| NAME)
}

/// The line by which editors find the schema.
pub(super) fn comment(name: &str) -> String {
    format!("# yaml-language-server: $schema={name}\n")
}
