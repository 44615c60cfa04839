//! What an operator reviews before a lock changes: how each item differs from what is approved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::compare::compare;
use super::file::{LockedDefinition, LockedInfo, LockedItem, LockedServer};
use super::names::KINDS;
use super::profiles::chosen;
use super::rules::{LockMode, LockRules};
use crate::{ClientProfile, Definition, DefinitionError, ItemKind, Lists, ServerInfo};

/// What clients of one profile see of a server.
#[derive(Clone, Debug)]
pub struct SeenLists {
    pub profile: ClientProfile,
    pub info: Arc<ServerInfo>,
    pub lists: Arc<Lists>,
}

/// How an item differs from what is approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    Same,
    Changed,
    /// Changed so that calls are refused until it is approved.
    Held,
    New,
    /// Approved, and not listed any more.
    Gone,
    /// Reviewed and not wanted; it may have changed.
    Blocked,
}

impl ReviewState {
    pub fn as_str(self) -> &'static str {
        match self {
            ReviewState::Same => "same",
            ReviewState::Changed => "changed",
            ReviewState::Held => "held",
            ReviewState::New => "new",
            ReviewState::Gone => "gone",
            ReviewState::Blocked => "blocked",
        }
    }
}

/// An item of a server, with one of the texts that clients see of it.
#[derive(Clone, Debug)]
pub struct ItemReview {
    pub kind: ItemKind,
    pub key: String,
    pub state: ReviewState,
    /// The members that differ.
    pub changed: Vec<String>,
    /// Why clients must not rely on the approved text.
    pub broken: Vec<String>,
    pub approved: Option<Arc<Definition>>,
    pub live: Option<Arc<Definition>>,
    /// The digest of `live`.
    pub digest: Option<String>,
    /// The clients that see it; empty if all do.
    pub profiles: Vec<ClientProfile>,
}

/// What a server says about itself, where it differs from what is approved.
#[derive(Clone, Debug)]
pub struct InfoReview {
    pub member: &'static str,
    pub approved: serde_json::Value,
    pub live: serde_json::Value,
}

#[derive(Clone, Debug, Default)]
pub struct ServerReview {
    /// Whether nothing of the server is approved yet, or only under another identity.
    pub is_new: bool,
    pub infos: Vec<InfoReview>,
    pub items: Vec<ItemReview>,
}

impl ServerReview {
    /// Compares what clients see of a server with what is approved of it.
    pub fn of(locked: Option<&LockedServer>, seen: &[SeenLists], rules: &LockRules) -> Self {
        let known = locked.filter(|locked| locked.identity == rules.identity);
        let mut items = Vec::new();
        for kind in KINDS.into_iter().filter(|kind| *kind != ItemKind::Resource || rules.resources) {
            let approved = known.map(|known| known.items.of(kind));
            let texts = Texts::of(kind, seen);
            let keys: BTreeSet<&String> = approved.into_iter().flat_map(BTreeMap::keys).chain(texts.0.keys()).collect();
            for key in keys {
                let approved = approved.and_then(|approved| approved.get(key));
                let live = texts.0.get(key).map(Vec::as_slice).unwrap_or_default();
                items.extend(item_reviews(kind, key, approved, live, rules));
            }
        }
        let infos = known.map_or_else(Vec::new, |known| info_reviews(known, seen, rules));
        ServerReview { is_new: known.is_none(), infos, items }
    }

    /// Whether everything is as approved.
    pub fn is_same(&self) -> bool {
        let is_quiet = |item: &ItemReview| match item.state {
            ReviewState::Same => true,
            ReviewState::Blocked => item.changed.is_empty(),
            _ => false,
        };
        !self.is_new && self.infos.is_empty() && self.items.iter().all(is_quiet)
    }
}

fn item_reviews(
    kind: ItemKind,
    key: &str,
    locked: Option<&LockedItem>,
    live: &[Text],
    rules: &LockRules,
) -> Vec<ItemReview> {
    let review = ItemReview {
        kind,
        key: key.to_owned(),
        state: ReviewState::New,
        changed: Vec::new(),
        broken: Vec::new(),
        approved: None,
        live: None,
        digest: None,
        profiles: Vec::new(),
    };
    if live.is_empty() {
        let Some(locked) = locked else { return Vec::new() };
        let state = if locked.absent { ReviewState::Same } else { ReviewState::Gone };
        let approved = locked.definitions.first().map(|approved| Arc::clone(&approved.definition));
        return vec![ItemReview { state, approved, ..review }];
    }
    let one = |text: &Text| {
        let mut review = ItemReview {
            live: Some(Arc::clone(&text.definition)),
            digest: Some(text.digest.clone()),
            profiles: if live.len() > 1 { text.profiles.clone() } else { Vec::new() },
            ..review.clone()
        };
        let Some(locked) = locked else { return review };
        let profile = text.profiles.first().copied().unwrap_or_default();
        let approved = locked.definitions.iter().find(|approved| approved.digest == text.digest);
        let approved = approved.or_else(|| chosen(&locked.definitions, |approved| &approved.profiles, profile));
        let Some(approved) = approved else { return review };
        if approved.digest != text.digest {
            let before = approved.definition.value();
            let comparison = compare(kind, &before, &text.definition.value(), &rules.ignore);
            review.changed = comparison.changed;
            review.broken = comparison.broken;
        }
        review.approved = Some(Arc::clone(&approved.definition));
        let is_held = rules.mode == LockMode::Block || (rules.mode == LockMode::Freeze && !review.broken.is_empty());
        review.state = match () {
            () if locked.block => ReviewState::Blocked,
            () if review.changed.is_empty() => ReviewState::Same,
            () if is_held => ReviewState::Held,
            () => ReviewState::Changed,
        };
        review
    };
    live.iter().map(one).collect()
}

fn info_reviews(known: &LockedServer, seen: &[SeenLists], rules: &LockRules) -> Vec<InfoReview> {
    let mut reviews: Vec<InfoReview> = Vec::new();
    for seen in seen {
        let lock = super::ViewLock::of(&"".into(), Some(known), rules, (&seen.info, &seen.lists), seen.profile);
        let approved = chosen(&known.infos, |approved| &approved.profiles, seen.profile).map(|found| &*found.info);
        let nothing = ServerInfo::default();
        let approved = approved.unwrap_or(&nothing);
        for change in lock.info {
            let value = |info: &ServerInfo| match change {
                super::InfoChange::Instructions => info.instructions.clone().into(),
                super::InfoChange::Capabilities => info.capabilities.clone(),
                super::InfoChange::ServerInfo => info.implementation.clone(),
            };
            let review = InfoReview { member: change.as_str(), approved: value(approved), live: value(&seen.info) };
            if !reviews.iter().any(|other| other.member == review.member && other.live == review.live) {
                reviews.push(review);
            }
        }
    }
    reviews
}

/// The different texts that clients see of the items of one kind.
struct Texts(BTreeMap<String, Vec<Text>>);

struct Text {
    definition: Arc<Definition>,
    digest: String,
    profiles: Vec<ClientProfile>,
}

impl Texts {
    fn of(kind: ItemKind, seen: &[SeenLists]) -> Self {
        let mut texts: BTreeMap<String, Vec<Text>> = BTreeMap::new();
        for lists in seen {
            for item in lists.lists.of(kind) {
                let digest = item.digest();
                let known = texts.entry(item.key().to_owned()).or_default();
                match known.iter_mut().find(|text| text.digest == digest) {
                    Some(text) => text.profiles.push(lists.profile),
                    None => known.push(Text { definition: Arc::clone(item), digest, profiles: vec![lists.profile] }),
                }
            }
        }
        Texts(texts)
    }
}

impl LockedServer {
    /// The server with what clients see now approved. Items for which `selects` is false stay as they are; so do the texts of
    /// clients that were not asked.
    ///
    /// # Errors
    /// A definition is none.
    pub fn approving(
        before: Option<&LockedServer>,
        seen: &[SeenLists],
        rules: &LockRules,
        selects: &dyn Fn(ItemKind, &str) -> bool,
        selects_info: bool,
    ) -> Result<LockedServer, DefinitionError> {
        let known = before.filter(|before| before.identity == rules.identity);
        let nothing = LockedServer { identity: rules.identity.clone(), ..LockedServer::default() };
        let mut server = known.cloned().unwrap_or(nothing);
        if selects_info || known.is_none() {
            server.infos = approved_infos(seen);
        }
        for kind in KINDS.into_iter().filter(|kind| *kind != ItemKind::Resource || rules.resources) {
            let texts = Texts::of(kind, seen);
            let items = server.items.of_mut(kind);
            for (key, item) in items.iter_mut().filter(|(key, _)| selects(kind, key)) {
                item.absent = !texts.0.contains_key(key);
            }
            for (key, texts) in texts.0.into_iter().filter(|(key, _)| selects(kind, key)) {
                let item = items.entry(key).or_default();
                item.definitions = approved_definitions(kind, &item.definitions, &texts, seen)?;
            }
        }
        Ok(server)
    }
}

fn approved_definitions(
    kind: ItemKind,
    before: &[LockedDefinition],
    texts: &[Text],
    seen: &[SeenLists],
) -> Result<Vec<LockedDefinition>, DefinitionError> {
    let is_asked = |profile: &ClientProfile| seen.iter().any(|lists| lists.profile == *profile);
    let mut kept: Vec<LockedDefinition> = before.iter().filter(|known| !known.profiles.is_empty()).cloned().collect();
    for known in &mut kept {
        known.profiles.retain(|profile| !is_asked(profile));
    }
    kept.retain(|known| !known.profiles.is_empty());
    let mut definitions = Vec::new();
    for text in texts {
        definitions.push(LockedDefinition::new(text.profiles.clone(), &text.definition, kind)?);
    }
    for known in kept {
        match definitions.iter_mut().find(|other| other.digest == known.digest) {
            Some(same) => same.profiles.extend(known.profiles),
            None => definitions.push(known),
        }
    }
    if let [only] = &mut definitions[..]
        && seen.iter().all(|lists| only.profiles.contains(&lists.profile))
    {
        only.profiles.clear();
    }
    Ok(definitions)
}

/// What the server says about itself, once for all clients that are told the same.
fn approved_infos(seen: &[SeenLists]) -> Vec<LockedInfo> {
    let mut infos: Vec<LockedInfo> = Vec::new();
    for lists in seen {
        match infos.iter_mut().find(|known| known.info == lists.info) {
            Some(known) => known.profiles.push(lists.profile),
            None => infos.push(LockedInfo { profiles: vec![lists.profile], info: Arc::clone(&lists.info) }),
        }
    }
    if let [only] = &mut infos[..] {
        only.profiles.clear();
    }
    infos
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::testing::{approved, rules, seen};
    use crate::lock::{Lock, LockFile};
    use crate::{Abilities, Era};

    const FORM: ClientProfile =
        ClientProfile { era: Era::Session, abilities: Abilities { form: true, ..Abilities::NONE } };

    fn states(locked: &LockedServer, seen: &[SeenLists]) -> Vec<(String, &'static str)> {
        let review = ServerReview::of(Some(locked), seen, &rules(LockMode::Freeze));
        review.items.into_iter().map(|item| (item.key, item.state.as_str())).collect()
    }

    #[test]
    fn what_is_approved_is_the_same_and_stays_it() {
        let first = [seen(ClientProfile::SESSION, &[("a", ""), ("b", "")])];
        let locked = approved(None, &first);
        assert!(ServerReview::of(Some(&locked), &first, &rules(LockMode::Freeze)).is_same());
        let later = [seen(ClientProfile::SESSION, &[("a", r#","title":"A""#), ("c", "")])];
        let expected = [("a", "changed"), ("b", "gone"), ("c", "new")].map(|(key, state)| (key.to_owned(), state));
        assert_eq!(states(&locked, &later), expected);
        assert!(ServerReview::of(Some(&locked), &first, &rules(LockMode::Freeze)).is_same(), "back as it was");
        assert!(ServerReview::of(None, &first, &rules(LockMode::Freeze)).is_new);
        let other = LockRules { identity: "other".to_owned(), ..rules(LockMode::Freeze) };
        assert!(ServerReview::of(Some(&locked), &first, &other).is_new, "another program under the same name");
    }

    #[test]
    fn a_tool_that_hides_and_comes_back_changed_is_compared_with_what_was_approved() {
        let locked = approved(None, &[seen(ClientProfile::SESSION, &[("a", "")])]);
        let hidden = approved(Some(&locked), &[seen(ClientProfile::SESSION, &[])]);
        assert!(hidden.items.tools["a"].absent && !hidden.items.tools["a"].definitions.is_empty());
        assert_eq!(states(&hidden, &[seen(ClientProfile::SESSION, &[])]), [("a".to_owned(), "same")]);
        let back = [seen(ClientProfile::SESSION, &[("a", r#","title":"A""#)])];
        assert_eq!(states(&hidden, &back), [("a".to_owned(), "changed")]);
        assert!(!approved(Some(&hidden), &back).items.tools["a"].absent);
    }

    #[test]
    fn each_client_has_its_own_text() {
        let both = [seen(ClientProfile::SESSION, &[("a", "")]), seen(FORM, &[("a", r#","title":"A""#), ("b", "")])];
        let locked = approved(None, &both);
        assert_eq!(locked.items.tools["a"].definitions.len(), 2);
        assert_eq!(locked.items.tools["b"].definitions[0].profiles, [FORM], "only some clients see it");
        assert!(locked.infos[0].profiles.is_empty());
        assert!(ServerReview::of(Some(&locked), &both, &rules(LockMode::Freeze)).is_same());
        let swapped = [seen(ClientProfile::SESSION, &[("a", r#","title":"A""#)])];
        assert_eq!(states(&locked, &swapped)[0].1, "same", "any approved text may be shown to anybody");
        let again = approved(Some(&locked), &[seen(ClientProfile::SESSION, &[("a", r#","title":"B""#), ("b", "")])]);
        let texts = &again.items.tools["a"].definitions;
        assert_eq!(texts.len(), 2, "the text of clients that were not asked stays");
        assert_eq!(
            (texts[0].profiles.as_slice(), texts[1].profiles.as_slice()),
            (&[ClientProfile::SESSION][..], &[FORM][..])
        );
    }

    #[test]
    fn the_lock_is_a_catalog_for_each_client() {
        let both = [seen(ClientProfile::SESSION, &[("a", "")]), seen(FORM, &[("a", r#","title":"A""#), ("b", "")])];
        let file = LockFile { servers: [("s".to_owned(), approved(None, &both))].into() };
        let rules = [("s".to_owned(), rules(LockMode::Freeze))].into();
        let lock = Lock { path: "proxy.lock".into(), is_found: true, file: Arc::new(file), rules };
        let known = lock.known_lists("s");
        let shown = |lists: &Lists| lists.tools.iter().map(|tool| tool.raw().get().to_owned()).collect::<Vec<_>>();
        assert_eq!(known.iter().map(|seen| seen.profile).collect::<Vec<_>>(), [ClientProfile::SESSION, FORM]);
        for (known, seen) in known.iter().zip(&both) {
            assert_eq!(shown(&known.lists), shown(&seen.lists));
        }
        assert!(lock.known_lists("other").is_empty());
    }

    #[test]
    fn only_what_is_selected_is_approved() {
        let locked = approved(None, &[seen(ClientProfile::SESSION, &[("a", ""), ("b", "")])]);
        let now = [seen(ClientProfile::SESSION, &[("a", r#","title":"A""#), ("b", r#","title":"B""#)])];
        let one = LockedServer::approving(Some(&locked), &now, &rules(LockMode::Freeze), &|_, key| key == "a", false);
        let expected = [("a", "same"), ("b", "changed")].map(|(key, state)| (key.to_owned(), state));
        assert_eq!(states(&one.unwrap(), &now), expected);
    }
}
