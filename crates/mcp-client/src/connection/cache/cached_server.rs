//! The cache entry of one server, and how it is updated when clients see new lists.

use std::sync::Arc;

use super::file;
use proxy_config::ServerConfig;
use proxy_model::lock::Lock;
use proxy_model::{Abilities, ClientProfile, Era, LastKnown, LoginNeeded, StartFailure, ViewVariant};

/// The maximum number of profiles whose lists are kept for a server.
const MAX_ENTRIES: usize = 16;
/// The maximum length of the error of a failed start, in characters.
const MAX_ERROR: usize = 2000;

/// What is known of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CachedServer {
    /// Whether the server's lists depend on what its clients can be asked.
    pub varies: bool,
    /// The eras that the server was found not to speak.
    pub absent: Vec<Era>,
    /// What clients of each profile saw, last seen first.
    pub entries: Vec<ViewVariant>,
    /// When the server last started and when it last did not.
    pub last: LastKnown,
    /// The variables or headers with which it was seen, as a digest. With others a server may offer something else.
    pub environment: String,
}

impl CachedServer {
    /// The same, or what the lock approves if that is all that is known of the server with these variables. And whether its
    /// lists with these variables are known.
    pub(crate) fn or_approved(self, name: &str, server: &ServerConfig, lock: Option<&Lock>) -> (Self, bool) {
        if !self.entries.is_empty() && self.environment == server.environment_digest() {
            return (self, true);
        }
        let approved = lock.map(|lock| lock.known_lists(name)).unwrap_or_default();
        let approved: Vec<ViewVariant> = approved
            .into_iter()
            .map(|seen| ViewVariant { profile: seen.profile, info: seen.info, lists: seen.lists, lock: None })
            .collect();
        if approved.is_empty() {
            return (self, false);
        }
        (CachedServer::of_lists(approved, self), true)
    }

    /// A server with these lists, about which else only this is known.
    fn of_lists(entries: Vec<ViewVariant>, known: CachedServer) -> Self {
        let mut with_lists = CachedServer { entries, ..known };
        with_lists.varies = with_lists.differs();
        with_lists
    }

    /// The best known lists for clients of this profile: the ones they saw last, or else those of clients with fewer
    /// abilities, or else any.
    pub fn entry(&self, profile: ClientProfile) -> Option<&ViewVariant> {
        let of_era = self.entries.iter().filter(|entry| entry.profile.era == profile.era);
        let fitting = of_era.clone().filter(|entry| entry.profile.abilities.is_subset_of(profile.abilities));
        fitting
            .max_by_key(|entry| entry.profile.abilities.count())
            .or_else(|| of_era.min_by_key(|entry| entry.profile.abilities.count()))
            .or(self.entries.first())
    }

    /// What clients of exactly this profile saw.
    pub fn exact(&self, profile: ClientProfile) -> Option<&ViewVariant> {
        self.entries.iter().find(|entry| entry.profile == profile)
    }

    /// Records the lists of the main connection. If its era differs from the requested one, this server version does not
    /// support the requested era; another version may.
    pub fn record_main(&mut self, seen: ViewVariant, asked: Option<Era>) {
        if !self.entries.iter().any(|entry| entry.info.version == seen.info.version) {
            self.absent.clear();
        }
        let refused = asked.filter(|asked| *asked != seen.profile.era);
        if seen.profile.abilities == Abilities::NONE {
            self.change_alike(&seen);
        }
        let varied = self.varies;
        self.record(seen);
        // Whoever sees another list at another time sees a change: only a comparison finds out that lists vary.
        self.varies &= varied;
        self.last = LastKnown { seen: Some(file::now()), failure: None };
        self.absent.extend(refused.filter(|era| !self.absent.contains(era)));
    }

    /// Records that the server did not start with this entry of the config.
    pub fn record_failure(&mut self, error: &str, entry: String) {
        let error = error.chars().take(MAX_ERROR).collect();
        self.last.failure = Some(StartFailure { at: file::now(), error, login: false, entry });
    }

    /// Records that the server waits for a log-in.
    pub fn record_login(&mut self, needed: &LoginNeeded, entry: String) {
        let error = needed.0.chars().take(MAX_ERROR).collect();
        self.last.failure = Some(StartFailure { at: file::now(), error, login: true, entry });
    }

    /// The version of the server that lists the same for clients that can be asked everything and nothing, in sessions.
    pub fn version_compared(&self) -> Option<String> {
        let listed =
            |abilities: Abilities| self.exact(ClientProfile { era: Era::Session, abilities: abilities.listed() });
        let (all, none) = (listed(Abilities::ALL_SHARED)?, listed(Abilities::NONE)?);
        (all.info.version == none.info.version && all.lists == none.lists).then(|| all.info.version.clone())
    }

    /// Whether nothing is known of the server but that it did not start with this entry of the config.
    pub fn is_doubtful(&self, entry: &str) -> bool {
        let failed = |failure: &StartFailure| !failure.login && failure.entry == entry;
        self.entries.is_empty() && self.last.failure.as_ref().is_some_and(failed)
    }

    /// Applies a change to the entries of all profiles whose lists were equal before. Otherwise a server whose lists change
    /// over time would seem to list different items for different abilities.
    fn change_alike(&mut self, seen: &ViewVariant) {
        let Some(before) = self.exact(seen.profile).map(|before| Arc::clone(&before.lists)) else { return };
        let alike = |entry: &&mut ViewVariant| {
            entry.profile.era == seen.profile.era && entry.info.version == seen.info.version && entry.lists == before
        };
        for entry in self.entries.iter_mut().filter(alike) {
            entry.lists = Arc::clone(&seen.lists);
        }
    }

    pub(super) fn record(&mut self, seen: ViewVariant) {
        self.absent.retain(|era| *era != seen.profile.era);
        self.entries.retain(|entry| entry.profile != seen.profile);
        self.entries.insert(0, seen);
        self.entries.truncate(MAX_ENTRIES);
        self.varies = self.differs();
    }

    /// Whether clients of one era saw different lists of one version.
    fn differs(&self) -> bool {
        self.entries.iter().any(|one| {
            let alike =
                |other: &&ViewVariant| other.profile.era == one.profile.era && other.info.version == one.info.version;
            self.entries.iter().filter(alike).any(|other| other.lists != one.lists)
        })
    }

    /// Drops what was seen longest ago until the rest has at most this size. Returns whether anything was dropped.
    pub(super) fn shrink_to(&mut self, max_bytes: u64) -> bool {
        let mut total = 0u64;
        let fitting = self.entries.iter().take_while(|entry| {
            total = total.saturating_add(file::size_of_entry(entry));
            total <= max_bytes
        });
        let (fitting, before) = (fitting.count(), self.entries.len());
        self.entries.truncate(fitting);
        fitting < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_model::{Definition, ItemKind, Lists};

    fn seen(era: Era, abilities: Abilities) -> ViewVariant {
        ViewVariant {
            profile: ClientProfile { era, abilities },
            info: Arc::default(),
            lists: Arc::default(),
            lock: None,
        }
    }

    #[test]
    fn a_client_is_shown_what_clients_like_it_saw() {
        let form = Abilities { form: true, ..Abilities::NONE };
        let both = Abilities { url: true, ..form };
        let mut known = CachedServer { absent: vec![Era::Stateless], ..CachedServer::default() };
        known.record(seen(Era::Session, Abilities::NONE));
        known.record(seen(Era::Session, form));
        let of =
            |known: &CachedServer, era, abilities| known.entry(ClientProfile { era, abilities }).map(|e| e.profile);
        let profile = |era, abilities| Some(ClientProfile { era, abilities });
        assert_eq!(of(&known, Era::Session, both), profile(Era::Session, form));
        assert_eq!(of(&known, Era::Session, Abilities::NONE), profile(Era::Session, Abilities::NONE));
        assert_eq!(of(&known, Era::Stateless, both), profile(Era::Session, form), "what was seen last");
        assert_eq!(known.absent, [Era::Stateless]);
        known.record(seen(Era::Stateless, Abilities::NONE));
        assert_eq!(of(&known, Era::Stateless, both), profile(Era::Stateless, Abilities::NONE));
        assert!(known.absent.is_empty());
    }

    #[test]
    fn lists_that_change_for_everybody_do_not_vary() {
        let with_tools = |abilities, names: &[&str]| {
            let tool = |name: &&str| {
                let text = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
                Arc::new(Definition::parse(ItemKind::Tool, proxy_json::valid(text).unwrap()).unwrap())
            };
            let lists = Lists { tools: names.iter().map(tool).collect(), ..Lists::default() };
            ViewVariant { lists: Arc::new(lists), ..seen(Era::Session, abilities) }
        };
        let form = Abilities { form: true, ..Abilities::NONE };
        let mut known = CachedServer::default();
        known.record_main(with_tools(Abilities::NONE, &["a"]), None);
        known.record(with_tools(form, &["a"]));
        known.record_main(with_tools(Abilities::NONE, &["a", "b"]), None);
        assert!(!known.varies, "the same change for both");
        known.record(with_tools(form, &["a", "b", "c"]));
        assert!(known.varies);
        known.record_main(with_tools(Abilities::NONE, &["a"]), None);
        assert!(known.varies, "they saw different lists before");
    }

    #[test]
    fn what_is_too_large_for_the_file_is_not_kept() {
        let of_size = |era, bytes: usize| {
            let text = format!(r#"{{"name":"a","description":"{}"}}"#, "x".repeat(bytes));
            let prompt = Definition::parse(ItemKind::Prompt, proxy_json::valid(text).unwrap()).unwrap();
            let lists = Lists { prompts: vec![Arc::new(prompt)], ..Lists::default() };
            ViewVariant { lists: Arc::new(lists), ..seen(era, Abilities::NONE) }
        };
        let mut known = CachedServer::default();
        known.record(of_size(Era::Session, 4000));
        known.record(of_size(Era::Stateless, 4000));
        assert!(!known.clone().shrink_to(10_000), "there is room for both");
        assert!(known.shrink_to(6000));
        assert_eq!(known.entries.len(), 1);
        assert_eq!(known.entries[0].profile.era, Era::Stateless, "what was seen last");
        assert!(known.shrink_to(1000));
        assert!(known.entries.is_empty());
    }
}
