//! Reads policy files. Every policy has an id that says where it is written: `policies/team.cedar:12`.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use cedar_policy::ffi::DetailedError;
use cedar_policy::{Effect, Policy, PolicyId, PolicySet};

use super::analysis::Reads;
use proxy_base::diagnostic::{Diagnostic, Location};
use proxy_config::Cedar;

/// A policy with what is known about it.
#[derive(Clone, Debug)]
pub(super) struct LoadedPolicy {
    /// Its id is [`LoadedPolicy::id`].
    pub(super) policy: Policy,
    pub(super) id: Arc<str>,
    pub(super) place: Location,
    /// The annotation `@message`, for the caller.
    pub(super) message: Option<Arc<str>>,
    pub(super) reads: Reads,
}

impl LoadedPolicy {
    pub(super) fn is_forbid(&self) -> bool {
        self.policy.effect() == Effect::Forbid
    }

    pub(super) fn effect(&self) -> &'static str {
        if self.is_forbid() { "forbid" } else { "permit" }
    }
}

/// The texts of the files that a config names, to be compared when they change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PolicyTexts {
    pub(super) policies: Vec<(PathBuf, String)>,
    pub(super) entities: Option<(PathBuf, String)>,
}

impl PolicyTexts {
    /// Reads all files. Returns every problem at once.
    pub(super) fn read(config: &Cedar) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let mut texts = PolicyTexts::default();
        for named in &config.policies {
            let found = match matching(&named.path) {
                Ok(found) => found,
                Err(error) => {
                    problems.push(unreadable("folder of policies", error.path(), error.error(), &named.place));
                    continue;
                }
            };
            if found.is_empty() {
                let problem = Diagnostic::error(format!("`cedar.policies`: no file matches `{}`", named.written));
                problems
                    .push(problem.hint("paths are relative to the folder of the config file").at(named.place.clone()));
            }
            for path in found {
                if texts.policies.iter().any(|(known, _)| *known == path) {
                    continue;
                }
                match std::fs::read_to_string(&path) {
                    // An editor may have emptied it a moment ago: without its policies, more would be allowed.
                    Ok(text) if text.trim().is_empty() => {
                        let problem = Diagnostic::error(format!("the policy file `{}` is empty", path.display()));
                        problems
                            .push(problem.hint("remove the file, or write a comment into it").at(named.place.clone()));
                    }
                    Ok(text) => texts.policies.push((path, without_byte_order_mark(text))),
                    Err(error) => problems.push(unreadable("policy file", &path, &error, &named.place)),
                }
            }
        }
        if let Some(entities) = &config.entities {
            match std::fs::read_to_string(&entities.path) {
                Ok(text) => texts.entities = Some((entities.path.clone(), without_byte_order_mark(text))),
                Err(error) => problems.push(unreadable("entity file", &entities.path, &error, &entities.place)),
            }
        }
        if problems.is_empty() { Ok(texts) } else { Err(problems) }
    }
}

/// Some editors write a byte-order mark at the beginning of a file.
fn without_byte_order_mark(text: String) -> String {
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}

fn unreadable(what: &str, path: &Path, error: &std::io::Error, place: &Location) -> Diagnostic {
    Diagnostic::error(format!("`cedar`: cannot read the {what} `{}`: {error}", path.display())).at(place.clone())
}

/// The files that a path or glob names, in order. One that cannot be read is among them: what it says must not be forgotten.
fn matching(path: &Path) -> Result<Vec<PathBuf>, glob::GlobError> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let found = glob::glob(&path.to_string_lossy()).into_iter().flatten();
    found.filter(|found| !found.as_ref().is_ok_and(|path| path.is_dir())).collect()
}

/// The policies of one file. `shown` is its path as messages show it.
pub(super) fn parse(shown: &str, text: &str) -> Result<Vec<LoadedPolicy>, Vec<Diagnostic>> {
    let source: Arc<str> = text.into();
    let set =
        PolicySet::from_str(text).map_err(|errors| syntax_errors(&DetailedError::from(&errors), shown, &source))?;
    let mut problems = Vec::new();
    if let Some(template) = set.templates().next() {
        let at = text.find(template.to_string().as_str()).unwrap_or_default();
        let problem = Diagnostic::error("a policy has a slot such as `?principal`: templates are not supported");
        let place = Location::new(shown, Arc::clone(&source), at..at + 1);
        problems
            .push(problem.hint("write one policy for each principal, or `principal in THVGroup::\"...\"`").at(place));
    }
    let mut policies: Vec<(usize, &Policy)> =
        set.policies().map(|policy| (offset(text, policy, &set), policy)).collect();
    policies.sort_by_key(|(at, _)| *at);
    let loaded = policies.into_iter().map(|(at, policy)| {
        let place = Location::new(shown, Arc::clone(&source), at..at + policy.to_string().trim_end().len());
        let id: Arc<str> = format!("{shown}:{}", place.line()).into();
        LoadedPolicy {
            policy: policy.new_id(PolicyId::new(&*id)),
            id,
            message: policy.annotation("message").filter(|text| !text.is_empty()).map(Into::into),
            reads: Reads::of(policy),
            place,
        }
    });
    let loaded = distinct(loaded.collect());
    if problems.is_empty() { Ok(loaded) } else { Err(problems) }
}

/// Where a policy is in its file. Cedar numbers the policies of a text in their order; equal policies are found one after
/// the other.
fn offset(text: &str, policy: &Policy, set: &PolicySet) -> usize {
    let number = |policy: &Policy| policy.id().to_string().trim_start_matches("policy").parse::<usize>().unwrap_or(0);
    let written = policy.to_string();
    let equal = set.policies().filter(|other| other.to_string() == written && number(other) < number(policy)).count();
    text.match_indices(written.as_str()).nth(equal).map_or(0, |(at, _)| at)
}

/// Gives policies that begin on one line ids of their own.
fn distinct(mut policies: Vec<LoadedPolicy>) -> Vec<LoadedPolicy> {
    for index in 1..policies.len() {
        let mut column = policies[index].place.column();
        let line = Arc::clone(&policies[index].id);
        while policies[..index].iter().any(|earlier| earlier.id == policies[index].id) {
            let id: Arc<str> = format!("{line}:{column}").into();
            policies[index].policy = policies[index].policy.new_id(PolicyId::new(&*id));
            policies[index].id = id;
            column += 1;
        }
    }
    policies
}

/// Whether a policy ends before the place of an error, or before the word there that begins the next one.
fn misses_semicolon(before: &str) -> bool {
    let before = before.trim_end();
    let begun = ["permit", "forbid"].iter().find_map(|word| before.strip_suffix(word));
    begun.unwrap_or(before).trim_end().ends_with([')', '}'])
}

fn syntax_errors(error: &DetailedError, shown: &str, source: &Arc<str>) -> Vec<Diagnostic> {
    let all = std::iter::once(error).chain(&error.related);
    let problems = all.map(|error| {
        let label = error.source_locations.first();
        let span = label.map_or(0..0, |label| label.loc.start..label.loc.end);
        let is_unfinished = misses_semicolon(source.get(..span.start).unwrap_or_default());
        let mut problem = Diagnostic::error(format!("invalid Cedar policy: {}", error.message)).at(Location::new(
            shown,
            Arc::clone(source),
            span,
        ));
        if let Some(help) = &error.help {
            problem = problem.hint(help.clone());
        } else if is_unfinished {
            problem = problem.hint("every policy ends with `;`: is one missing before this?");
        }
        problem
    });
    problems.collect()
}
