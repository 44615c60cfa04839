//! What `proxy lock --json` prints.

use std::path::Path;

use serde_json::{Value, json};

use super::AskedServer;
use proxy_model::lock::{ItemReview, ReviewState, ServerReview, profile_name};
use proxy_model::scan::Finding;

/// The differences of all servers. Items that are as approved are only counted.
pub(super) fn report(path: &Path, asked: &[AskedServer], removed: &[String]) -> Value {
    let servers: Vec<Value> = asked.iter().map(server).collect();
    json!({"lock": path.display().to_string(), "servers": servers, "removed": removed})
}

fn server(asked: &AskedServer) -> Value {
    match &asked.answer {
        Err(reason) => json!({"name": asked.name, "state": "unknown", "error": reason}),
        Ok(answer) => {
            let review = &answer.review;
            let all = review.items.iter().zip(&answer.findings.items);
            let differing = all.filter(|(item, _)| item.state != ReviewState::Same);
            let items: Vec<Value> = differing.map(|(reviewed, findings)| item(reviewed, findings)).collect();
            let infos: Vec<Value> = review
                .infos
                .iter()
                .map(|info| json!({"member": info.member, "approved": info.approved, "live": info.live}))
                .collect();
            json!({
                "name": asked.name,
                "state": state(review),
                "same": review.items.len() - items.len(),
                "items": items,
                "server": infos,
                "findings": findings(&answer.findings.info),
            })
        }
    }
}

fn state(review: &ServerReview) -> &'static str {
    match () {
        () if review.is_new => "new",
        () if review.is_same() => "same",
        () => "changed",
    }
}

fn findings(found: &[Finding]) -> Vec<Value> {
    let one = |finding: &Finding| json!({"rule": finding.rule.id, "reason": finding.rule.reason, "place": finding.place, "text": finding.excerpt});
    found.iter().map(one).collect()
}

fn item(item: &ItemReview, found: &[Finding]) -> Value {
    let profiles: Vec<String> = item.profiles.iter().map(|profile| profile_name(*profile)).collect();
    json!({
        "kind": item.kind.noun(),
        "name": item.key,
        "state": item.state.as_str(),
        "changed": item.changed,
        "held": item.broken,
        "digest": item.digest.as_ref().map(|digest| format!("sha256:{digest}")),
        "profiles": profiles,
        "findings": findings(found),
        "approved": item.approved.as_ref().map(|approved| approved.value()),
        "live": item.live.as_ref().map(|live| live.value()),
    })
}
