//! The findings as SARIF 2.1.0, for code review tools.

use serde_json::{Value, json};

use super::AskedServer;
use proxy_config::Config;
use proxy_model::scan::{Finding, RULES};

/// A log of one run. A finding lies where the config names the server: what it is about is not in any file.
pub(super) fn log(asked: &[AskedServer], config: &Config) -> Value {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": {"text": sentence(rule.reason)},
                "defaultConfiguration": {"level": "warning"},
            })
        })
        .collect();
    let results: Vec<Value> = asked.iter().flat_map(|server| results(server, config)).collect();
    let driver = json!({"name": proxy_base::NAME, "version": proxy_base::VERSION, "rules": rules});
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    })
}

fn results(server: &AskedServer, config: &Config) -> Vec<Value> {
    let Ok(answer) = &server.answer else { return Vec::new() };
    let name = &server.name;
    let of_items = answer.review.items.iter().zip(&answer.findings.items);
    let of_items = of_items.flat_map(|(item, findings)| {
        findings.iter().map(move |finding| (format!("{name}/{}", item.key), item.kind.noun(), finding))
    });
    let of_info = answer.findings.info.iter().map(|finding| (name.clone(), "server", finding));
    of_items.chain(of_info).map(|(about, kind, finding)| result(server, config, &about, kind, finding)).collect()
}

fn result(server: &AskedServer, config: &Config, about: &str, kind: &str, finding: &Finding) -> Value {
    let place = config.servers.get(&server.name).and_then(|entry| entry.place.as_ref());
    let physical = place.map(|place| {
        json!({"artifactLocation": {"uri": place.file.replace('\\', "/")}, "region": {"startLine": place.line()}})
    });
    let logical = json!([{"fullyQualifiedName": about, "kind": "object"}]);
    let mut location = json!({"logicalLocations": logical});
    if let Some(physical) = physical {
        location["physicalLocation"] = physical;
    }
    let text = format!("The {kind} '{about}' has, in '{}': '{}'.", finding.place, finding.excerpt);
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": RULES.iter().position(|rule| rule == finding.rule),
        "level": "warning",
        "message": {"text": text},
        "locations": [location],
    })
}

/// The reason of a rule as a sentence.
fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}
