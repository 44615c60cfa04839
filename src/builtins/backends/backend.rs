//! `backends()` and what a backend shows of itself.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use starlark::environment::{GlobalsBuilder, Methods, MethodsBuilder};
use starlark::eval::Evaluator;
use starlark::values::dict::AllocDict;
use starlark::values::structs::AllocStruct;
use starlark::values::{
    Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use super::handler::BackendHandler;
use crate::builtins::metadata::Metadata;
use crate::builtins::session::World;
use crate::model::{BackendView, ItemKind, ItemRef};

#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct Backend {
    #[allocative(skip)]
    view: Arc<BackendView>,
}

starlark_simple_value!(Backend);

impl Backend {
    fn items<'v>(&self, kind: ItemKind, heap: Heap<'v>) -> Value<'v> {
        heap.alloc(offered(&self.view, kind).map(|item| heap.alloc(item)).collect::<Vec<_>>())
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<backend {}>", self.view.name)
    }
}

starlark::methods_static!(BACKEND_METHODS = backend_members);

#[starlark_value(type = "Backend")]
impl<'v> StarlarkValue<'v> for Backend {
    fn get_methods() -> Option<&'static Methods> {
        Some(BACKEND_METHODS.methods())
    }
}

/// A server behind the proxy, or a local extension.
#[starlark_module]
fn backend_members(builder: &mut MethodsBuilder) {
    /// Its name in the config.
    #[starlark(attribute)]
    fn name<'v>(this: &Backend, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.view.name.as_ref()))
    }

    /// `"stdio"`, `"http"` or `"extension"`.
    #[starlark(attribute)]
    fn kind(this: &Backend) -> starlark::Result<&'static str> {
        Ok(this.view.kind.as_str())
    }

    /// `"ready"`, `"starting"`, `"cached"` (not connected, showing what it last offered) or `"failed"`.
    #[starlark(attribute)]
    fn status(this: &Backend) -> starlark::Result<&'static str> {
        Ok(this.view.status.as_str())
    }

    /// Why it is not ready; empty if there is nothing to say.
    #[starlark(attribute)]
    fn error<'v>(this: &Backend, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.view.error.as_str()))
    }

    /// What it says of itself: struct `name version title instructions protocol_version`. Claims, not facts.
    #[starlark(attribute)]
    fn info<'v>(this: &Backend, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let info = &this.view.info;
        Ok(heap.alloc(AllocStruct([
            ("name", info.name.as_str()),
            ("version", info.version.as_str()),
            ("title", info.title.as_str()),
            ("instructions", info.instructions.as_str()),
            ("protocol_version", info.protocol_version.as_str()),
        ])))
    }

    /// Its tools: a list of `(metadata, handler)` tuples, in its own order.
    fn tools<'v>(this: &Backend, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(this.items(ItemKind::Tool, heap))
    }

    /// Its resources: a list of `(metadata, handler)` tuples, in its own order.
    fn resources<'v>(this: &Backend, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(this.items(ItemKind::Resource, heap))
    }

    /// Its resource templates: a list of `(metadata, handler)` tuples, in its own order. The handler takes the `uri` of
    /// the resource that is wanted.
    fn resource_templates<'v>(this: &Backend, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(this.items(ItemKind::ResourceTemplate, heap))
    }

    /// Its prompts: a list of `(metadata, handler)` tuples, in its own order.
    fn prompts<'v>(this: &Backend, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(this.items(ItemKind::Prompt, heap))
    }
}

/// What a backend has of a kind, as scripts get it.
pub(crate) fn offered(view: &BackendView, kind: ItemKind) -> impl Iterator<Item = (Metadata, BackendHandler)> {
    view.lists.of(kind).iter().map(move |definition| {
        let target = ItemRef { kind, backend: view.name.clone(), name: definition.key().into() };
        (Metadata::of_backend(definition.clone(), target.clone()), BackendHandler { target })
    })
}

#[starlark_module]
pub fn register_backends(builder: &mut GlobalsBuilder) {
    /// All backends: a dict from name to `Backend`, in the order of the config. One that is down is there too, with its
    /// `.status` and `.error`.
    fn backends<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let world = World::of(eval)?;
        let entries = world.snapshot.backends.iter().map(|view| (view.name.as_ref(), Backend { view: view.clone() }));
        Ok(eval.heap().alloc(AllocDict(entries)))
    }
}
