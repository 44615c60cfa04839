//! The parts of a `$ref`: a file relative to the file that has it, and a JSON pointer.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::node::Node;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// A pointer into the same document.
    Same(Cow<'a, str>),
    /// A file, by its path below the folder of the description, and a pointer into it.
    File(String, Cow<'a, str>),
}

/// Reads a reference that stands in the file at this path.
pub(crate) fn parse<'a>(reference: &'a str, in_file: &str) -> Result<Target<'a>, String> {
    let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let pointer = percent_decode_str(fragment).decode_utf8_lossy();
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(format!(
            "`{reference}` names an anchor; only paths such as `#/components/schemas/Pet` are followed"
        ));
    }
    if file.is_empty() {
        return Ok(Target::Same(pointer));
    }
    let path = below_the_folder(file, in_file).ok_or_else(|| {
        format!("`{reference}` is outside the folder of the description; only files below that folder are read")
    })?;
    Ok(if path == in_file { Target::Same(pointer) } else { Target::File(path, pointer) })
}

/// The path of a referenced file below the folder of the description; `None` if it is a URL, absolute, or leads out.
fn below_the_folder(file: &str, in_file: &str) -> Option<String> {
    let file = percent_decode_str(file).decode_utf8().ok()?;
    let is_path = !file.starts_with('/') && !file.contains([':', '\\', '?']) && !file.chars().any(char::is_control);
    if !is_path {
        return None;
    }
    let mut parts: Vec<&str> = in_file.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { None } else { Some(parts.join("/")) }
}

/// The value that a JSON pointer names.
pub(crate) fn follow<'a>(root: &'a Node, pointer: &str) -> Option<&'a Node> {
    let mut node = root;
    for token in pointer.split('/').skip(1) {
        let token: Cow<'_, str> =
            if token.contains('~') { token.replace("~1", "/").replace("~0", "~").into() } else { token.into() };
        node = match node {
            Node::Map(map) => map.get(&token)?,
            Node::List(items) => items.get(token.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::super::read::read_json;
    use super::*;

    #[test]
    fn a_reference_stays_below_the_folder_of_the_description() {
        let file = |reference: &str, in_file: &str| match parse(reference, in_file) {
            Ok(Target::File(path, pointer)) => format!("{path} {pointer}"),
            Ok(Target::Same(pointer)) => format!("same {pointer}"),
            Err(_) => "refused".to_owned(),
        };
        assert_eq!(file("#/components/schemas/A%20b", "api.yaml"), "same /components/schemas/A b");
        assert_eq!(file("./parts/pet.yaml", "api.yaml"), "parts/pet.yaml ");
        assert_eq!(file("../common.yaml#/A", "parts/pet.yaml"), "common.yaml /A");
        assert_eq!(file("pet.yaml#/A", "parts/pet.yaml"), "same /A");
        for outside in [
            "../../etc/passwd",
            "../common.yaml",
            "/etc/passwd",
            "file:///etc/passwd",
            "https://example.com/pet.yaml",
            "//example.com/pet.yaml",
            "a/../../b",
            "%2e%2e/secret",
            "..\\secret",
            "c:/secret",
            ".",
        ] {
            assert_eq!(file(outside, "api.yaml"), "refused", "{outside}");
        }
        assert!(parse("#anchor", "api.yaml").unwrap_err().contains("anchor"));
    }

    #[test]
    fn a_pointer_names_members_and_items() {
        let root = read_json(r#"{"a/b": {"c~d": [1, {"": 2}]}}"#).unwrap();
        let at = |pointer: &str| follow(&root, pointer).map(Node::to_json);
        assert_eq!(at("/a~1b/c~0d/0").as_deref(), Some("1"));
        assert_eq!(at("/a~1b/c~0d/1/").as_deref(), Some("2"));
        assert_eq!(at("").as_deref(), Some(root.to_json().as_str()));
        assert_eq!((at("/x"), at("/a~1b/c~0d/x"), at("/a~1b/c~0d/0/x")), (None, None, None));
    }
}
