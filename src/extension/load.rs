//! Runs an extension's file and asks it to describe itself.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use starlark::environment::{FrozenModule, Globals};
use starlark::values::list::ListRef;
use starlark::values::{OwnedFrozenValue, ValueLike};

use super::constructors::register_extension_types;
use super::values::{ExtensionData, FrozenDescribed, FrozenTool, ToolData};
use super::{Extension, ExtensionTool};
use crate::builtins;
use crate::diagnostic::Diagnostic;
use crate::script::{
    Context, Failure, Function, Limits, Paths, Program, Source, evaluate, evaluate_and_call, on_big_stack,
};

const DESCRIBE: &str = "describe_extension";

/// The names an extension knows.
pub fn globals() -> &'static Globals {
    static GLOBALS: LazyLock<Globals> = LazyLock::new(|| builtins::common().with(register_extension_types).build());
    &GLOBALS
}

/// Loads an extension. `None` if the file describes none: then it is only there for others to load from.
pub fn load(source: &Source, limits: &Limits) -> Result<Option<Extension>, Diagnostic> {
    on_big_stack(|| run(source, limits)).and_then(|result| result).map_err(|failure| *failure.diagnostic)
}

fn run(source: &Source, limits: &Limits) -> Result<Option<Extension>, Failure> {
    let context = Context::top(Arc::new(()), limits);
    let done = evaluate(&Program {
        source,
        globals: globals(),
        context: &context,
        limits,
        root: source.path.as_deref().and_then(Path::parent),
        embedded: &[],
        paths: Paths::Short,
        collects: false,
    })?;
    let Some(describe) = describe(&done.module, source)? else { return Ok(None) };
    let described = evaluate_and_call(&describe, &context, limits)?;
    let (data, tools) = take_apart(&described, source)?;
    Ok(Some(Extension {
        name: data.name,
        version: data.version,
        description: data.description,
        tools,
        source_name: source.name.clone(),
        files: done.files,
        log: context.log.into_inner(),
    }))
}

fn describe(module: &FrozenModule, source: &Source) -> Result<Option<OwnedFrozenValue>, Failure> {
    let found = module.get_option(DESCRIBE).map_err(|error| Diagnostic::error(error.to_string()))?;
    match found {
        Some(value) if value.value().get_type() != "function" => {
            Err(Diagnostic::error(format!("`{DESCRIBE}` in `{}` is not a function", source.name)).into())
        }
        found => Ok(found),
    }
}

/// The parts of what `describe_extension()` returned, each handler kept alive by the heap it lies on.
fn take_apart(described: &OwnedFrozenValue, source: &Source) -> Result<(ExtensionData, Vec<ExtensionTool>), Failure> {
    let mut parts = None;
    let mut twice = None;
    // `map` hands out the value itself, so that no unchecked access is needed.
    described.map(|value| {
        let Some(extension) = value.downcast_ref::<FrozenDescribed>() else { return value };
        let Some(data) = extension.data.downcast_ref::<ExtensionData>() else { return value };
        let (mut tools, mut names) = (Vec::new(), HashSet::new());
        for item in ListRef::from_frozen_value(extension.tools).into_iter().flat_map(|list| list.iter()) {
            let Some(tool) = item.unpack_frozen().and_then(|item| item.downcast_ref::<FrozenTool>()) else { continue };
            let Some(data) = tool.data.downcast_ref::<ToolData>() else { continue };
            if !names.insert(data.definition.key().to_owned()) {
                twice = Some(data.definition.key().to_owned());
            }
            let handler = tool.handler;
            tools.push(ExtensionTool::new(data, Function::new(described.map(|_| handler), Arc::new(()))));
        }
        parts = Some((data.clone(), tools));
        value
    });
    if let Some(name) = twice {
        return Err(Diagnostic::error(format!("the extension in `{}` has two tools `{name}`", source.name)).into());
    }
    parts.ok_or_else(|| {
        let kind = described.value().get_type();
        Diagnostic::error(format!("{DESCRIBE}() in `{}` must return Extension(...), not a `{kind}`", source.name))
            .into()
    })
}
