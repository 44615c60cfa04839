//! Warns about names and globs in the config that match nothing: in `aggregation` the server's items, in `rateLimiting`
//! the published items.

use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_builtins::glob_matches;
use proxy_config::{Aggregation, ItemPattern, ItemRate, PatternKind, RateLimiting};
use proxy_engine::surface::Surface;
use proxy_model::{BackendView, ItemKind, Snapshot, Status};

/// How many names a hint lists, if none is near.
const NAMED: usize = 8;

/// A warning for each pattern that matches nothing of a server whose lists are known.
pub(super) fn unmatched(aggregation: &Aggregation, snapshot: &Snapshot) -> Vec<Diagnostic> {
    aggregation
        .patterns
        .iter()
        .filter_map(|pattern| {
            let backend = snapshot.backend(&pattern.workload).filter(|backend| backend.status.has_lists())?;
            let keys = keys(backend, pattern.kind);
            let matches =
                |key: &&str| if pattern.exact { *key == pattern.pattern } else { glob_matches(&pattern.pattern, key) };
            if keys.iter().any(matches) { None } else { Some(warning(pattern, &keys)) }
        })
        .collect()
}

/// A warning for each limit whose name nothing has. None if a server has never been seen: the name may be one of its.
pub(super) fn unmatched_limits(limits: &RateLimiting, surface: &Surface, snapshot: &Snapshot) -> Vec<Diagnostic> {
    if snapshot
        .backends
        .iter()
        .any(|backend| matches!(backend.status, Status::Starting | Status::Failed | Status::Login))
    {
        return Vec::new();
    }
    let published = |kind| surface.entries(kind).map(|entry| entry.definition.key());
    // Limits apply to tools that are called through others, too.
    let tools: Vec<&str> =
        published(ItemKind::Tool).chain(surface.searchable().map(|tool| tool.definition.key())).collect();
    let prompts: Vec<&str> = published(ItemKind::Prompt).collect();
    let resources: Vec<&str> = published(ItemKind::Resource).collect();
    // Which URIs a template has is not known.
    let limited_resources: &[ItemRate] =
        if published(ItemKind::ResourceTemplate).next().is_none() { &limits.resources } else { &[] };
    [(&limits.tools[..], tools), (&limits.prompts[..], prompts), (limited_resources, resources)]
        .into_iter()
        .flat_map(|(limits, names)| {
            let unmatched = limits.iter().filter(|limit| !names.iter().any(|name| glob_matches(&limit.name, name)));
            let warnings = unmatched.map(|limit| {
                let mut warning = limit.unmatched.clone();
                warning.hint =
                    nearest(&limit.name, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
                warning
            });
            warnings.collect::<Vec<_>>()
        })
        .collect()
}

/// Whether the library has logged the same: it looks only at servers that are up, and knows no places.
pub(super) fn is_log_of_library(warning: &Diagnostic) -> bool {
    warning.place.is_none()
        && warning.message.starts_with("aggregation.")
        && warning.message.contains(": nothing matches (")
}

fn keys(backend: &BackendView, kind: PatternKind) -> Vec<&str> {
    let kinds: &[ItemKind] = match kind {
        PatternKind::Tools => &[ItemKind::Tool],
        PatternKind::Prompts => &[ItemKind::Prompt],
        PatternKind::Resources => &[ItemKind::Resource, ItemKind::ResourceTemplate],
    };
    kinds.iter().flat_map(|kind| backend.lists.of(*kind)).map(|item| item.key()).collect()
}

fn warning(pattern: &ItemPattern, keys: &[&str]) -> Diagnostic {
    let nouns = match pattern.kind {
        PatternKind::Tools => "tools",
        PatternKind::Prompts => "prompts",
        PatternKind::Resources => "resources",
    };
    let server = &pattern.workload;
    pattern.unmatched.clone().hint(match nearest(&pattern.pattern, keys.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if keys.is_empty() => format!("`{server}` has no {nouns}"),
        None => {
            let shown = keys.iter().take(NAMED).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            let more = if keys.len() > NAMED { format!(" and {} more", keys.len() - NAMED) } else { String::new() };
            format!("the {nouns} of `{server}` are {shown}{more}")
        }
    })
}
