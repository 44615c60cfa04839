//! Loads an extension: evaluates its file and calls `describe_extension()`.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use starlark::environment::{FrozenModule, Globals, GlobalsBuilder};
use starlark::values::list::ListRef;
use starlark::values::{OwnedFrozenValue, ValueLike};

use super::runtime::ExtensionRuntime;
use super::values::{ExtensionData, FrozenDescribed, FrozenItem, ItemData};
use super::{Extension, ExtensionItem, executable, modules, types};
use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::{self as builtins, Completers};
use proxy_host_io::HostIo;
use proxy_script::{
    Context, Failure, Function, Limits, Paths, Program, Source, evaluate, evaluate_and_call, on_big_stack,
};

pub(super) const DESCRIBE: &str = "describe_extension";
const IN_A_HANDLER: &str = "do it inside a handler: `def handler(params): ...`, then `Tool(..., handler = handler)`";

/// Adds the globals that only extensions have.
pub fn register(builder: &mut GlobalsBuilder) {
    types::register(builder);
    executable::register_command(builder);
    modules::register(builder);
}

/// The globals of an extension.
pub fn globals() -> &'static Globals {
    static GLOBALS: LazyLock<Globals> = LazyLock::new(|| builtins::common().with(register).build());
    &GLOBALS
}

/// Loads an extension. None if the file does not define `describe_extension()`: it is a library for other files.
pub fn load(source: &Source, limits: &Limits, host_io: &Arc<HostIo>) -> Result<Option<Extension>, Diagnostic> {
    let loaded = on_big_stack(|| run(source, limits, host_io)).and_then(|result| result);
    loaded.map(|loaded| loaded.map(|(extension, _)| extension)).map_err(|failure| *failure.diagnostic)
}

/// Loads an extension for the built-ins of its tests. None if the file does not define `describe_extension()`.
pub fn load_runtime(
    source: &Source,
    limits: &Limits,
    host_io: &Arc<HostIo>,
) -> Result<Option<Arc<ExtensionRuntime>>, Diagnostic> {
    let loaded = on_big_stack(|| run(source, limits, host_io)).and_then(|result| result);
    loaded.map(|loaded| loaded.map(|(_, runtime)| runtime)).map_err(|failure| *failure.diagnostic)
}

fn run(
    source: &Source,
    limits: &Limits,
    host_io: &Arc<HostIo>,
) -> Result<Option<(Extension, Arc<ExtensionRuntime>)>, Failure> {
    let folder = source.path.as_deref().map(|path| path.parent().unwrap_or(Path::new(".")));
    let runtime = Arc::new(ExtensionRuntime::new(Arc::clone(host_io), folder));
    let context = Context::top(runtime.clone(), limits).with_top_level_hint(IN_A_HANDLER);
    let evaluated = evaluate(&Program {
        source,
        globals: globals(),
        context: &context,
        limits,
        root: folder,
        embedded: &[],
        paths: Paths::Short,
        collects: false,
    })?;
    let Some(describe) = describe(&evaluated.module, source)? else { return Ok(None) };
    let described = evaluate_and_call(&describe, &context, limits)?;
    let (data, items) = parts(&described, source, &runtime)?;
    let mut files = evaluated.files;
    files.extend(runtime.recorded_files());
    runtime.grant(data.permissions).map_err(|error| {
        let diagnostic = Diagnostic::error(format!("`{}`: {}", source.name, error.message));
        error.hint.into_iter().fold(diagnostic, Diagnostic::hint)
    })?;
    let mut log = context.log.take();
    log.extend(executable::warnings(&described, &runtime));
    let extension = Extension {
        name: data.name,
        version: data.version,
        description: data.description,
        items,
        source_name: source.name.clone(),
        files,
        log,
    };
    Ok(Some((extension, runtime)))
}

fn describe(module: &FrozenModule, source: &Source) -> Result<Option<OwnedFrozenValue>, Failure> {
    let found = module.get_option(DESCRIBE).map_err(|error| Diagnostic::error(error.to_string()))?;
    let Some(value) = &found else { return Ok(None) };
    if value.value().get_type() != "function" {
        return Err(Diagnostic::error(format!("`{DESCRIBE}` in `{}` is not a function", source.name)).into());
    }
    let takes_none = value.value().parameters_spec().is_none_or(|spec| spec.can_fill_with_args(0, &[]));
    if !takes_none {
        return Err(Diagnostic::error(format!("`{DESCRIBE}` in `{}` must take no arguments", source.name)).into());
    }
    Ok(found)
}

/// The data and items that `describe_extension()` returned. Each handler keeps its heap alive.
fn parts(
    described: &OwnedFrozenValue,
    source: &Source,
    runtime: &Arc<ExtensionRuntime>,
) -> Result<(ExtensionData, Vec<ExtensionItem>), Failure> {
    let mut parts = None;
    // `map` gives access to the frozen value without unsafe code.
    described.map(|value| {
        let Some(extension) = value.downcast_ref::<FrozenDescribed>() else { return value };
        let Some(data) = extension.data.downcast_ref::<ExtensionData>() else { return value };
        let mut items = Vec::new();
        for item in ListRef::from_frozen_value(extension.items).into_iter().flat_map(|list| list.iter()) {
            let Some(item) = item.unpack_frozen().and_then(|item| item.downcast_ref::<FrozenItem>()) else { continue };
            let Some(data) = item.data.downcast_ref::<ItemData>() else { continue };
            let handler = item.handler;
            let world: Arc<dyn std::any::Any + Send + Sync> = runtime.clone();
            let completers = Completers::of(item.complete, described, &world, data.site.clone());
            let function = Function::new(described.map(|_| handler), world);
            items.push(ExtensionItem::new(data, function, completers));
        }
        parts = Some((data.clone(), items));
        value
    });
    parts.ok_or_else(|| {
        let kind = described.value().get_type();
        Diagnostic::error(format!("{DESCRIBE}() in `{}` must return Extension(...), not a `{kind}`", source.name))
            .hint("as in `def describe_extension(): return Extension(name = \"hello\", version = \"1.0.0\", tools = [...])`")
            .into()
    })
}
