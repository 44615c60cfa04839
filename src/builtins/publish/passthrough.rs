//! `passthrough()`: resources and prompts as the backends have them.

use serde_json::{Map, Value as Json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneType;

use super::checks::{check_free, check_key};
use super::functions::{collect, place};
use crate::builtins::backends::BackendHandler;
use crate::builtins::backends::offered;
use crate::builtins::metadata::Metadata;
use crate::builtins::metadata::kinds::{key_field, key_noun, noun};
use crate::builtins::session::World;
use crate::builtins::session::world::Earlier;
use crate::diagnostic::Place;
use crate::model::ItemKind;
use crate::script::{Context, LogLevel};

#[starlark_module]
pub fn register_passthrough(builder: &mut GlobalsBuilder) {
    /// Publishes all resources, resource templates and prompts as the backends have them. Only at the top level of the
    /// session script. Where two backends have the same URI or name, the first in the order of the config wins; so does
    /// what the script has published before. What is left out is in the log.
    ///
    /// ```python
    /// passthrough(prompts = False)   # only the resources
    /// ```
    fn passthrough<'v>(
        #[starlark(default = true)] resources: bool,
        #[starlark(default = true)] prompts: bool,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        Context::of(eval)?.require_top("passthrough()")?;
        let wanted =
            [(ItemKind::Resource, resources), (ItemKind::ResourceTemplate, resources), (ItemKind::Prompt, prompts)];
        let (world, place) = (World::of(eval)?, place(eval));
        world.notes().passes_all |= resources && prompts;
        for (kind, _) in wanted.into_iter().filter(|(_, wanted)| *wanted) {
            for view in &world.snapshot.backends {
                for (metadata, handler) in offered(view, kind) {
                    pass(metadata, handler, world, place.as_ref(), eval)?;
                }
            }
        }
        Ok(NoneType)
    }
}

/// Publishes one thing, or logs why not: what a server lists must not make the script fail.
fn pass<'v>(
    metadata: Metadata,
    handler: BackendHandler,
    world: &World,
    place: Option<&Place>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<()> {
    let key = (metadata.kind, metadata.definition.key().to_owned());
    let verdict = {
        let mut notes = world.notes();
        match notes.published.get(&key).cloned() {
            Some(earlier) => Err(taken(&metadata, earlier)),
            None => check_key(&metadata, &mut notes, place)
                .and_then(|()| check_free(&metadata, &mut notes, place))
                .map_err(|complaint| (format!("a {} is left out: {complaint}", noun(metadata.kind)), None)),
        }
    };
    match verdict {
        Ok(()) => {
            let heap = eval.heap();
            let (meta, handler) = (heap.alloc(metadata), heap.alloc(handler));
            collect("passthrough()", key.0, &key.1, (meta, handler), eval)
        }
        Err((message, kept)) => {
            let mut fields = Map::new();
            fields.insert(key_field(key.0).to_owned(), Json::from(key.1));
            fields.insert("dropped".to_owned(), Json::from(handler.target.backend.as_ref()));
            fields.extend(kept.map(|kept| ("kept".to_owned(), Json::from(kept))));
            Context::of(eval)?.log(LogLevel::Warning, &message, fields)?;
            Ok(())
        }
    }
}

/// What to log where the URI or name is taken, and who has it.
fn taken(metadata: &Metadata, earlier: Earlier) -> (String, Option<String>) {
    let message =
        format!("a {} is left out: its {} is already published", noun(metadata.kind), key_noun(metadata.kind));
    (message, Some(earlier.backend.map_or(earlier.place, |backend| backend.to_string())))
}
