//! What the scanner finds in texts that are new or changed.

use serde_json::Value;

use super::AskedServer;
use proxy_model::ItemKind;
use proxy_model::lock::{ItemReview, LockFile, ReviewState, SeenLists, ServerReview};
use proxy_model::scan::{Finding, ToolNames, scan};

/// The findings of one server.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// For each item of the review.
    pub(super) items: Vec<Vec<Finding>>,
    /// For what the server says about itself.
    pub(super) info: Vec<Finding>,
}

/// Scans everything that is not as approved.
pub(super) fn scan_all(asked: &mut [AskedServer], file: &LockFile) {
    let mut names = ToolNames::default();
    for (server, locked) in &file.servers {
        locked.items.tools.keys().for_each(|tool| names.add(server, tool));
    }
    for server in asked.iter() {
        let lists = server.answer.iter().flat_map(|answer| &answer.seen);
        lists.flat_map(|seen| &seen.lists.tools).for_each(|tool| names.add(&server.name, tool.key()));
    }
    for server in asked {
        let name = server.name.clone();
        if let Ok(answer) = &mut server.answer {
            let items = answer.review.items.iter().map(|item| of_item(&name, item, &names)).collect();
            answer.findings = Findings { items, info: of_info(&answer.review, &answer.seen) };
        }
    }
}

fn of_item(server: &str, item: &ItemReview, names: &ToolNames) -> Vec<Finding> {
    let Some(live) = &item.live else { return Vec::new() };
    if item.state == ReviewState::Same {
        return Vec::new();
    }
    let value = live.value();
    if item.approved.is_some() {
        let changed = item.changed.iter().filter_map(|member| Some((member, value.get(member)?)));
        return changed.flat_map(|(member, value)| scan(value, &format!("/{member}"))).collect();
    }
    let imitation = if item.kind == ItemKind::Tool { names.imitation(server, &item.key) } else { None };
    imitation.into_iter().chain(scan(&value, "")).collect()
}

fn of_info(review: &ServerReview, seen: &[SeenLists]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut add = |value: &Value, member: &str| {
        for finding in scan(value, member) {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    };
    if review.is_new {
        for seen in seen {
            add(&Value::String(seen.info.instructions.clone()), "instructions");
            add(&seen.info.implementation, "serverInfo");
        }
    }
    review.infos.iter().for_each(|info| add(&info.live, info.member));
    findings
}
