//! `publish()`, `publish_resource()`, `publish_resource_template()` and `publish_prompt()`.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::DictMut;
use starlark::values::none::NoneType;

use super::carrier::carrying;
use super::checks::{check_handler, check_key, check_schema, check_unique, metadata_of};
use crate::builtins::metadata::kinds::publisher;
use crate::builtins::session::World;
use crate::model::ItemKind;
use crate::script::{Context, ScriptError, script_error};

#[starlark_module]
pub fn register_publish(builder: &mut GlobalsBuilder) {
    /// Publishes a tool to clients. Only at the top level of the session script.
    ///
    /// `meta` is a metadata, `handler` a function that takes one dict, the tool's arguments. If `handler` is a backend's own
    /// handler, the proxy forwards calls to the backend without running Starlark.
    ///
    /// With `over`, a search index, the tool stands for the tools of the index; see `carrier()`.
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
        publish_item(ItemKind::Tool, meta, handler, eval)
    }

    /// Publishes a resource to clients. Only at the top level of the session script.
    ///
    /// The handler takes a dict with `uri` and returns `{"contents": [...]}` or text.
    ///
    /// ```python
    /// meta = resource_metadata("team://rules", "rules", mime_type = "text/markdown")
    /// publish_resource(meta, lambda args: "# Rules")
    /// ```
    fn publish_resource<'v>(
        meta: Value<'v>,
        handler: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        publish_item(ItemKind::Resource, meta, handler, eval)
    }

    /// Publishes a resource template to clients. Only at the top level of the session script.
    ///
    /// The handler takes a dict with `uri` and the template's variables and returns `{"contents": [...]}` or text.
    ///
    /// ```python
    /// meta = resource_template_metadata("notes://{day}", "notes")
    /// publish_resource_template(meta, lambda args: "Notes of " + args["day"])
    /// ```
    fn publish_resource_template<'v>(
        meta: Value<'v>,
        handler: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        publish_item(ItemKind::ResourceTemplate, meta, handler, eval)
    }

    /// Publishes a prompt to clients. Only at the top level of the session script.
    ///
    /// The handler takes a dict, the prompt's arguments, and returns `{"messages": [...]}` or text.
    ///
    /// ```python
    /// for backend in backends().values():
    ///     for meta, call in backend.prompts():
    ///         publish_prompt(meta.replace(name = backend.name + "_" + meta.name), call)
    /// ```
    fn publish_prompt<'v>(
        meta: Value<'v>,
        handler: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        publish_item(ItemKind::Prompt, meta, handler, eval)
    }
}

fn publish_item<'v>(
    kind: ItemKind,
    meta: Value<'v>,
    handler: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<NoneType> {
    let function = format!("{}()", publisher(kind));
    Context::of(eval)?.require_top_level(&function)?;
    let metadata = metadata_of(kind, meta)?;
    check_handler(metadata, handler)?;
    if kind == ItemKind::Tool {
        check_schema(metadata, &metadata.tool_checks(handler, &World::of(eval)?.snapshot))?;
    }
    {
        let mut notes = World::of(eval)?.notes();
        let site = notes.provenance.site(eval);
        check_key(metadata, &mut notes, eval)?;
        check_unique(metadata, &mut notes, &site)?;
    }
    collect(&function, kind, metadata.definition.key(), (meta, handler), eval)?;
    Ok(NoneType)
}

/// Adds an item to the published items, which are stored as the extra value of the module because handlers live on the
/// module's heap.
pub(crate) fn collect<'v>(
    function: &str,
    kind: ItemKind,
    key: &str,
    item: (Value<'v>, Value<'v>),
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<()> {
    let collected = eval.module().extra_value().ok_or_else(|| {
        ScriptError::new(format!(
            "{function} works only in the session script itself, not while another file is being loaded"
        ))
        .hint("put the call into a function, and call that function from the session script")
    })?;
    let heap = eval.heap();
    // The key includes the kind, because a tool and a prompt may have the same name.
    let key = heap.alloc_str(&format!("{} {key}", kind.list_member())).get_hashed_value();
    let mut entries = DictMut::from_value(collected).map_err(|error| script_error(error.to_string()))?;
    entries.aref.insert_hashed(key, heap.alloc(item));
    Ok(())
}
