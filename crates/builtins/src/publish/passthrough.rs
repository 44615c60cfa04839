//! `passthrough()`: publishes resources and prompts unchanged.

use serde_json::{Map, Value as Json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneType;

use super::checks::{check_key, check_unique};
use super::functions::collect;
use crate::backends::offered;
use crate::effects::backend_handler::BackendHandler;
use crate::kinds::{key_field, key_noun, noun};
use crate::metadata::Metadata;
use crate::session::World;
use crate::session::world::PublishedAt;
use proxy_model::ItemKind;
use proxy_script::{CallSite, Context, LogLevel};

#[starlark_module]
pub fn register_passthrough(builder: &mut GlobalsBuilder) {
    /// Publishes all resources, resource templates and prompts from all backends unchanged. If two backends have the
    /// same URI or name, the first in `backends()` order wins. Items that the script published earlier take precedence.
    /// Skipped items are logged. Only at the top level.
    ///
    /// ```python
    /// passthrough(prompts = False)   # only the resources
    /// ```
    fn passthrough<'v>(
        #[starlark(default = true)] resources: bool,
        #[starlark(default = true)] prompts: bool,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        Context::of(eval)?.require_top_level("passthrough()")?;
        let kinds =
            [(ItemKind::Resource, resources), (ItemKind::ResourceTemplate, resources), (ItemKind::Prompt, prompts)];
        let world = World::of(eval)?;
        let site = world.notes().provenance.site(eval);
        world.notes().passes_all |= resources && prompts;
        for (kind, _) in kinds.into_iter().filter(|(_, enabled)| *enabled) {
            for view in &world.snapshot.backends {
                for (metadata, handler) in offered(view, kind) {
                    pass(metadata, handler, world, &site, eval)?;
                }
            }
        }
        Ok(NoneType)
    }
}

/// Publishes one item, or logs why not: an item that a server lists must not make the script fail.
fn pass<'v>(
    metadata: Metadata,
    handler: BackendHandler,
    world: &World,
    site: &CallSite,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<()> {
    let key = (metadata.kind, metadata.definition.key().to_owned());
    let verdict = {
        let mut notes = world.notes();
        match notes.published.get(&key).cloned() {
            Some(earlier) => Err(conflict(&metadata, earlier)),
            None => check_key(&metadata, &mut notes, eval)
                .and_then(|()| check_unique(&metadata, &mut notes, site))
                .map_err(|error| (format!("{} skipped: {error}", noun(metadata.kind)), None)),
        }
    };
    match verdict {
        Ok(()) => {
            let heap = eval.heap();
            let item = heap.alloc((metadata, handler));
            collect("passthrough()", key.0, &key.1, item, eval)
        }
        Err((message, published_by)) => {
            let why = match &published_by {
                Some(other) => format!("{message} (of `{other}`)"),
                None => message.clone(),
            };
            world.notes().provenance.skip(&handler.target, &why, eval);
            let mut fields = Map::new();
            fields.insert(key_field(key.0).to_owned(), Json::from(key.1));
            fields.insert("dropped".to_owned(), Json::from(handler.target.backend.as_ref()));
            fields.extend(published_by.map(|other| ("kept".to_owned(), Json::from(other))));
            Context::of(eval)?.log(LogLevel::Warning, &message, fields)?;
            Ok(())
        }
    }
}

/// The log message for an item whose URI or name is already published, and the backend or position that published it.
fn conflict(metadata: &Metadata, earlier: PublishedAt) -> (String, Option<String>) {
    let message = format!("{} skipped: its {} is already published", noun(metadata.kind), key_noun(metadata.kind));
    (message, Some(earlier.backend.as_ref().map_or_else(|| earlier.place(), |backend| backend.to_string())))
}
