//! `current_user()` and `client()`: the user and the client that a surface is built for or that make a request.

use std::sync::Arc;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, Value};

use super::client_value::{ClientValue, dialect_struct};
use super::world::World;
use proxy_model::{ClientInfo, Principal, SurfaceKey};
use proxy_script::{Context, NotedFact, convert, script_error};

#[starlark_module]
pub fn register_identity(builder: &mut GlobalsBuilder) {
    /// Returns the current user: in a handler the caller, at the top level the user that the script runs for. The
    /// struct has `sub`, `email` and `name` (strings), `groups` (a list), `claims` (a dict), `issuer` (the URL from
    /// `auth.issuers` that issued the token, otherwise empty), `scopes` (a list of token scopes) and `anonymous` (if
    /// True, `sub` is `"anonymous"`). A script that calls this at its top level runs once for each user and client;
    /// otherwise it runs once for all of them.
    ///
    /// ```python
    /// if "ops" in current_user().groups:
    ///     publish(meta, call)
    /// ```
    fn current_user<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        user_struct(&current(eval)?.principal, eval.heap())
    }

    /// Returns the client's own description: `name`, `version`, `protocol_version` (strings, empty if the client does
    /// not report them) and `capabilities` (a dict). As with `current_user()`, a script that reads them at its top level
    /// runs once for each user and client.
    ///
    /// `dialect` is what the proxy knows of the client: a struct with `row` (the name of its row of limits), `tools` (how
    /// many tools it takes), `name_length` (of a tool's own name), `description_length` and `result_tokens`. Each is None
    /// if it is not known. A script that reads nothing else of the client runs once for each row.
    ///
    /// ```python
    /// can_ask = "elicitation" in client().capabilities
    /// ```
    fn client<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        if Context::of(eval)?.host.is_none() {
            return Ok(eval.heap().alloc(ClientValue::of(World::of(eval)?)));
        }
        let client = current(eval)?.client;
        let dialects = World::of(eval).map(|world| Arc::clone(&world.settings.dialects)).unwrap_or_default();
        let mut members = client_members(&client, eval.heap())?;
        members.push(("dialect", dialect_struct(dialects.row_of(&client).map(Arc::as_ref), eval.heap())));
        Ok(eval.heap().alloc(AllocStruct(members)))
    }
}

/// The user and client of the current request or, at the top level, of the surface that is being built.
fn current(eval: &Evaluator<'_, '_, '_>) -> starlark::Result<SurfaceKey> {
    let context = Context::of(eval)?;
    if let Some(host) = &context.host {
        host.scope.note(NotedFact::CallerRead);
        let of = |request: &proxy_model::RequestInfo| SurfaceKey::of(request.principal.clone(), request.client.clone());
        return Ok(host.request().map_or_else(SurfaceKey::anonymous, of));
    }
    let world = World::of(eval)?;
    world.notes().personal = true;
    Ok(world.surface_key.clone())
}

/// A principal as the struct that scripts get.
pub(crate) fn user_struct<'v>(principal: &Principal, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    let claims = convert::text_to_starlark(&principal.claims, heap).map_err(|error| script_error(error.to_string()))?;
    let texts = |texts: &[String]| -> Vec<Value<'v>> { texts.iter().map(|text| heap.alloc(text.as_str())).collect() };
    let (groups, scopes) = (texts(&principal.groups), texts(&principal.scopes));
    Ok(heap.alloc(AllocStruct([
        ("sub", heap.alloc(principal.sub())),
        ("email", heap.alloc(principal.email.as_ref())),
        ("name", heap.alloc(principal.name.as_ref())),
        ("groups", heap.alloc(groups)),
        ("claims", claims),
        ("issuer", heap.alloc(principal.issuer())),
        ("scopes", heap.alloc(scopes)),
        ("anonymous", Value::new_bool(principal.is_anonymous())),
    ])))
}

/// A client as the struct that scripts get.
pub(crate) fn client_struct<'v>(client: &ClientInfo, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    Ok(heap.alloc(AllocStruct(client_members(client, heap)?)))
}

fn client_members<'v>(client: &ClientInfo, heap: Heap<'v>) -> starlark::Result<Vec<(&'static str, Value<'v>)>> {
    Ok(vec![
        ("name", heap.alloc(client.name())),
        ("version", heap.alloc(client.version())),
        ("protocol_version", heap.alloc(client.protocol_version)),
        ("capabilities", convert::to_starlark(&client.capabilities(), heap)?),
    ])
}
