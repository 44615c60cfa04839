//! The constructors `Resource()` and `ResourceTemplate()`.

use std::sync::Arc;

use serde_json::Map;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneOr;

use super::check;
use super::values::{Item, ItemData};
use crate::json::raw;
use crate::model::{Definition, ItemKind, UriTemplate};
use crate::script::{ScriptError, script_error};

#[starlark_module]
pub fn register_resources(builder: &mut GlobalsBuilder) {
    /// A resource. `handler` takes a dict with `uri`, and returns a string or an MCP result `{"contents": [...]}`.
    fn Resource<'v>(
        uri: &str,
        name: &str,
        handler: Value<'v>,
        #[starlark(default = NoneOr::None)] description: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] mime_type: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] title: NoneOr<&str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Item<'v>> {
        if !is_uri(uri) {
            return Err(ScriptError::new(format!("`{uri}` is not a URI")).hint("as in `notes://today`").into());
        }
        let texts = [("title", title), ("description", description), ("mimeType", mime_type)];
        item(ItemKind::Resource, uri, name, handler, texts, None, eval)
    }

    /// A resource for each URI that matches a template such as `notes://{day}`. `handler` takes a dict with `uri` and the
    /// variables, and returns the same as the handler of a Resource.
    fn ResourceTemplate<'v>(
        uri_template: &str,
        name: &str,
        handler: Value<'v>,
        #[starlark(default = NoneOr::None)] description: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] mime_type: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] title: NoneOr<&str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Item<'v>> {
        let template = UriTemplate::parse(uri_template).filter(|_| is_uri(uri_template) && uri_template.contains('{'));
        let Some(template) = template else {
            return Err(ScriptError::new(format!("`{uri_template}` is not a URI template"))
                .hint("as in `notes://{day}`; a URI without variables is a Resource()")
                .into());
        };
        let texts = [("title", title), ("description", description), ("mimeType", mime_type)];
        item(ItemKind::ResourceTemplate, uri_template, name, handler, texts, Some(Arc::new(template)), eval)
    }
}

fn item<'v>(
    kind: ItemKind,
    key: &str,
    name: &str,
    handler: Value<'v>,
    texts: [(&str, NoneOr<&str>); 3],
    template: Option<Arc<UriTemplate>>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Item<'v>> {
    let what = format!("the {} `{key}`", kind.noun());
    check::handler(&what, handler)?;
    let mut members = Map::new();
    members.insert(kind.key_member().into(), key.into());
    members.insert("name".into(), name.into());
    for (member, text) in texts {
        check::text(&mut members, member, text);
    }
    let definition =
        Definition::parse(kind, raw(&members)).map_err(|error| script_error(format!("{what}: {error}")))?;
    let data = ItemData {
        kind,
        definition: Arc::new(definition),
        input: None,
        output: None,
        defaults: Arc::default(),
        template,
    };
    Ok(Item { data: eval.heap().alloc(data), handler })
}

/// Whether a text has a scheme and something after it.
fn is_uri(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.chars().all(plain) && !rest.is_empty()
    })
}
