//! Single resources that somebody follows, in the way of either era.

use crate::call::Call;
use crate::message::{Refusal, quoted};
use crate::request::Request;
use crate::shared::{Listener, Shared};

/// Whether this server knows such a resource. `test://` is never listed.
pub fn can_follow(uri: &str) -> bool {
    uri.starts_with("memo://") || uri.starts_with("test://")
}

/// `resources/subscribe` and `resources/unsubscribe`.
pub fn change(shared: &Shared, request: &Request) -> Result<String, Refusal> {
    let uri = request.text_parameter("uri").unwrap_or_default();
    if !can_follow(&uri) {
        let data = format!(r#"{{"uri":{}}}"#, quoted(&uri));
        return Err(Refusal::new(200, -32002, "no such resource").with_data(data));
    }
    let subscription = (request.header("mcp-session-id").map(str::to_owned), uri);
    let mut inner = shared.lock();
    inner.subscribed.retain(|known| *known != subscription);
    if request.method == "resources/subscribe" {
        inner.subscribed.push(subscription);
    }
    Ok("{}".to_owned())
}

/// Tells those who follow a resource, or one above it, that it was updated, as often as asked.
pub fn touch(call: &Call) {
    let uri = call.argument::<String>("uri").unwrap_or_default();
    let params = format!(r#"{{"uri":{}}}"#, quoted(&uri));
    let times = call.argument::<usize>("n").unwrap_or(1);
    let inner = call.shared.lock();
    let covers = |followed: &String| uri == *followed || uri.starts_with(&format!("{followed}/"));
    let follows = |listener: &&Listener| match listener.subscription {
        Some(_) => listener.resources.iter().any(covers),
        None => inner.subscribed.iter().any(|(session, followed)| *session == listener.session && covers(followed)),
    };
    let told: Vec<&Listener> = inner.listeners.iter().filter(follows).collect();
    for listener in &told {
        let params = match &listener.subscription {
            Some(id) => crate::shared::stamped(&params, id),
            None => params.clone(),
        };
        for _ in 0..times {
            listener.outbox.notify("notifications/resources/updated", &params);
        }
    }
    call.text(&format!("told {}", told.len()));
}
