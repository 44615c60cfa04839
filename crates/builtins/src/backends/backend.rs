//! `backends()` and the Starlark value `BackendValue`.
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

use crate::effects::backend_handler::BackendHandler;
use crate::metadata::Metadata;
use crate::session::World;
use proxy_config::Naming;
use proxy_model::{BackendView, ItemKind, ItemRef};

#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct BackendValue {
    #[allocative(skip)]
    view: Arc<BackendView>,
    #[allocative(skip)]
    naming: Naming,
}

starlark_simple_value!(BackendValue);

impl BackendValue {
    /// A list of `(metadata, handler)` tuples.
    fn items<'v>(&self, kind: ItemKind, heap: Heap<'v>) -> Value<'v> {
        heap.alloc(offered(&self.view, kind).map(|item| heap.alloc(item)).collect::<Vec<_>>())
    }
}

impl fmt::Display for BackendValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<backend {}>", self.view.name)
    }
}

starlark::methods_static!(BACKEND_METHODS = backend_members);

#[starlark_value(type = "Backend")]
impl<'v> StarlarkValue<'v> for BackendValue {
    fn get_methods() -> Option<&'static Methods> {
        Some(BACKEND_METHODS.methods())
    }
}

/// A server behind the proxy, or a local extension.
#[starlark_module]
fn backend_members(builder: &mut MethodsBuilder) {
    /// The name in the config.
    #[starlark(attribute)]
    fn name<'v>(this: &BackendValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.view.name.as_ref()))
    }

    /// `"stdio"`, `"http"`, `"openapi"` or `"extension"`.
    #[starlark(attribute)]
    fn kind(this: &BackendValue) -> starlark::Result<&'static str> {
        Ok(this.view.kind.as_str())
    }

    /// `"ready"`, `"starting"`, `"cached"` (not connected; lists the items from the last connection), `"resting"` (the same,
    /// and not running until it is needed: its calls start it), `"failed"`, `"login"` (not connected until somebody logs in) or `"per person"` (lists items only for callers with a token
    /// from its issuer).
    #[starlark(attribute)]
    fn status(this: &BackendValue) -> starlark::Result<&'static str> {
        Ok(this.view.status.as_str())
    }

    /// How `aggregate()` names the backend's tools and prompts by the strategy `auto`: `"order"` (in the config's order), `"last"`
    /// (each person has their own account there, so its names give way to those of all other backends) or `"prefix"` (always with
    /// the prefix, because another backend with such accounts may have the same tools).
    #[starlark(attribute)]
    fn naming(this: &BackendValue) -> starlark::Result<&'static str> {
        Ok(this.naming.as_str())
    }

    /// Why the backend is not ready; `""` if it is.
    #[starlark(attribute)]
    fn error<'v>(this: &BackendValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.view.error.as_str()))
    }

    /// The server's own description: a struct with `name`, `version`, `title`, `instructions` and `protocol_version`
    /// (`OpenAPI 3.1` for an API). The proxy does not verify it.
    #[starlark(attribute)]
    fn info<'v>(this: &BackendValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let info = &this.view.info;
        Ok(heap.alloc(AllocStruct([
            ("name", info.name.as_str()),
            ("version", info.version.as_str()),
            ("title", info.title.as_str()),
            ("instructions", info.instructions.as_str()),
            ("protocol_version", info.protocol_version.as_str()),
        ])))
    }

    /// Returns the backend's tools: a list of `(metadata, handler)` tuples, in the server's order. `handler(args)`
    /// calls the tool; `timeout = SECONDS` limits the call, and `relay = False` keeps the server's progress and log
    /// messages from the client.
    fn tools<'v>(this: &BackendValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(this.items(ItemKind::Tool, heap))
    }

    /// Returns the backend's resources: a list of `(metadata, handler)` tuples, in the server's order.
    fn resources<'v>(this: &BackendValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(this.items(ItemKind::Resource, heap))
    }

    /// Returns the backend's resource templates: a list of `(metadata, handler)` tuples, in the server's order. The
    /// handler takes a dict with the `uri` to read.
    fn resource_templates<'v>(this: &BackendValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(this.items(ItemKind::ResourceTemplate, heap))
    }

    /// Returns the backend's prompts: a list of `(metadata, handler)` tuples, in the server's order.
    fn prompts<'v>(this: &BackendValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(this.items(ItemKind::Prompt, heap))
    }
}

/// The items of one kind that a backend offers, as scripts get them.
pub(crate) fn offered(view: &BackendView, kind: ItemKind) -> impl Iterator<Item = (Metadata, BackendHandler)> {
    view.lists.of(kind).iter().map(move |definition| {
        let target = ItemRef { kind, backend: view.name.clone(), name: definition.key().into() };
        let metadata = Metadata::of_backend(definition.clone(), target.clone(), view.lock.clone());
        (metadata, BackendHandler { target })
    })
}

#[starlark_module]
pub fn register_backends(builder: &mut GlobalsBuilder) {
    /// Returns all backends, including those that are down, as a dict from name to `Backend`. The order is the
    /// config's, except that servers with late lists come last. See `.status` and `.error` for a backend's state.
    fn backends<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let world = World::of(eval)?;
        let entries = world.snapshot.backends.iter().map(|view| {
            let naming = world.settings.namings.get(view.name.as_ref()).copied().unwrap_or_default();
            (view.name.as_ref(), BackendValue { view: view.clone(), naming })
        });
        Ok(eval.heap().alloc(AllocDict(entries)))
    }
}
