//! The constructors `Resource()` and `ResourceTemplate()`.
#![expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;

use super::{check, extras};
use crate::extension::values::{Item, ItemData};
use proxy_builtins::refresh_interval;
use proxy_json::raw;
use proxy_model::{Definition, ItemKind, UriTemplate};
use proxy_script::{ScriptError, script_error};

#[starlark_module]
pub fn register_resources(builder: &mut GlobalsBuilder) {
    /// Defines a resource. `handler` takes a dict with `uri` and returns a string or an MCP result
    /// `{"contents": [...]}`. `icons` and `meta` are as for `Tool`. A tool's user interface has
    /// `mime_type = "text/html;profile=mcp-app"`.
    ///
    /// With `refresh`, an interval in seconds, clients can subscribe to the resource. While a client is subscribed, the
    /// handler runs at most once per interval, and a changed result is announced to the subscribers. Files that the
    /// handler reads with `data` are watched, so their changes are noticed at once. A refresh is not part of a request
    /// and cannot use elicitation. It runs once for all clients, or once per owner if the handler calls
    /// `current_user()` or `client()` or uses `state`.
    fn Resource<'v>(
        uri: &str,
        name: &str,
        handler: Value<'v>,
        #[starlark(default = NoneOr::None)] description: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] mime_type: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] title: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] icons: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] meta: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] refresh: NoneOr<UnpackFloat>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Item<'v>> {
        if !is_uri(uri) {
            return Err(ScriptError::new(format!("`{uri}` is not a URI")).hint("as in `notes://today`").into());
        }
        let texts = [("title", title), ("description", description), ("mimeType", mime_type)];
        let described = ResourceData { key: uri, name, texts, template: None, refresh: refresh_interval(refresh)? };
        described.item(ItemKind::Resource, handler, (icons, meta), NoneOr::None, eval)
    }

    /// Defines a resource for each URI that matches a template like `notes://{day}`. `handler` takes a dict with `uri`
    /// and the variables, and returns the same as a `Resource` handler. `complete` maps variable names to completion
    /// functions, as for `Prompt`.
    fn ResourceTemplate<'v>(
        uri_template: &str,
        name: &str,
        handler: Value<'v>,
        #[starlark(default = NoneOr::None)] description: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] mime_type: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] title: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] icons: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] meta: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] complete: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Item<'v>> {
        let template = UriTemplate::parse(uri_template).filter(|_| is_uri(uri_template) && uri_template.contains('{'));
        let Some(template) = template else {
            return Err(ScriptError::new(format!("`{uri_template}` is not a URI template"))
                .hint("as in `notes://{day}`; a URI without variables is a Resource()")
                .into());
        };
        let texts = [("title", title), ("description", description), ("mimeType", mime_type)];
        let described =
            ResourceData { key: uri_template, name, texts, template: Some(Arc::new(template)), refresh: None };
        described.item(ItemKind::ResourceTemplate, handler, (icons, meta), complete, eval)
    }
}

/// What both constructors are given.
struct ResourceData<'a> {
    /// The URI or the template.
    key: &'a str,
    name: &'a str,
    /// Optional members of the definition.
    texts: [(&'static str, NoneOr<&'a str>); 3],
    template: Option<Arc<UriTemplate>>,
    refresh: Option<Duration>,
}

impl ResourceData<'_> {
    fn item<'v>(
        self,
        kind: ItemKind,
        handler: Value<'v>,
        (icons, meta): (NoneOr<Value<'v>>, NoneOr<Value<'v>>),
        complete: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Item<'v>> {
        let what = format!("the {} `{}`", kind.noun(), self.key);
        check::handler(&what, handler)?;
        let mut members = Map::new();
        members.insert(kind.key_member().into(), self.key.into());
        members.insert("name".into(), self.name.into());
        for (member, text) in self.texts {
            check::text(&mut members, member, text);
        }
        extras::add(&what, &mut members, icons, meta, eval.heap())?;
        let definition =
            Definition::parse(kind, raw(&members)).map_err(|error| script_error(format!("{what}: {error}")))?;
        let site = check::complete(kind, &definition, complete, eval)?;
        let data = ItemData {
            kind,
            definition: Arc::new(definition),
            input: None,
            output: None,
            defaults: Arc::default(),
            template: self.template,
            timeout: None,
            site,
            refresh: self.refresh,
        };
        let complete = complete.into_option().unwrap_or_else(Value::new_none);
        Ok(Item { data: eval.heap().alloc(data), handler, complete })
    }
}

/// Whether a text has a scheme and something after it.
fn is_uri(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.chars().all(plain) && !rest.is_empty()
    })
}
