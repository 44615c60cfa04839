//! The name of a script below the folder, as a model writes it.

use std::fmt;
use std::path::{Component, Path};

use proxy_base::diagnostic::Diagnostic;
use proxy_base::foreign_text::{has_hidden, quoted};

/// The longest name that every file system keeps.
const MAX_LENGTH: usize = 200;
const SUFFIX: &str = ".star";

/// A relative path of plain names that ends in `.star`. Whether it leads through links is known only where it is opened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScriptPath(String);

impl ScriptPath {
    pub(super) fn parse(text: &str) -> Result<ScriptPath, Diagnostic> {
        let path = parse_below(text)?;
        if !path.ends_with(SUFFIX) || path == SUFFIX || path.ends_with("/.star") {
            let problem = format!("{} is no script: its name does not end in `{SUFFIX}`", quoted(text));
            return Err(Diagnostic::error(problem).hint("the config and the lock are changed by people only"));
        }
        Ok(ScriptPath(path))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_test(&self) -> bool {
        self.0.ends_with("_test.star")
    }
}

impl fmt::Display for ScriptPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A path below the folder, of plain names that are not hidden.
pub(super) fn parse_below(text: &str) -> Result<String, Diagnostic> {
    let refused = |why: &str| {
        let problem = format!("{} {why}", quoted(text));
        Err(Diagnostic::error(problem)
            .hint("name a file below the folder, such as `policy.star` or `scripts/policy.star`"))
    };
    if text.is_empty() || text.len() > MAX_LENGTH {
        return refused("is not the name of a file");
    }
    if has_hidden(text) || text.contains(['\n', '\t', '\\']) {
        return refused("has characters that no file here has in its name");
    }
    let mut names = Vec::new();
    for component in Path::new(text).components() {
        let Component::Normal(name) = component else {
            return refused("is not below the folder");
        };
        let name = name.to_str().unwrap_or_default();
        if name.starts_with('.') {
            return refused("is a hidden file, or in a hidden folder");
        }
        names.push(name);
    }
    Ok(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scripts_below_the_folder_have_a_name() {
        for (text, path) in
            [("a.star", "a.star"), ("scripts//b_test.star", "scripts/b_test.star"), ("a b.star", "a b.star")]
        {
            assert_eq!(ScriptPath::parse(text).map(|path| path.to_string()), Ok(path.to_owned()));
        }
        for text in [
            "",
            "../a.star",
            "a/../../b.star",
            "/etc/a.star",
            "./a.star",
            ".hidden/a.star",
            ".a.star",
            ".star",
            "a/.star",
            "proxy.yaml",
            "proxy.lock",
            "a.star/",
            "a.star\0",
            "a\u{202e}.star",
            "a\n.star",
            "a.STAR",
            &format!("{}.star", "a".repeat(300)),
        ] {
            if text == "a.star/" {
                assert_eq!(ScriptPath::parse(text).map(|path| path.to_string()), Ok("a.star".to_owned()));
                continue;
            }
            assert!(ScriptPath::parse(text).is_err(), "{text:?}");
        }
    }
}
