//! From a request to the code that answers it, in the era that the request and the options agree on.

use std::sync::Arc;

use crate::message::{Envelope, Refusal, SUBSCRIPTION_KEY, members};
use crate::options::{Eras, Options};
use crate::request::Request;
use crate::shared::{Listener, Shared};
use crate::{discovery, features, headers, listing, subscriptions, tasks, tools};

/// Notifications and responses: nothing is answered.
pub fn without_answer(shared: &Shared, envelope: &Envelope, text: &str) {
    if envelope.method.as_deref() == Some("notifications/cancelled") {
        let target = members(envelope.params.as_deref()).remove("requestId");
        if let Some(target) = target
            && let Some(token) = shared.lock().in_flight.get(target.get())
        {
            token.cancel();
        }
    }
    let answered = envelope.method.is_none() && (envelope.result.is_some() || envelope.error.is_some());
    if answered && let Some(id) = &envelope.id {
        let waiting = shared.lock().asked.remove(id.get());
        if let Some(waiting) = waiting {
            // The call that asked may have been cancelled meanwhile.
            let _ = waiting.send(text.to_owned());
        }
    }
}

/// Which era the request belongs to, or why it is refused. HTTP asks this before it looks for a session.
pub fn era(request: &Request, eras: Eras) -> Result<bool, Refusal> {
    let header_is_modern = request.header("mcp-protocol-version").is_some_and(|version| version >= "2026");
    let looks_modern = request.named_version().is_some() || request.method == "server/discover" || header_is_modern;
    match (looks_modern, eras) {
        (true, Eras { modern: true, .. }) => Ok(true),
        (_, Eras { legacy: true, .. }) => Ok(false),
        _ if request.method == "initialize" => {
            Err(Refusal::new(404, -32601, "there is no initialize: this server speaks 2026-07-28 only"))
        }
        _ => Err(Refusal::new(400, -32602, "_meta must name the protocol version, this server speaks 2026-07-28")),
    }
}

pub async fn request(shared: Arc<Shared>, mut request: Request) {
    let eras = shared.eras_for_next_request();
    match era(&request, eras) {
        Ok(modern) => request.modern = modern,
        Err(refusal) => return request.outbox.refuse(&request.id, &refusal),
    }
    serve(shared, request).await;
}

/// Serves a request whose era is settled.
pub async fn serve(shared: Arc<Shared>, request: Request) {
    if request.method == "server/discover"
        && let Some(delay) = shared.options.discover_delay
    {
        tokio::time::sleep(std::time::Duration::from_millis(delay)).await;
    }
    if request.method == "server/discover" && discovery::misbehaves(&shared.options) {
        return discovery::misbehave(&shared.options, &request);
    }
    if request.modern
        && let Err(refusal) = headers::validate(&shared, &request)
    {
        return request.outbox.refuse(&request.id, &refusal);
    }
    let (id, token) = (request.id.clone(), request.cancelled.clone());
    shared.lock().in_flight.insert(id.clone(), token);
    answer(&shared, request).await;
    shared.lock().in_flight.remove(&id);
}

async fn answer(shared: &Arc<Shared>, request: Request) {
    match fault(&shared.options, &request.method).as_deref() {
        Some("ignore") => return,
        Some("exit") => std::process::exit(1),
        Some(_) => return request.outbox.refuse(&request.id, &Refusal::new(200, -32603, "refused for now")),
        None => {}
    }
    let capability = request.method.split('/').next().unwrap_or_default();
    let lacks = request.modern && shared.options.modern_lacks.iter().any(|name| name == capability);
    let outcome = match (request.method.as_str(), request.modern) {
        (method, true) if lacks => Err(Refusal::new(404, -32601, format!("there is no method {method}"))),
        ("initialize", false) => {
            let asked =
                request.parameter("capabilities").is_some_and(|declared| declared.get().contains("elicitation"));
            shared.lock().form_clients.insert(request.session.clone(), asked);
            Ok(discovery::initialize(&shared.options, &request))
        }
        ("ping" | "logging/setLevel", false) => Ok("{}".to_owned()),
        ("server/discover", true) => Ok(discovery::discover(&shared.options)),
        ("tools/list", _) => listing::tools(shared, &request),
        ("tools/call", _) => return tools::call(shared, request).await,
        ("subscriptions/listen", true) => return listen(shared, request).await,
        ("resources/list" | "resources/templates/list" | "resources/read", _) if shared.options.resources => {
            features::resources(&shared.options, &request)
        }
        ("resources/subscribe" | "resources/unsubscribe", false)
            if shared.options.resources && shared.options.subscribe =>
        {
            subscriptions::change(shared, &request)
        }
        ("prompts/list" | "prompts/get", _) if shared.options.prompts => features::prompts(&shared.options, &request),
        ("completion/complete", modern) if shared.options.completions.is_some() => {
            Ok(features::completion(shared.options.completions.unwrap_or_default(), modern))
        }
        ("tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel", _) if shared.options.tasks => {
            tasks::about(shared, &request).await
        }
        (method, modern) if shared.options.vendor && method.starts_with("vendor/") => {
            Ok(features::vendor(&request, modern))
        }
        (method, _) => Err(Refusal::new(404, -32601, format!("there is no method {method}"))),
    };
    match outcome {
        Ok(result) => request.outbox.result(&request.id, &result),
        Err(refusal) => request.outbox.refuse(&request.id, &refusal),
    }
}

/// What is wrong with a method at this moment.
fn fault(options: &Options, method: &str) -> Option<String> {
    let faults = std::fs::read_to_string(options.faults_file.as_ref()?).ok()?;
    let mut faults = faults.lines().filter_map(|line| line.split_once(' '));
    faults.find(|(_, named)| *named == method).map(|(fault, _)| fault.to_owned())
}

/// What a listener may ask for; other keys are left out of the acknowledgment.
const HONOURED: [&str; 3] = ["toolsListChanged", "promptsListChanged", "resourcesListChanged"];

/// Acknowledges, then stays open until the client ends it.
async fn listen(shared: &Arc<Shared>, request: Request) {
    let Some(filter) = request.parameter("notifications") else {
        let refusal = Refusal::new(400, -32602, "notifications is missing");
        return request.outbox.refuse(&request.id, &refusal);
    };
    let mut wanted = members(Some(&filter));
    let resources = wanted.remove("resourceSubscriptions");
    let resources: Vec<String> = resources.and_then(|uris| serde_json::from_str(uris.get()).ok()).unwrap_or_default();
    let resources: Vec<String> = resources.into_iter().filter(|uri| subscriptions::can_follow(uri)).collect();
    let mut honoured: Vec<String> = wanted
        .iter()
        .filter(|(key, _)| HONOURED.contains(&key.as_str()))
        .map(|(key, wanted)| format!(r#""{key}":{}"#, wanted.get()))
        .collect();
    if !resources.is_empty() {
        honoured.push(format!(r#""resourceSubscriptions":{}"#, serde_json::json!(resources)));
    }
    let id = &request.id;
    let params = format!(r#"{{"notifications":{{{}}},"_meta":{{"{SUBSCRIPTION_KEY}":{id}}}}}"#, honoured.join(","));
    request.outbox.notify("notifications/subscriptions/acknowledged", &params);
    let (outbox, subscription) = (request.outbox.clone(), Some(request.id.clone()));
    let listener = Listener { outbox, subscription, session: None, resources };
    shared.lock().listeners.push(listener);
    request.cancelled.cancelled().await;
    shared.lock().listeners.retain(|listener| listener.subscription.as_ref() != Some(&request.id));
}
