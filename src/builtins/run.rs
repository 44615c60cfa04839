//! Runs a session script against a snapshot of the catalog.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use starlark::values::dict::FrozenDictRef;
use starlark::values::tuple::FrozenTupleRef;
use starlark::values::{OwnedFrozenValue, ValueLike};

use super::backends::BackendHandler;
use super::metadata::Metadata;
use super::session::World;
use super::{Handler, Hook, Plan, Published, Settings, globals, presets};
use crate::diagnostic::{Diagnostic, nearest};
use crate::model::Snapshot;
use crate::model::SurfaceKey;
use crate::sandbox::Workers;
use crate::script::{Context, Failure, Function, Limits, Paths, Program, Source, evaluate, on_big_stack};

/// What the built-ins of a session script see.
pub fn world(
    snapshot: Arc<Snapshot>,
    settings: Arc<Settings>,
    visitor: SurfaceKey,
) -> Arc<dyn std::any::Any + Send + Sync> {
    Arc::new(World::new(snapshot, settings, visitor))
}

const IN_A_HANDLER: &str = "do it inside a handler: `def handler(args): ...`, then `publish(meta, handler)`";

/// Runs a session script. Every error is a diagnostic with place and cure.
pub fn run_session_script(
    source: &Source,
    root: &Path,
    snapshot: Arc<Snapshot>,
    settings: Arc<Settings>,
    visitor: SurfaceKey,
    limits: &Limits,
) -> Result<Plan, Diagnostic> {
    let run = || plan(source, root, Arc::new(World::new(snapshot, settings, visitor)), limits);
    on_big_stack(run).and_then(|result| result).map_err(|failure| *failure.diagnostic)
}

fn plan(source: &Source, root: &Path, world: Arc<World>, limits: &Limits) -> Result<Plan, Failure> {
    let context = Context::top(world.clone(), limits).with_cure(IN_A_HANDLER);
    let done = evaluate(&Program {
        source,
        globals: globals::session(),
        context: &context,
        limits,
        root: Some(root),
        embedded: presets::LIBRARY,
        paths: Paths::Full,
        collects: true,
    })
    .map_err(|failure| with_log(with_servers(failure, &world), &context))?;
    let mut plan = Plan::default();
    if let Some(collected) = done.module.owned_extra_value() {
        take_published(&collected, &world, &mut plan);
    }
    plan.on_request = Hook::of(&done.module, &world)?;
    let mut notes = world.notes();
    plan.personal = notes.personal;
    plan.instructions = notes.instructions.take();
    plan.passes_all = notes.passes_all;
    plan.sections_read = std::mem::take(&mut notes.sections_read);
    plan.warnings = std::mem::take(&mut notes.warnings);
    plan.indexes = std::mem::take(&mut notes.indexes);
    plan.log = context.log.into_inner();
    plan.files = done.files;
    if mentions_run_script(&source.text, &plan.files) {
        plan.sections_read.insert("codeMode".to_owned());
        Workers::shared().warm_up();
    }
    let settings = crate::json::canonical(&serde_json::Value::Object(world.settings.sections.clone()));
    plan.digest = crate::json::digest(&serde_json::json!([done.digest, settings]));
    Ok(plan)
}

/// Whether a handler may run scripts that a model wrote: then the limits for these are read, though only then.
fn mentions_run_script(text: &str, files: &[PathBuf]) -> bool {
    let calls = |text: &str| text.contains("run_script(");
    calls(text) || files.iter().any(|file| std::fs::read_to_string(file).is_ok_and(|text| calls(&text)))
}

/// The engine knows keys of dicts; that this one is the name of a server is known here.
fn with_servers(mut failure: Failure, world: &World) -> Failure {
    let key = failure.message.strip_prefix("Key `\"").and_then(|rest| rest.strip_suffix("\"` was not found"));
    let place = failure.diagnostic.place.as_ref();
    let pointed_at = place.and_then(|place| place.source.get(place.span.clone())).unwrap_or_default();
    if let (Some(key), true) = (key, pointed_at.starts_with("backends()[")) {
        let names: Vec<&str> = world.snapshot.backends.iter().map(|backend| &*backend.name).collect();
        failure.diagnostic.hint = Some(match nearest(key, names.iter().copied()) {
            Some(near) => format!("no server has that name; did you mean `{near}`?"),
            None if names.is_empty() => "there are no servers".to_owned(),
            None => format!("no server has that name; there are `{}`", names.join("`, `")),
        });
    }
    failure
}

/// Who debugs with `print()` needs the lines most when the script fails.
fn with_log(mut failure: Failure, context: &Context) -> Failure {
    const SHOWN: usize = 10;
    let lines = context.log.take();
    let last = lines.iter().skip(lines.len().saturating_sub(SHOWN));
    failure.diagnostic.notes.extend(last.map(|line| format!("the script logged: {}", line.message)));
    failure
}

/// The collected tuples, each handler kept alive by the heap it lies on.
fn take_published(collected: &OwnedFrozenValue, world: &Arc<World>, plan: &mut Plan) {
    // `map` hands out the value itself, so that no unchecked access is needed.
    collected.map(|dict| {
        let entries =
            FrozenDictRef::from_frozen_value(dict).map(|dict| dict.iter().collect::<Vec<_>>()).unwrap_or_default();
        for (_, entry) in entries {
            let Some([metadata, handler]) = FrozenTupleRef::from_frozen_value(entry).map(FrozenTupleRef::content)
            else {
                continue;
            };
            let Some(metadata) = metadata.downcast_ref::<Metadata>() else { continue };
            let handler = match handler.downcast_ref::<BackendHandler>() {
                Some(backend) => Handler::Backend(backend.target.clone()),
                None => Handler::Script(Function::new(collected.map(|_| *handler), world.clone())),
            };
            plan.of_mut(metadata.kind).push(Published {
                definition: metadata.definition.clone(),
                handler,
                origin: metadata.origin.clone(),
            });
        }
        dict
    });
}
