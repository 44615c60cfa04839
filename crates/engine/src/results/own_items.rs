//! The tool and the resource template by which clients read the pages of large results. They are added to the lists of
//! clients with a limit, and are no part of the surface: neither the script nor policies know them.

use std::sync::LazyLock;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::surface::Surface;
use proxy_model::ItemKind;

/// How a request for a page of a result is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnItem {
    Tool,
    Resource,
}

/// The names of the tool: the first one that nothing is published under.
const TOOL_NAMES: [&str; 2] = ["read_result", "proxy_read_result"];

const SCHEME: &str = "result://";
const TEMPLATE: &str = "result://{id}{?page,path}";
const PREFIX: &str = "r_";
/// The characters of an id behind its prefix.
const ID_LENGTH: usize = 16;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The name of the tool. What is published to others only has its name, too. `None` if both names are taken.
pub(crate) fn tool_name(surface: &Surface) -> Option<&'static str> {
    let is_taken = |name: &str| surface.find(ItemKind::Tool, name).is_some() || surface.hides(ItemKind::Tool, name);
    TOOL_NAMES.into_iter().find(|name| !is_taken(name))
}

/// The definition of the tool, as it is listed.
pub fn listed_tool(surface: &Surface) -> Option<&'static str> {
    static TEXTS: LazyLock<[String; 2]> = LazyLock::new(|| TOOL_NAMES.map(|name| tool(name).to_string()));
    let name = tool_name(surface)?;
    let texts: &'static [String; 2] = &TEXTS;
    TOOL_NAMES.iter().position(|known| *known == name).map(|at| texts[at].as_str())
}

fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": "Reads more of a result that was too large to be returned at once. Such a result ends with a note \
                        that gives its id, the number of its pages, and how to read the next one.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "result": {"type": "string", "description": "The id of the result, such as r_abcdefghijklmnop."},
                "page": {"type": "integer", "minimum": 1, "default": 1, "description": "The page to read."},
                "path": {
                    "type": "string",
                    "description": "Reads only a part of a JSON result: `.key`, `[\"key\"]`, `[n]`, `[a:b]` and `[*]`, such \
                                    as `items[40:60]` or `items[*].id`.",
                },
            },
            "required": ["result"],
        },
        "annotations": {
            "title": "Read more of a result",
            "readOnlyHint": true,
            "destructiveHint": false,
            "idempotentHint": true,
            "openWorldHint": false,
        },
    })
}

/// The resource template, as it is listed. `None` if a template like it is published.
pub fn listed_template(surface: &Surface) -> Option<&'static str> {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let template = json!({
            "uriTemplate": TEMPLATE,
            "name": "result",
            "description": "The pages of a tool result that was too large to be returned at once.",
        });
        template.to_string()
    });
    let is_taken = surface.entries(ItemKind::ResourceTemplate).any(|entry| entry.definition.key() == TEMPLATE);
    let text: &'static str = &TEXT;
    (!is_taken).then_some(text)
}

/// Whether the pages of results may be read by this name or URI, unless an item is published under it.
pub fn is_own_name(kind: ItemKind, key: &str) -> bool {
    match kind {
        ItemKind::Tool => TOOL_NAMES.contains(&key),
        ItemKind::Resource => id_of(key).is_some(),
        ItemKind::ResourceTemplate | ItemKind::Prompt => false,
    }
}

/// Whether this is the template of the URIs of results.
pub fn is_template(uri: &str) -> bool {
    uri == TEMPLATE
}

/// How a request for an item by this name or URI names a page of a result; `None` if it does not.
pub fn names_result(surface: &Surface, kind: ItemKind, key: &str) -> Option<OwnItem> {
    if !is_own_name(kind, key) {
        return None;
    }
    match kind {
        ItemKind::Tool => (tool_name(surface) == Some(key)).then_some(OwnItem::Tool),
        _ => Some(OwnItem::Resource),
    }
}

/// The id in the URI of a result.
pub(super) fn id_of(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix(SCHEME)?;
    let id = rest.split_once('?').map_or(rest, |(id, _)| id);
    is_id(id).then_some(id)
}

/// Whether a text has the form of an id.
pub(super) fn is_id(text: &str) -> bool {
    let characters = text.strip_prefix(PREFIX).unwrap_or_default();
    characters.len() == ID_LENGTH && characters.bytes().all(|byte| ALPHABET.contains(&byte))
}

/// A new id.
///
/// # Errors
/// If the system's random number generator fails.
pub(super) fn new_id() -> Result<String, getrandom::Error> {
    let mut random = [0; ID_LENGTH];
    getrandom::fill(&mut random)?;
    let characters = random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
    Ok(PREFIX.chars().chain(characters).collect())
}

/// The URI of a page, of the whole result or of the part at a path.
pub(super) fn uri_of(id: &str, page: usize, path: &str) -> String {
    let path = match path {
        "" => String::new(),
        path => format!("&path={}", utf8_percent_encode(path, NON_ALPHANUMERIC)),
    };
    format!("{SCHEME}{id}?page={page}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_and_known_by_their_form() {
        let [one, other] = [new_id().unwrap(), new_id().unwrap()];
        assert_ne!(one, other);
        assert!(is_id(&one) && one.len() == 18);
        assert_eq!(id_of(&uri_of(&one, 2, "a[0]")), Some(one.as_str()));
        assert_eq!(id_of(&format!("result://{one}")), Some(one.as_str()));
        for other in [
            "result://r_short",
            "result://7",
            "results://r_abcdefghijklmnop",
            "result://r_abcdefghijklmno1",
            "r_abcdefghijklmnop",
        ] {
            assert_eq!(id_of(other), None, "{other}");
        }
    }
}
