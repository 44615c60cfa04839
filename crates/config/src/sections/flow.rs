//! `flow`: labels on items, and rules for what a conversation that has read labelled items may still send out.

use std::sync::Arc;
use std::time::Duration;

use crate::syntax::reader::ValueReader;
use proxy_base::diagnostic::Location;
use proxy_model::flow::{FlowAction, Labels, check_label};

/// How long a mark lasts unless the config says so.
const REMEMBER: Duration = Duration::from_secs(3600);
/// The longest time that a mark can last.
const MAX_REMEMBER: Duration = Duration::from_secs(366 * 24 * 3600);

#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    pub labels: Vec<LabelRule>,
    pub rules: Vec<FlowRule>,
    /// How long a mark lasts after its last renewal.
    pub remember: Duration,
    /// Whose marks are kept together.
    pub per: FlowOwner,
    pub place: Location,
}

/// Whose marks are kept together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowOwner {
    /// An authenticated person, over all sessions; anybody else per session.
    Person,
    /// Each session.
    Session,
}

/// Labels for the items whose names match.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelRule {
    /// Matches published names and URIs; with `server`, those of the server.
    pub name: glob::Pattern,
    pub server: Option<String>,
    pub labels: Labels,
    pub place: Location,
}

/// What happens when a conversation with all marks of `when` calls an item with the label `then`.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRule {
    pub when: Labels,
    pub then: Arc<str>,
    pub action: FlowAction,
    pub place: Location,
}

const ACTIONS: [(&str, FlowAction); 3] =
    [("ask", FlowAction::Ask), ("deny", FlowAction::Deny), ("log", FlowAction::Log)];
const OWNERS: [(&str, FlowOwner); 2] = [("person", FlowOwner::Person), ("session", FlowOwner::Session)];

impl Flow {
    /// Every label that a rule looks for in the marks of a conversation.
    pub fn decisive_labels(&self) -> Labels {
        self.rules.iter().flat_map(|rule| rule.when.iter().cloned()).collect()
    }
}

pub(crate) fn read_flow(reader: &ValueReader) -> Option<Flow> {
    let mut fields = reader.fields()?;
    let labels = fields.read("labels", |labels| labels.list(read_labels)).unwrap_or_default();
    let listed = fields.get("rules");
    let rules = listed.as_ref().and_then(|rules| rules.list(read_rule));
    let mut remember = REMEMBER;
    let mut per = FlowOwner::Person;
    fields.set(&mut remember, "remember", read_remember);
    fields.set(&mut per, "per", |per| per.choice(&OWNERS));
    fields.finish();
    if listed.is_none() {
        let problem = reader.problem("missing key `rules`: without rules, labels have no effect");
        reader.report(problem.hint("`rules: [{ when: [untrusted], then: egress, do: ask }]`"));
        return None;
    }
    Some(Flow { labels, rules: rules?, remember, per, place: reader.place() })
}

fn read_remember(reader: &ValueReader) -> Option<Duration> {
    let remember = reader.timeout()?;
    if remember > MAX_REMEMBER { reader.expected("a duration of at most a year") } else { Some(remember) }
}

fn read_labels(reader: &ValueReader) -> Option<LabelRule> {
    let mut fields = reader.fields()?;
    let [name, labels] = ["name", "labels"].map(|key| fields.get(key));
    let server = fields.read("server", ValueReader::word);
    fields.finish();
    let Some(name) = name else { return reader.fail("missing key `name` (name, URI or glob)") };
    let Some(labels) = labels else { return reader.fail("missing key `labels`, such as `[untrusted]`") };
    let labels = labels.list(read_label)?.into_iter().collect();
    let pattern = match glob::Pattern::new(&name.word()?) {
        Ok(pattern) => pattern,
        Err(error) => return name.fail(&format!("invalid glob: {error}")),
    };
    Some(LabelRule { name: pattern, server, labels, place: reader.place() })
}

fn read_label(reader: &ValueReader) -> Option<Arc<str>> {
    let label = reader.word()?;
    match check_label(&label) {
        Ok(()) => Some(label.into()),
        Err(problem) => reader.fail(&problem),
    }
}

fn read_rule(reader: &ValueReader) -> Option<FlowRule> {
    let mut fields = reader.fields()?;
    let [when, then, action] = ["when", "then", "do"].map(|key| fields.get(key));
    fields.finish();
    let Some(when) = when else { return reader.fail("missing key `when` (the labels of what was read)") };
    let Some(then) = then else { return reader.fail("missing key `then` (a label of what is called)") };
    let Some(action) = action else { return reader.fail("missing key `do`: `ask`, `deny` or `log`") };
    let labels = when.list(read_label)?;
    let then = read_label(&then);
    let action = action.choice(&ACTIONS);
    if labels.is_empty() {
        let problem = when.problem("is empty, so the rule would apply to conversations that have read nothing");
        when.report(problem.hint("to refuse an item always, leave it out in the session script or with `cedar`"));
        return None;
    }
    Some(FlowRule { when: labels.into_iter().collect(), then: then?, action: action?, place: reader.place() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn everything_can_be_set() {
        let flow = loaded(
            "flow:\n  labels:\n  - {name: 'github_*', labels: [untrusted]}\n  - {name: read, server: vault, labels: [secret, x]}\n  \
             rules:\n  - {when: [untrusted, secret], then: egress, do: ask}\n  remember: 10m\n  per: session\n",
        )
        .flow
        .unwrap();
        assert_eq!(flow.labels[0].labels.to_string(), "untrusted");
        assert!(flow.labels[0].name.matches("github_get/issue"));
        assert_eq!(
            (flow.labels[1].server.as_deref(), flow.labels[1].labels.to_string()),
            (Some("vault"), "secret, x".to_owned())
        );
        let rule = &flow.rules[0];
        assert_eq!(
            (rule.when.to_string().as_str(), &*rule.then, rule.action),
            ("secret, untrusted", "egress", FlowAction::Ask)
        );
        assert_eq!((flow.remember, flow.per), (Duration::from_secs(600), FlowOwner::Session));
        assert_eq!(flow.decisive_labels().to_string(), "secret, untrusted");
    }

    #[test]
    fn defaults_are_an_hour_and_the_person() {
        let flow = loaded("flow: {rules: [{when: [a], then: b, do: log}]}").flow.unwrap();
        assert_eq!((flow.remember, flow.per, flow.labels.len()), (Duration::from_secs(3600), FlowOwner::Person, 0));
        assert!(loaded("").flow.is_none());
    }

    #[test]
    fn what_cannot_work_is_told_with_the_cure() {
        assert!(errors("flow: {}")[0].contains("missing key `rules`"));
        let found = errors(
            "flow:\n  label: []\n  labels: [{name: x}, {labels: [a]}, {name: x, labels: [Secret]}, {name: '[', labels: []}]\n  \
             rules:\n  - {when: [], then: egress, do: ask}\n  - {when: [a], then: b, do: block}\n  - {when: [a], do: ask}\n  per: user\n",
        );
        let all = found.join("\n");
        for expected in [
            "unknown key `flow.label` (did you mean `labels`?)",
            "`flow.labels[0]`: missing key `labels`",
            "`flow.labels[1]`: missing key `name`",
            "`flow.labels[2].labels[0]`: `Secret` is not a label",
            "`flow.labels[3].name`: invalid glob",
            "`flow.rules[0].when`: is empty",
            "`flow.rules[1].do`: expected one of `ask`, `deny`, `log`",
            "`flow.rules[2]`: missing key `then`",
            "`flow.per`: expected one of `person`, `session`",
        ] {
            assert!(all.contains(expected), "{expected}\n{all}");
        }
    }
}
