//! `publish()`, `publish_resource()`, `publish_resource_template()` and `publish_prompt()`.

use std::time::Duration;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::DictMut;
use starlark::values::float::UnpackFloat;
use starlark::values::none::{NoneOr, NoneType};
use starlark::values::tuple::AllocTuple;

use super::carrier::carrying;
use super::checks::{check_key, check_schema, check_unique};
use super::completion::check_complete;
use super::refresh::{check_refreshed, refresh_interval};
use crate::kinds::publisher;
use crate::metadata::validity::{check_handler, metadata_of};
use crate::session::World;
use proxy_model::ItemKind;
use proxy_script::{Context, ScriptError, script_error};

#[starlark_module]
pub fn register_publish(builder: &mut GlobalsBuilder) {
    /// Publishes a tool to clients. Only at the top level.
    ///
    /// `handler` is a function that takes the tool's arguments as one dict. If `handler` is a backend's own handler,
    /// the proxy forwards calls to the backend without running Starlark.
    ///
    /// `over` is a search index that the tool fronts, and `name_argument` the argument that names the tool to call; see
    /// `carrier()`. By default, the tool fronts no index.
    ///
    /// ```python
    /// for backend in backends().values():
    ///     for meta, call in backend.tools():
    ///         publish(meta.replace(name = backend.name + "_" + meta.name), call)
    /// ```
    fn publish<'v>(
        meta: Value<'v>,
        handler: Value<'v>,
        over: Option<Value<'v>>,
        name_argument: Option<&str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let meta = match over {
            Some(over) => {
                let carrier = carrying("publish", meta, over, name_argument, eval)?;
                eval.heap().alloc(carrier)
            }
            None if name_argument.is_some() => {
                let error = ScriptError::new("publish() takes `name_argument` only together with `over`");
                return Err(error.hint("`publish(meta, handler, over = index, name_argument = \"tool_name\")`").into());
            }
            None => meta,
        };
        publish_item(ItemKind::Tool, meta, handler, ItemOptions::default(), eval)
    }

    /// Publishes a resource to clients. Only at the top level.
    ///
    /// `handler` is a function that takes a dict with `uri` and returns `{"contents": [...]}` or text.
    ///
    /// With `refresh`, an interval in seconds, clients can subscribe to the resource. While a client is subscribed, the
    /// handler runs at most once per interval, and a changed result is announced to the subscribers. A refresh is not
    /// part of a request: `on_request` does not see it, and it cannot use elicitation. It runs once for all clients, or
    /// once per owner if the handler calls `current_user()` or `client()` or uses `state`.
    ///
    /// ```python
    /// meta = resource_metadata("team://rules", "rules", mime_type = "text/markdown")
    /// publish_resource(meta, lambda args: "# Rules")
    ///
    /// queue = resource_metadata("team://queue", "queue")
    /// publish_resource(queue, lambda args: shared_state.get("queue", "empty"), refresh = 5)
    /// ```
    fn publish_resource<'v>(
        meta: Value<'v>,
        handler: Value<'v>,
        #[starlark(require = named, default = NoneOr::None)] refresh: NoneOr<UnpackFloat>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let options = ItemOptions { refresh: refresh_interval(refresh)?, ..ItemOptions::default() };
        publish_item(ItemKind::Resource, meta, handler, options, eval)
    }

    /// Publishes a resource template to clients. Only at the top level.
    ///
    /// `handler` is a function that takes a dict with `uri` and the template's variables, and returns
    /// `{"contents": [...]}` or text.
    ///
    /// `complete` maps variable names to completion functions, as for `publish_prompt()`. If the template comes from a
    /// server, the server completes the remaining variables.
    ///
    /// ```python
    /// meta = resource_template_metadata("notes://{day}", "notes")
    /// days = ["monday", "tuesday"]
    /// publish_resource_template(
    ///     meta,
    ///     lambda args: "Notes of " + args["day"],
    ///     complete = {"day": lambda value, context: [day for day in days if day.startswith(value)]},
    /// )
    /// ```
    fn publish_resource_template<'v>(
        meta: Value<'v>,
        handler: Value<'v>,
        #[starlark(require = named, default = NoneOr::None)] complete: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let options = ItemOptions { complete: complete.into_option(), ..ItemOptions::default() };
        publish_item(ItemKind::ResourceTemplate, meta, handler, options, eval)
    }

    /// Publishes a prompt to clients. Only at the top level.
    ///
    /// `handler` is a function that takes the prompt's arguments as one dict and returns `{"messages": [...]}` or text.
    ///
    /// `complete` maps argument names to completion functions. `function(value, context)` takes the typed text and a
    /// dict with the arguments filled in so far, and returns a list of strings. Clients receive the first 100 and the
    /// total number. A completion function may run for 2 seconds and cannot use elicitation. If the prompt comes from a
    /// server, the server completes the remaining arguments.
    ///
    /// ```python
    /// for backend in backends().values():
    ///     for meta, call in backend.prompts():
    ///         publish_prompt(meta.replace(name = backend.name + "_" + meta.name), call)
    /// ```
    fn publish_prompt<'v>(
        meta: Value<'v>,
        handler: Value<'v>,
        #[starlark(require = named, default = NoneOr::None)] complete: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let options = ItemOptions { complete: complete.into_option(), ..ItemOptions::default() };
        publish_item(ItemKind::Prompt, meta, handler, options, eval)
    }
}

/// Optional parts of an item besides its metadata and handler.
#[derive(Clone, Copy, Default)]
struct ItemOptions<'v> {
    complete: Option<Value<'v>>,
    refresh: Option<Duration>,
}

fn publish_item<'v>(
    kind: ItemKind,
    meta: Value<'v>,
    handler: Value<'v>,
    options: ItemOptions<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<NoneType> {
    let function = format!("{}()", publisher(kind));
    Context::of(eval)?.require_top_level(&function)?;
    let metadata = metadata_of(kind, meta)?;
    check_handler(metadata, handler)?;
    if kind == ItemKind::Tool {
        check_schema(metadata, &metadata.tool_checks(handler, &World::of(eval)?.snapshot))?;
    }
    if let Some(complete) = options.complete {
        check_complete(kind, &metadata.definition, complete)?;
    }
    if options.refresh.is_some() {
        check_refreshed(metadata, handler)?;
    }
    {
        let mut notes = World::of(eval)?.notes();
        let site = notes.provenance.site(eval);
        check_key(metadata, &mut notes, eval)?;
        check_unique(metadata, &mut notes, &site)?;
    }
    let heap = eval.heap();
    // Most items have no options, and there may be thousands of items.
    let item = match options {
        ItemOptions { complete: None, refresh: None } => heap.alloc((meta, handler)),
        ItemOptions { complete, refresh } => {
            let refresh = refresh.map_or_else(Value::new_none, |interval| heap.alloc(interval.as_secs_f64()));
            heap.alloc(AllocTuple([meta, handler, complete.unwrap_or_else(Value::new_none), refresh]))
        }
    };
    collect(&function, kind, metadata.definition.key(), item, eval)?;
    Ok(NoneType)
}

/// Adds an item to the published items, which are stored as the extra value of the module because handlers live on the
/// module's heap. An item is a tuple of its metadata, its handler and, if it has any, its options.
pub(crate) fn collect<'v>(
    function: &str,
    kind: ItemKind,
    key: &str,
    item: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<()> {
    let collected = eval.module().extra_value().ok_or_else(|| {
        ScriptError::new(format!(
            "{function} works only in the session script itself, not while another file is being loaded"
        ))
        .hint("put the call into a function, and call it from the session script")
    })?;
    let heap = eval.heap();
    // The key includes the kind, because a tool and a prompt may have the same name.
    let key = heap.alloc_str(&format!("{} {key}", kind.list_member())).get_hashed_value();
    let mut entries = DictMut::from_value(collected).map_err(|error| script_error(error.to_string()))?;
    entries.aref.insert_hashed(key, item);
    Ok(())
}
