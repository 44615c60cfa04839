//! `current_user()` and `client()`: whom a surface is for, and who makes a request.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, Value};

use super::world::World;
use crate::model::{ClientInfo, Principal, SurfaceKey};
use crate::script::{Context, convert, script_error};

#[starlark_module]
pub fn register_identity(builder: &mut GlobalsBuilder) {
    /// At the top level, whom this surface is for; in a handler, who makes this request: struct `sub`, `email` and `name`
    /// (texts), `groups` (a list), `claims` (a dict) and `anonymous` (then `sub` is `"anonymous"`). A script that asks at
    /// its top level runs once for each user and client; one that never asks runs once for all.
    ///
    /// ```python
    /// if "ops" in current_user().groups:
    ///     publish(meta, call)
    /// ```
    fn current_user<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        user(&visitor(eval)?.principal, eval.heap())
    }

    /// The client that is served: struct `name`, `version`, `protocol_version` (texts) and `capabilities` (a dict), as
    /// the client says itself. Where it says nothing the texts are empty.
    ///
    /// ```python
    /// can_ask = "elicitation" in client().capabilities
    /// ```
    fn client<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        about(&visitor(eval)?.client, eval.heap())
    }
}

fn visitor(eval: &Evaluator<'_, '_, '_>) -> starlark::Result<SurfaceKey> {
    let context = Context::of(eval)?;
    if let Some(host) = &context.host {
        let of = |request: &crate::model::Request| SurfaceKey {
            principal: request.principal.clone(),
            client: request.client.clone(),
        };
        return Ok(host.request().map_or_else(SurfaceKey::anonymous, of));
    }
    let world = World::of(eval)?;
    world.notes().personal = true;
    Ok(world.visitor.clone())
}

/// A principal as scripts see it.
pub(crate) fn user<'v>(principal: &Principal, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    let claims = convert::text_to_starlark(&principal.claims, heap).map_err(|error| script_error(error.to_string()))?;
    let groups: Vec<Value<'v>> = principal.groups.iter().map(|group| heap.alloc(group.as_str())).collect();
    Ok(heap.alloc(AllocStruct([
        ("sub", heap.alloc(principal.sub.as_ref())),
        ("email", heap.alloc(principal.email.as_ref())),
        ("name", heap.alloc(principal.name.as_ref())),
        ("groups", heap.alloc(groups)),
        ("claims", claims),
        ("anonymous", Value::new_bool(principal.anonymous)),
    ])))
}

/// A client as scripts see it.
pub(crate) fn about<'v>(client: &ClientInfo, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    Ok(heap.alloc(AllocStruct([
        ("name", heap.alloc(client.name())),
        ("version", heap.alloc(client.version())),
        ("protocol_version", heap.alloc(client.protocol_version)),
        ("capabilities", convert::to_starlark(&client.capabilities(), heap)?),
    ])))
}
