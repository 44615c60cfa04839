//! Problems of the section `flow`: labels that nothing has, and names that match nothing.

use std::path::Path;

use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_config::{Config, Flow};
use proxy_engine::surface::Surface;
use proxy_model::flow::{EGRESS, Labels};
use proxy_model::{ItemKind, ItemRef, Snapshot, Status};
use proxy_script::Source;

use crate::lint::{Role, loaded_files};

/// An error for each label of a rule that no item has and no script sets, and a warning for each name that matches nothing.
/// None if a server has never been seen: the labels may be those of its items.
pub(super) fn problems(
    config: &Config,
    surface: &Surface,
    snapshot: &Snapshot,
    script: Option<&Source>,
) -> Vec<Diagnostic> {
    let Some(flow) = &config.flow else { return Vec::new() };
    let mut problems = unknown_servers(flow, config, snapshot);
    if snapshot.backends.iter().any(|backend| {
        backend.status != Status::Ready && ItemKind::ALL.into_iter().all(|kind| backend.lists.of(kind).is_empty())
    }) {
        return problems;
    }
    let offered = || {
        snapshot.backends.iter().flat_map(|backend| {
            ItemKind::ALL.into_iter().flat_map(move |kind| {
                backend.lists.of(kind).iter().map(move |item| ItemRef {
                    backend: backend.name.clone(),
                    kind,
                    name: item.key().into(),
                })
            })
        })
    };
    let of_servers = offered().map(|item| surface.labels_of(flow, &item, None).labels);
    let published = || ItemKind::ALL.into_iter().flat_map(|kind| surface.entries(kind));
    let of_script = published().map(|entry| entry.labels_at_use(flow, entry.definition.key()));
    let carried = of_servers.chain(of_script).fold(Labels::default(), |all, labels| all.with(&labels));
    let texts = script.map(|script| texts_of(script, &config.folder)).unwrap_or_default();
    let is_set_by_script = |label: &str| texts.iter().any(|text| text.contains(&format!("\"{label}\"")));
    let methods = config.servers.values().any(|server| !server.methods.is_empty());
    for rule in &flow.rules {
        // Every server may ask the client's model something, and nobody knows what methods of vendors do.
        let is_known = |label: &str| {
            methods || carried.contains(label) || (*label == *rule.then && label == EGRESS) || is_set_by_script(label)
        };
        let named = rule.when.iter().chain([&rule.then]);
        let unknown: Vec<&str> = named.map(AsRef::as_ref).filter(|label| !is_known(label)).collect();
        if unknown.is_empty() {
            continue;
        }
        let known = || carried.iter().map(AsRef::as_ref);
        let near: Vec<String> =
            unknown.iter().filter_map(|label| nearest(label, known())).map(|near| format!("`{near}`")).collect();
        let shown: Vec<String> = unknown.iter().map(|label| format!("`{label}`")).collect();
        let noun = if unknown.len() == 1 { "label" } else { "labels" };
        let problem = Diagnostic::error(format!("flow rule: nothing has the {noun} {}", shown.join(", ")));
        let hint = if near.is_empty() {
            "give it to items with `flow.labels`, or in the script with `meta.replace(labels = [...])`".to_owned()
        } else {
            format!("did you mean {}?", near.join(", "))
        };
        problems.push(problem.at(rule.place.clone()).hint(hint));
    }
    let names: Vec<&str> = published()
        .map(|entry| entry.definition.key())
        .chain(surface.searchable().map(|tool| tool.definition.key()))
        .collect();
    let offered: Vec<ItemRef> = offered().collect();
    for rule in &flow.labels {
        let is_matched = match &rule.server {
            Some(server) => offered.iter().any(|item| *item.backend == **server && rule.name.matches(&item.name)),
            None => names.iter().any(|name| rule.name.matches(name)),
        };
        // The URIs of a template are not known.
        if is_matched || rule.name.as_str().contains("://") || methods {
            continue;
        }
        let what = match &rule.server {
            Some(server) => format!("server `{server}` has nothing named `{}`", rule.name),
            None => format!("nothing is published as `{}`", rule.name),
        };
        let of_server = |item: &&ItemRef| rule.server.as_deref().is_some_and(|server| *item.backend == *server);
        let own = offered.iter().filter(of_server).map(|item| item.name.as_ref());
        let near = match rule.server {
            Some(_) => nearest(rule.name.as_str(), own),
            None => nearest(rule.name.as_str(), names.iter().copied()),
        };
        let warning =
            Diagnostic::warning(format!("flow labels: {what}")).at(rule.place.clone()).rule("unmatched-pattern");
        problems.push(match near {
            Some(near) => warning.hint(format!("did you mean `{near}`?")),
            None if rule.server.is_none() => warning.hint("names of a server are matched with `server: NAME`"),
            None => warning,
        });
    }
    problems
}

/// Errors for servers that do not exist.
fn unknown_servers(flow: &Flow, config: &Config, snapshot: &Snapshot) -> Vec<Diagnostic> {
    let named = flow.labels.iter().filter_map(|rule| Some((rule.server.as_ref()?, rule)));
    let unknown =
        named.filter(|(server, _)| snapshot.backend(server).is_none() && !config.servers.contains_key(server.as_str()));
    let problems = unknown.map(|(server, rule)| {
        let problem = Diagnostic::error(format!("flow labels: there is no server `{server}`")).at(rule.place.clone());
        match nearest(server, snapshot.backends.iter().map(|backend| backend.name.as_ref())) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem,
        }
    });
    problems.collect()
}

/// The texts of a script and of the files that it loads.
fn texts_of(script: &Source, root: &Path) -> Vec<String> {
    let loaded = loaded_files(script, Role::Session, Some(root));
    std::iter::once(script.text.to_string()).chain(loaded.into_iter().map(|source| source.text.to_string())).collect()
}
