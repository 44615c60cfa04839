//! Options for every kind of item: icons and `_meta`. And the user interface of a tool, which `_meta` refers to.

use serde_json::{Map, Value as Json};
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value};

use crate::extension::values::ItemData;
use proxy_model::{ItemKind, interface_fault, link_interface};
use proxy_script::{ScriptError, convert, script_error};

const ICON: &str =
    "`icons = [{\"src\": \"https://example.com/icon.png\", \"mimeType\": \"image/png\", \"sizes\": [\"48x48\"]}]`";
const THEMES: [&str; 2] = ["light", "dark"];

/// Adds `icons` and `_meta` to the members of an item. `what` names the item, as in "the tool `greet`".
pub(super) fn add<'v>(
    what: &str,
    members: &mut Map<String, Json>,
    icons: NoneOr<Value<'v>>,
    meta: NoneOr<Value<'v>>,
    heap: Heap<'v>,
) -> starlark::Result<()> {
    if let Some(icons) = icons.into_option() {
        let icons = convert::to_json(icons, heap)?;
        let listed = icons.as_array().ok_or_else(|| wrong_icons(what, "must be a list of dicts"))?;
        listed.iter().try_for_each(|icon| check_icon(what, icon))?;
        if !listed.is_empty() {
            members.insert("icons".to_owned(), icons);
        }
    }
    if let Some(meta) = meta.into_option() {
        let wrong = || script_error(format!("`meta` of {what} must be a dict, not a `{}`", meta.get_type()));
        let meta = convert::to_object(meta, heap)?.ok_or_else(wrong)?;
        if !meta.is_empty() {
            members.insert("_meta".to_owned(), meta.into());
        }
    }
    Ok(())
}

fn wrong_icons(what: &str, problem: &str) -> ScriptError {
    ScriptError::new(format!("`icons` of {what} {problem}")).hint(ICON)
}

/// Checks the members that MCP defines. Others are kept as they are.
fn check_icon(what: &str, icon: &Json) -> Result<(), ScriptError> {
    let wrong = |problem: &str| Err(wrong_icons(what, problem));
    let Some(members) = icon.as_object() else { return wrong("must be a list of dicts") };
    match members.get("src").and_then(Json::as_str) {
        None => return wrong("need a `src`, the address of the image"),
        Some(src) if !["https:", "http:", "data:"].iter().any(|scheme| src.starts_with(scheme)) => {
            return wrong("need a `src` that is an `https:` or `data:` URI");
        }
        Some(_) => {}
    }
    if members.get("mimeType").is_some_and(|kind| !kind.is_string()) {
        return wrong("have a `mimeType` that is not a string");
    }
    let is_text_list = |sizes: &Json| sizes.as_array().is_some_and(|sizes| sizes.iter().all(Json::is_string));
    if members.get("sizes").is_some_and(|sizes| !is_text_list(sizes)) {
        return wrong("have `sizes` that are not a list of strings such as \"48x48\" or \"any\"");
    }
    if members.get("theme").is_some_and(|theme| !theme.as_str().is_some_and(|theme| THEMES.contains(&theme))) {
        return wrong("have a `theme` that is neither \"light\" nor \"dark\"");
    }
    Ok(())
}

/// Links the user interface of a tool in its `_meta`.
pub(super) fn add_interface(what: &str, members: &mut Map<String, Json>, uri: &str) -> Result<(), ScriptError> {
    link_interface(members, uri).map_err(|(problem, hint)| ScriptError::new(format!("{what}: {problem}")).hint(hint))
}

/// Checks that the user interface of each tool is a resource of the same extension.
pub(super) fn check_interfaces(items: &[&ItemData]) -> Result<(), ScriptError> {
    let resource = |uri: &str| {
        let of_uri = |item: &&&ItemData| item.kind == ItemKind::Resource && item.definition.key() == uri;
        items.iter().find(of_uri).map(|item| &*item.definition)
    };
    let mut tools = items.iter().filter(|item| item.kind == ItemKind::Tool);
    match tools.find_map(|tool| interface_fault(&tool.definition, resource)) {
        None => Ok(()),
        Some((problem, hint)) => Err(ScriptError::new(problem).hint(hint)),
    }
}
