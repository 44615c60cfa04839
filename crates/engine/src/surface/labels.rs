//! The labels of items for the rules of `flow`: what the config says, what the script says, or else what the item's own
//! hints mean.

use std::sync::Arc;

use super::published_item::PublishedItem;
use super::published_names::PublishedNames;
use super::published_surface::Surface;
use proxy_builtins::Handler;
use proxy_config::{Flow, FlowRule, LabelRule};
use proxy_model::flow::{EGRESS, Labels, UNTRUSTED};
use proxy_model::{Definition, ItemKind, ItemRef};

/// The labels of an item, and where they are from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemLabels {
    pub labels: Labels,
    /// Whether neither the config nor the script says anything about the item.
    pub is_derived: bool,
}

impl Surface {
    /// The section `flow` of the config; `None` if no labels are tracked.
    pub fn flow(&self) -> Option<&Arc<Flow>> {
        self.run.build_inputs.flow()
    }

    /// The labels of a server's item. `uri` is that of a resource if a template was used, or if the resource is not
    /// published.
    pub fn labels_of(&self, flow: &Flow, item: &ItemRef, uri: Option<&str>) -> ItemLabels {
        let base = self.permitted.as_ref().map_or(self, |permitted| &permitted.base);
        let names = base.published_names.get_or_init(|| {
            let entries = ItemKind::ALL.into_iter().flat_map(|kind| base.entries(kind));
            PublishedNames::of(entries, base.indexes().iter().flat_map(|index| index.tools()))
        });
        let names = names.of_item(item);
        let is_named = |rule: &&LabelRule| match &rule.server {
            Some(server) => {
                **server == *item.backend
                    && (rule.name.matches(&item.name) || uri.is_some_and(|uri| rule.name.matches(uri)))
            }
            None => names.iter().map(AsRef::as_ref).chain(uri).any(|name| rule.name.matches(name)),
        };
        let of_config = flow.labels.iter().filter(is_named).map(|rule| &rule.labels);
        let resource = uri.map(|uri| ItemRef { kind: ItemKind::Resource, name: uri.into(), ..item.clone() });
        let by_script = [Some(item), resource.as_ref()].into_iter().flatten();
        let of_script = by_script.filter_map(|item| self.run.labels.get(item));
        let stated = of_config.chain(of_script).cloned().reduce(|all, labels| all.with(&labels));
        match stated {
            Some(labels) => ItemLabels { labels, is_derived: false },
            None => ItemLabels { labels: base.derived(item), is_derived: true },
        }
    }

    /// The labels of a method that MCP does not define, whose effects nobody describes.
    pub fn labels_of_method(flow: &Flow, server: &str, method: &str) -> Labels {
        let is_named =
            |rule: &&LabelRule| rule.server.as_deref().is_none_or(|named| named == server) && rule.name.matches(method);
        let stated = flow.labels.iter().filter(is_named).map(|rule| rule.labels.clone());
        stated
            .reduce(|all, labels| all.with(&labels))
            .unwrap_or_else(|| [UNTRUSTED.into(), EGRESS.into()].into_iter().collect())
    }

    /// The labels that the config or the script gives to an item whose calls a function of the script handles.
    pub fn labels_of_made(flow: &Flow, keys: &[&str], by_script: Option<&Labels>) -> Labels {
        let is_meant = |rule: &&LabelRule| rule.server.is_none() && keys.iter().any(|key| rule.name.matches(key));
        let of_config = flow.labels.iter().filter(is_meant);
        let all = of_config.map(|rule| &rule.labels).chain(by_script).cloned().reduce(|all, labels| all.with(&labels));
        all.unwrap_or_default()
    }

    /// The labels of what a function of the script completes for an item. The hints of a server's item say nothing about such
    /// a function.
    pub fn labels_of_completion(&self, flow: &Flow, entry: &PublishedItem, key: &str) -> Labels {
        let own = Surface::labels_of_made(flow, &[entry.definition.key(), key], entry.labels.as_ref());
        let Some(source) = entry.source() else { return own };
        let of_source = self.labels_of(flow, source, None);
        if of_source.is_derived { own } else { own.with(&of_source.labels) }
    }

    /// The labels of everything that a server offers.
    pub fn labels_of_server(&self, flow: &Flow, server: &Arc<str>) -> Labels {
        let Some(backend) = self.origin().backend(server) else { return Labels::default() };
        let items = ItemKind::ALL.into_iter().flat_map(|kind| {
            backend.lists.of(kind).iter().map(move |definition| ItemRef {
                backend: Arc::clone(server),
                kind,
                name: definition.key().into(),
            })
        });
        items.fold(Labels::default(), |all, item| all.with(&self.labels_of(flow, &item, None).labels))
    }

    /// The labels of an item about which nobody says anything: what its hints mean. A missing hint counts as true.
    fn derived(&self, item: &ItemRef) -> Labels {
        let lists = self.origin().backend(&item.backend).map(|backend| backend.lists.of(item.kind));
        let definition = lists.into_iter().flatten().find(|known| known.key() == item.name.as_ref());
        let untrusted = || Arc::from(UNTRUSTED);
        match (item.kind, definition) {
            (ItemKind::Tool, Some(definition)) if !is_open(definition) => Labels::default(),
            // The URI of a resource that the server lists says nothing that the server does not know.
            (ItemKind::Resource, Some(_)) => [untrusted()].into_iter().collect(),
            _ => [untrusted(), EGRESS.into()].into_iter().collect(),
        }
    }
}

/// Whether a tool says that it deals with strangers, or says nothing.
fn is_open(definition: &Definition) -> bool {
    let annotations = definition.member("annotations").unwrap_or_default();
    annotations["openWorldHint"] != false
}

impl PublishedItem {
    /// The labels that hold when the item is used, whatever its handler calls. None for an item that is forwarded: its
    /// labels are those of the server's item.
    pub fn labels_at_use(&self, flow: &Flow, key: &str) -> Labels {
        match &self.handler {
            Handler::Backend(_) => Labels::default(),
            // A template is used by one of its URIs.
            Handler::Script(_) => Surface::labels_of_made(flow, &[self.definition.key(), key], self.labels.as_ref()),
        }
    }
}

/// What the rules mean for an item with these labels: a sentence for each.
pub(super) fn rules_in_words(flow: &Flow, labels: &Labels) -> Vec<String> {
    let applying = flow.rules.iter().filter(|rule| labels.contains(&rule.then));
    applying.map(|rule| format!("{} once {} was read ({})", consequence(rule), rule.when, rule.place.short())).collect()
}

fn consequence(rule: &FlowRule) -> &'static str {
    use proxy_model::flow::FlowAction::{Ask, Deny, Log};
    match rule.action {
        Ask => "the user is asked before each call",
        Deny => "calls are denied",
        Log => "calls are logged",
    }
}
