//! Finds the operations that become tools.

use std::collections::HashMap;

use crate::document::{Documents, Node, Place};
use crate::notes::Notes;

/// HEAD, OPTIONS and TRACE say something about an API; they do nothing that a model would ask for.
const METHODS: [(&str, &str); 5] =
    [("get", "GET"), ("put", "PUT"), ("post", "POST"), ("delete", "DELETE"), ("patch", "PATCH")];
const MAX_OPERATIONS: usize = 10_000;
/// At how many paths one path item may stand. A reference is short, and what it refers to is read at each path.
const MAX_SHARED: usize = 100;

pub(crate) struct FoundOperation<'d> {
    pub(crate) method: &'static str,
    pub(crate) path: &'d str,
    pub(crate) place: Place<'d>,
    /// The path item, whose parameters belong to all of its operations.
    pub(crate) item: Place<'d>,
}

impl FoundOperation<'_> {
    /// `GET /pets`, for messages.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

pub(crate) fn operations<'d>(documents: &'d Documents, notes: &Notes) -> Vec<FoundOperation<'d>> {
    let root = documents.root();
    let mut found = Vec::new();
    let mut own_servers = 0;
    let mut uses: HashMap<*const Node, usize> = HashMap::new();
    for (path, node) in root.node.members_of("paths") {
        if path.starts_with("x-") {
            continue;
        }
        if let Some(problem) = path_problem(path) {
            notes.add(format!("the path `{path}` is left out: {problem}"));
            continue;
        }
        let item = match documents.object(root.at(node)) {
            Ok(item) => item,
            Err(problem) => {
                notes.add(format!("the path `{path}` is left out: {problem}"));
                continue;
            }
        };
        let uses = uses.entry(std::ptr::from_ref(item.node)).or_default();
        *uses += 1;
        if *uses > MAX_SHARED {
            notes.add(format!("more than {MAX_SHARED} paths refer to one path item: the others are left out"));
            continue;
        }
        for (name, node) in item.node.map().into_iter().flat_map(|map| map.iter()) {
            let Some((_, method)) = METHODS.iter().find(|(key, _)| *key == name) else { continue };
            if node.map().is_none() {
                continue;
            }
            if found.len() == MAX_OPERATIONS {
                notes.add(format!("only the first {MAX_OPERATIONS} operations are tools"));
                return found;
            }
            own_servers += usize::from(node.get("servers").or_else(|| item.node.get("servers")).is_some());
            found.push(FoundOperation { method, path, place: item.at(node), item });
        }
    }
    if own_servers > 0 {
        notes.add(format!(
            "{own_servers} operations name `servers` of their own, which are ignored: all requests go to the `url` of the \
             server"
        ));
    }
    found
}

/// Why requests to a path could leave the API.
fn path_problem(path: &str) -> Option<&'static str> {
    let plain = path.split(['?', '#']).next().unwrap_or_default();
    if !path.starts_with('/') {
        return Some("it does not begin with `/`");
    }
    if plain.starts_with("//") || plain.contains('\\') || plain.chars().any(char::is_control) {
        return Some("it could name another host");
    }
    let decoded = percent_encoding::percent_decode_str(plain).decode_utf8_lossy();
    if decoded.split('/').any(|segment| segment == "." || segment == "..") {
        return Some("it contains `.` or `..`");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_url() {
        for path in ["/", "/pets/{id}", "/a..b", "/?Action=List", "/a#b", "/a:run", "/@me"] {
            assert_eq!(path_problem(path), None, "{path}");
        }
        for path in [
            "pets",
            "https://evil.example/",
            "//evil.example/",
            "/\\evil",
            "/a/../b",
            "/a/./b",
            "/%2e%2e/b",
            "/a\nb",
            "",
        ] {
            assert!(path_problem(path).is_some(), "{path}");
        }
    }
}
