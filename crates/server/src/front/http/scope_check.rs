//! The scopes that a request needs beyond those of every request, checked before its answer begins: from then on there is no
//! HTTP status to say it with.

use crate::client::state::Client;
use crate::front::http::HttpFront;
use crate::front::http::challenges::Challenges;
use crate::methods;
use ::http::HeaderMap;
use proxy_engine::surface::Surface;
use proxy_json::{Object, RawRef};
use proxy_model::{ItemKind, RecordedItem, RefusalReason, ScopeRules};
use proxy_wire::http::HttpReply;
use proxy_wire::{Id, Method, Request, RpcError};

/// The refusal of requests that together need scopes which the caller lacks.
pub(super) fn scope_refusal<'a>(
    front: &HttpFront,
    client: &Client,
    requests: impl Iterator<Item = &'a Request>,
    id: Option<&Id>,
    headers: &HeaderMap,
) -> Option<HttpReply> {
    let rules = front.server.gateway.scope_rules();
    if rules.is_empty() {
        return None;
    }
    let surface = front.server.gateway.surface_now(&client.surface_handle);
    let mut needed: Vec<String> = Vec::new();
    for request in requests {
        let lacking = lacking(&rules, client, surface.as_deref(), request);
        // Whoever is anonymous is asked to log in, which is no refusal.
        if !lacking.is_empty() && !client.principal.is_anonymous() {
            record_refusal(front, client, request, surface.as_deref(), &lacking);
        }
        for scope in lacking {
            if !needed.contains(&scope) {
                needed.push(scope);
            }
        }
    }
    if needed.is_empty() {
        return None;
    }
    let profile = client.principal.profile_name();
    let challenges = Challenges::new(&front.authenticator.borrow(), &front.resource, headers, profile);
    Some(match client.principal.is_anonymous() {
        true => challenges.anonymous(id, &needed),
        false => challenges.lacking_scopes(id, &needed),
    })
}

/// Records a request that is refused before its answer begins.
fn record_refusal(front: &HttpFront, client: &Client, request: &Request, surface: Option<&Surface>, needed: &[String]) {
    let recorded = methods::record(&front.server, client, request);
    let why = ScopeRules::refusal(needed);
    recorded.recording().refused(RefusalReason::Scope, || None, &why);
    recorded.recording().note(|noted| {
        let item = used_items(client, request, surface).into_iter().next();
        noted.item = item.map(|(kind, name)| RecordedItem { kind, name, origin: None, definition: None });
    });
    recorded.end(Some(&Err(RpcError::invalid_request(&why))));
}

/// All scopes that a request needs, if the user lacks one of them.
fn lacking(rules: &ScopeRules, client: &Client, surface: Option<&Surface>, request: &Request) -> Vec<String> {
    let used = used_items(client, request, surface);
    let lacks = |(kind, name): &(ItemKind, String)| rules.lacking(&client.principal, *kind, name).is_some();
    if !used.iter().any(lacks) {
        return Vec::new();
    }
    used.iter().flat_map(|(kind, name)| rules.needed(*kind, name)).collect()
}

/// The published items that a request uses.
fn used_items(client: &Client, request: &Request, surface: Option<&Surface>) -> Vec<(ItemKind, String)> {
    let Some(Ok(params)) = request.params.as_deref().map(Object::of) else { return Vec::new() };
    let dialect = surface.and_then(|surface| surface.dialect_of(&client.info)).map(|dialect| &**dialect);
    let named = |kind: ItemKind, params: &Object<'_>, member: &str| {
        let key = params.string(member)?;
        // Whether there is such an item does not matter: the rules are about names.
        let published = surface.map(|surface| surface.key_for(dialect, kind, &key).to_owned());
        Some((kind, published.unwrap_or(key)))
    };
    let found = match (request.kind, request.kind.item_kind()) {
        (_, Some(kind)) => named(kind, &params, kind.use_member()),
        (Method::CompletionComplete, None) => {
            let reference = params.get("ref").and_then(|reference| Object::of(reference).ok());
            reference.and_then(|reference| match reference.string("type").as_deref() {
                Some("ref/prompt") => named(ItemKind::Prompt, &reference, "name"),
                Some("ref/resource") => named(ItemKind::Resource, &reference, "uri"),
                _ => None,
            })
        }
        _ => None,
    };
    let carried = match (&found, surface) {
        (Some((ItemKind::Tool, name)), Some(surface)) => {
            let renamed = surface.published_arguments(dialect, name, &params).ok().flatten();
            carried(surface, name, renamed.as_deref().or_else(|| params.get("arguments")))
        }
        _ => None,
    };
    found.into_iter().chain(carried).collect()
}

/// The tool that a carrier is told to call, as `call_tool` is. The scopes are checked again when the script calls it.
fn carried(surface: &Surface, name: &str, arguments: Option<&RawRef>) -> Option<(ItemKind, String)> {
    let (carrier, _) = surface.find(ItemKind::Tool, name)?.carrier.as_ref()?;
    carrier.named_tool(arguments?).map(|carried| (ItemKind::Tool, carried))
}
