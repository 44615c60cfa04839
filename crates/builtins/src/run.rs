//! Runs a session script against a snapshot of the catalog, and collects its plan.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use starlark::values::dict::FrozenDictRef;
use starlark::values::tuple::FrozenTupleRef;
use starlark::values::{OwnedFrozenValue, ValueLike};

use super::effects::backend_handler::BackendHandler;
use super::metadata::Metadata;
use super::publish::completion::Completers;
use super::publish::refresh::interval_of;
use super::session::World;
use super::session::world::Notes;
use super::{Handler, Hook, OtherHook, Plan, Published, Settings, SkippedItem, globals, presets};
use crate::session::provenance::Provenance;
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_base::memory;
use proxy_code_mode::sandbox::Workers;
use proxy_model::{ItemKind, ItemRef, Snapshot, SurfaceKey, interface_fault};
use proxy_script::{CallSite, Context, Failure, Function, Limits, Paths, Program, Source, evaluate, on_big_stack};

/// The world that the built-ins of a session script use, for evaluating code outside of a run.
pub fn world(
    snapshot: Arc<Snapshot>,
    settings: Arc<Settings>,
    surface_key: SurfaceKey,
) -> Arc<dyn std::any::Any + Send + Sync> {
    Arc::new(World::new(snapshot, settings, surface_key))
}

/// The hint for effects at the top level.
const IN_A_HANDLER: &str = "do it inside a handler: `def handler(args): ...`, then `publish(meta, handler)`";

/// Why a session script has no plan.
#[derive(Debug)]
pub struct SessionScriptError {
    /// It has a position and, where possible, a hint.
    pub diagnostic: Box<Diagnostic>,
    /// Whether the script has read its user or client, so that it may succeed for another.
    pub personal: bool,
}

/// Runs a session script for one user. The error says whether the script has read its user or client, so that it may
/// succeed for another.
pub fn run_session_script(
    source: &Source,
    root: &Path,
    snapshot: Arc<Snapshot>,
    settings: Arc<Settings>,
    surface_key: SurfaceKey,
    limits: &Limits,
) -> Result<Plan, SessionScriptError> {
    let user = surface_key.principal.clone();
    let world = Arc::new(World::new(snapshot, settings, surface_key));
    on_big_stack(|| measured_plan(source, root, &world, limits)).and_then(|result| result).map_err(|failure| {
        let (mut diagnostic, personal) = (failure.diagnostic, world.notes().personal);
        if personal {
            diagnostic.notes.push(match user.is_anonymous() {
                true => "the script ran for an anonymous user".to_owned(),
                false => format!("the script ran for the user `{}`", user.sub()),
            });
        }
        SessionScriptError { diagnostic, personal }
    })
}

/// The plan, with the memory that it takes. The run has its thread to itself.
fn measured_plan(source: &Source, root: &Path, world: &Arc<World>, limits: &Limits) -> Result<Plan, Failure> {
    let before = memory::balance();
    let mut plan = plan(source, root, Arc::clone(world), limits)?;
    plan.bytes = memory::balance().wrapping_sub(before).max(0).unsigned_abs();
    Ok(plan)
}

fn plan(source: &Source, root: &Path, world: Arc<World>, limits: &Limits) -> Result<Plan, Failure> {
    let context = Context::top(world.clone(), limits).with_top_level_hint(IN_A_HANDLER);
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
    check_interfaces(&plan, &world.snapshot)?;
    let forwarding =
        plan.items.tools.iter().filter(|tool| tool.carrier.as_ref().is_some_and(|it| it.name_argument.is_some()));
    let _ = world.forwarding.set(forwarding.map(|tool| tool.definition.key().to_owned()).collect());
    plan.on_request = Hook::of(&done.module, &world)?;
    plan.on_other_request = OtherHook::of(&done.module, &world)?;
    let mut notes = world.notes();
    plan.personal = notes.personal || Arc::strong_count(&notes.client_values) > 1;
    plan.reads_row = notes.reads_row;
    plan.skipped = skipped(&mut notes, &plan);
    // The handlers keep the world alive, and need none of this.
    notes.published = HashMap::new();
    notes.provenance = Provenance::default();
    plan.labels = std::mem::take(&mut notes.labels);
    plan.instructions = notes.instructions.take();
    plan.passes_all = notes.passes_all;
    plan.sections_read = std::mem::take(&mut notes.sections_read);
    plan.warnings = std::mem::take(&mut notes.warnings);
    plan.indexes = std::mem::take(&mut notes.indexes);
    plan.log = context.log.into_inner();
    plan.files = done.files;
    // The handlers use this section, even though they have not read it yet.
    if done.names.contains("run_script") {
        plan.sections_read.insert("codeMode".to_owned());
        Workers::shared().warm_up();
    }
    let settings = proxy_json::canonical(&serde_json::Value::Object(world.settings.sections.clone()));
    plan.digest = match &world.settings.profile {
        None => proxy_json::digest(&serde_json::json!([done.digest, settings])),
        Some(profile) => proxy_json::digest(&serde_json::json!([done.digest, settings, &**profile])),
    };
    Ok(plan)
}

/// Checks that the user interface of each tool that the script has made itself is published, or that a server has it.
fn check_interfaces(plan: &Plan, snapshot: &Snapshot) -> Result<(), Diagnostic> {
    let resource = |uri: &str| {
        let published = plan.items.resources.iter().map(|resource| &*resource.definition);
        let of_servers = snapshot.backends.iter().flat_map(|backend| backend.lists.of(ItemKind::Resource));
        published.chain(of_servers.map(|definition| &**definition)).find(|definition| definition.key() == uri)
    };
    for tool in plan.items.tools.iter().filter(|tool| tool.origin.is_none()) {
        if let Some((problem, hint)) = interface_fault(&tool.definition, resource) {
            let mut diagnostic = Diagnostic::error(problem).hint(hint);
            diagnostic
                .notes
                .extend(tool.site.as_ref().and_then(CallSite::line).map(|line| format!("published at {line}")));
            return Err(diagnostic);
        }
    }
    Ok(())
}

/// The items that the script skipped and does not publish.
fn skipped(notes: &mut Notes, plan: &Plan) -> Vec<SkippedItem> {
    let published: HashSet<&ItemRef> =
        ItemKind::ALL.iter().flat_map(|kind| plan.items.of(*kind)).filter_map(Published::source).collect();
    notes.provenance.take_skipped(|item| published.contains(item))
}

/// Adds a hint to Starlark's error about a missing dict key if the key is a server name in `backends()[...]`.
fn with_servers(mut failure: Failure, world: &World) -> Failure {
    let key = failure.message.strip_prefix("Key `\"").and_then(|rest| rest.strip_suffix("\"` was not found"));
    let place = failure.diagnostic.place.as_ref();
    let pointed_at = place.and_then(|place| place.source.get(place.span.clone())).unwrap_or_default();
    if let (Some(key), true) = (key, pointed_at.starts_with("backends()[")) {
        let names: Vec<&str> = world.snapshot.backends.iter().map(|backend| &*backend.name).collect();
        failure.diagnostic.hint = Some(match nearest(key, names.iter().copied()) {
            Some(near) => format!("unknown server; did you mean `{near}`?"),
            None if names.is_empty() => "no servers are configured".to_owned(),
            None => format!("unknown server; the servers are `{}`", names.join("`, `")),
        });
    }
    failure
}

/// Adds the last log lines to a failure, for debugging with `print()`.
fn with_log(mut failure: Failure, context: &Context) -> Failure {
    const MAX_LINES: usize = 10;
    let lines = context.log.take();
    let last = lines.iter().skip(lines.len().saturating_sub(MAX_LINES));
    failure.diagnostic.notes.extend(last.map(|line| format!("the script logged: {}", line.message)));
    failure
}

/// Moves the collected tuples into the plan. Each handler keeps the heap alive on which it lives.
fn take_published(collected: &OwnedFrozenValue, world: &Arc<World>, plan: &mut Plan) {
    // `map` gives access to the frozen value without `unsafe`.
    collected.map(|dict| {
        let entries =
            FrozenDictRef::from_frozen_value(dict).map(|dict| dict.iter().collect::<Vec<_>>()).unwrap_or_default();
        for (_, entry) in entries {
            let Some([metadata, handler, options @ ..]) =
                FrozenTupleRef::from_frozen_value(entry).map(FrozenTupleRef::content)
            else {
                continue;
            };
            let Some(metadata) = metadata.downcast_ref::<Metadata>() else { continue };
            let is_tool = metadata.kind == ItemKind::Tool;
            let checks = is_tool.then(|| metadata.tool_checks(handler.to_value(), &world.snapshot));
            let argument_checks = metadata.argument_checks(handler.to_value(), &world.snapshot);
            let handler = match handler.downcast_ref::<BackendHandler>() {
                Some(backend) => Handler::Backend(backend.target.clone()),
                None => {
                    let function = Function::new(collected.map(|_| *handler), world.clone());
                    Handler::Script(match metadata.timeout {
                        Some(limit) => function.with_timeout(limit),
                        None => function,
                    })
                }
            };
            let key = (metadata.kind, metadata.definition.key().to_owned());
            let site = world.notes().published.get(&key).map(|published| published.site.clone());
            let completers = options.first().and_then(|dict| {
                let world: Arc<dyn std::any::Any + Send + Sync> = world.clone();
                Completers::of(*dict, collected, &world, site.clone())
            });
            let refresh = options.get(1).and_then(|refresh| interval_of(refresh.to_value()));
            plan.items.of_mut(metadata.kind).push(Published {
                definition: metadata.definition.clone(),
                handler,
                origin: metadata.origin.clone(),
                checks,
                argument_checks,
                carrier: metadata.carrier.clone(),
                completers,
                refresh,
                site,
                edits: metadata.edits.clone(),
                labels: metadata.labels.clone(),
            });
        }
        dict
    });
}
