//! `publish()`: what the client may see.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::DictMut;
use starlark::values::none::NoneType;
use starlark::values::{Value, ValueLike};

use super::metadata::Metadata;
use super::names::{MAX_NAME, Verdict, judge};
use super::world::World;
use crate::diagnostic::{Diagnostic, Place};
use crate::json::Object;
use crate::script::{Complaint, Context, complain};

#[starlark_module]
pub fn register_publish(builder: &mut GlobalsBuilder) {
    /// Adds a tool to what the client sees. Only at the top level of the session script.
    ///
    /// `meta` is a metadata, `handler` a function that takes one dict: the tool's arguments. A backend's own handler
    /// published as it is costs nothing: calls are forwarded without running the script.
    ///
    /// ```python
    /// for backend in backends().values():
    ///     for meta, call in backend.tools():
    ///         publish(meta.replace(name = backend.name + "_" + meta.name), call)
    /// ```
    fn publish<'v>(
        meta: Value<'v>,
        handler: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        Context::of(eval)?.require_top("publish()")?;
        let world = World::of(eval)?;
        let place = eval.call_stack_top_location().map(|span| {
            let range = span.span.begin().get() as usize..span.span.end().get() as usize;
            Place::new(span.file.filename(), span.file.source(), range)
        });
        let metadata = meta.downcast_ref::<Metadata>().ok_or_else(|| {
            Complaint::new(format!("the first argument of publish() must be a metadata, not a `{}`", meta.get_type()))
                .hint("take it from `backend.tools()` or make one with `metadata(...)`")
        })?;
        check_handler(metadata, handler)?;
        check_schema(metadata)?;
        check_name(metadata, world, place)?;
        let module = eval.module();
        let collected = module.extra_value().ok_or_else(|| {
            Complaint::new("publish() works only in the session script itself, not while another file is loaded")
                .hint("put it into a function and call that from the session script")
        })?;
        let heap = eval.heap();
        let key = heap.alloc_str(metadata.definition.key()).get_hashed_value();
        let mut entries = DictMut::from_value(collected).map_err(|error| complain(error.to_string()))?;
        entries.aref.insert_hashed(key, heap.alloc((meta, handler)));
        Ok(NoneType)
    }
}

fn check_handler(metadata: &Metadata, handler: Value<'_>) -> Result<(), Complaint> {
    let name = metadata.definition.key();
    if handler.get_type() != "function" {
        return Err(Complaint::new(format!("the handler of `{name}` is a `{}`, not a function", handler.get_type()))
            .hint("a handler takes one dict: `def handler(args): ...`"));
    }
    if handler.parameters_spec().is_some_and(|parameters| !parameters.can_fill_with_args(1, &[])) {
        return Err(Complaint::new(format!("the handler of `{name}` cannot be called with one argument"))
            .hint("a handler takes one dict, the tool's arguments: `def handler(args): ...`"));
    }
    Ok(())
}

/// Unchanged schemas of a backend may lack the type, as some servers do; what the script made must be right.
fn check_schema(metadata: &Metadata) -> Result<(), Complaint> {
    let definition = &metadata.definition;
    let fault = |what: &str| {
        Complaint::new(format!("the parameters of `{}` are not an object schema: {what}", definition.key()))
            .hint("a tool's schema has the form `{\"type\": \"object\", \"properties\": {...}}`")
    };
    let object = Object::parse(definition.raw().get()).map_err(|error| fault(&error.to_string()))?;
    let schema = object.get("inputSchema").ok_or_else(|| fault("there are none"))?;
    let members = Object::parse(schema.get()).map_err(|error| fault(&error.to_string()))?;
    match members.get("type").map(|kind| kind.get()) {
        Some("\"object\"") => Ok(()),
        None if metadata.has_original_schema() => Ok(()),
        None => Err(fault("`type` is missing")),
        Some(other) => Err(fault(&format!("`type` is {other}"))),
    }
}

fn check_name(metadata: &Metadata, world: &World, place: Option<Place>) -> Result<(), Complaint> {
    let name = metadata.definition.key();
    let mut notes = world.notes();
    match judge(name) {
        Verdict::Good => {}
        Verdict::Impossible(why) => {
            return Err(Complaint::new(format!("the tool name {} {why}", crate::json::quote(name)))
                .hint("`meta.replace(name = ...)` gives it another name"));
        }
        Verdict::Odd if metadata.has_original_name() => {
            let backend = metadata.origin.as_ref().map(|origin| origin.backend.to_string()).unwrap_or_default();
            let mut warning =
                Diagnostic::warning(format!("the backend `{backend}` has a tool with an odd name: `{name}`"))
                    .hint("some clients refuse such names; `meta.replace(name = ...)` gives it another one");
            warning.place = place.clone();
            notes.warnings.push(warning);
        }
        Verdict::Odd => {
            return Err(Complaint::new(format!(
                "the tool name `{name}` is not allowed: letters, digits, `_`, `.` and `-` only, at most {MAX_NAME} of them"
            )));
        }
    }
    if let Some(earlier) = notes.published.get(name) {
        return Err(Complaint::new(format!("the name `{name}` is already published, at {earlier}"))
            .hint("`meta.replace(name = ...)` gives one of them another name"));
    }
    let here = place.map(|place| place.short()).unwrap_or_default();
    notes.published.insert(name.to_owned(), here);
    Ok(())
}
