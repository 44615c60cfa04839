//! Which scopes a log-in asks for.

use crate::oauth::discovery::Challenge;
use crate::oauth::scopes::add;
use crate::oauth::storage::LogInRecord;

const OFFLINE_ACCESS: &str = "offline_access";

pub(crate) struct ScopeSelection<'a> {
    /// From the command line: in addition to all others.
    pub(crate) named: &'a [String],
    pub(crate) configured: &'a [String],
    pub(crate) challenge: Option<&'a Challenge>,
    /// Those of the server's metadata.
    pub(crate) resource: &'a [String],
    /// Those that the authorization server knows.
    pub(crate) supported: &'a [String],
    /// The last log-in at this authorization server.
    pub(crate) last: Option<&'a LogInRecord>,
}

impl ScopeSelection<'_> {
    /// The scopes to ask for: those of the config, else those that the server has asked for, else those that its metadata
    /// name, else none; and those of the command line. What was asked for before is asked for again: the new token replaces
    /// the old.
    pub(crate) fn select(&self) -> Vec<String> {
        let challenged = self.challenge.map_or(&[][..], |challenge| &challenge.scopes);
        let chosen = Some(self.configured).filter(|scopes| !scopes.is_empty());
        let mut scopes = Vec::new();
        match self.last.filter(|last| !last.wanted_scopes.is_empty()) {
            // The metadata name what is needed at first, which says nothing about what was refused.
            Some(last) => {
                for more in [&last.requested_scopes, &last.wanted_scopes, chosen.unwrap_or_default()] {
                    add(&mut scopes, more);
                }
            }
            None => {
                if chosen.is_none() {
                    add(&mut scopes, self.last.map_or(&[][..], |last| &last.requested_scopes));
                }
                let asked = [challenged, self.resource].into_iter().find(|scopes| !scopes.is_empty());
                add(&mut scopes, chosen.or(asked).unwrap_or_default());
            }
        }
        add(&mut scopes, self.named);
        // Without it, some authorization servers give no refresh token; others refuse to know it.
        if !scopes.is_empty() && self.supported.iter().any(|scope| scope == OFFLINE_ACCESS) {
            add(&mut scopes, &[OFFLINE_ACCESS.to_owned()]);
        }
        scopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::storage::record;

    fn list(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// The scopes for what is named, configured, challenged, in the metadata of the server and of its issuer.
    fn select(texts: [&str; 5], last: Option<&LogInRecord>) -> String {
        let [named, configured, challenged, resource, supported] = texts.map(list);
        let challenge = Challenge { scopes: challenged, ..Challenge::default() };
        let scopes = ScopeSelection {
            named: &named,
            configured: &configured,
            challenge: Some(&challenge),
            resource: &resource,
            supported: &supported,
            last,
        };
        scopes.select().join(" ")
    }

    #[test]
    fn the_nearest_source_decides() {
        assert_eq!(select(["a", "b", "c", "d", ""], None), "b a");
        assert_eq!(select(["a", "", "c", "d", ""], None), "c a");
        assert_eq!(select(["a", "", "", "", ""], None), "a");
        assert_eq!(select(["", "b", "c", "d", ""], None), "b");
        assert_eq!(select(["", "", "c", "d", ""], None), "c");
        assert_eq!(select(["", "", "", "d e", ""], None), "d e");
        assert_eq!(select(["", "", "", "", "x y"], None), "");
    }

    #[test]
    fn offline_access_is_asked_for_where_it_is_known() {
        assert_eq!(select(["", "", "c", "", "c offline_access"], None), "c offline_access");
        assert_eq!(select(["", "", "c", "", "c"], None), "c");
        assert_eq!(select(["", "", "", "", "offline_access"], None), "");
    }

    #[test]
    fn what_is_wanted_is_added_to_what_was_asked_for() {
        let last = LogInRecord { requested_scopes: list("basic"), wanted_scopes: list("write basic"), ..record() };
        assert_eq!(select(["", "", "basic", "profile", ""], Some(&last)), "basic write");
        assert_eq!(select(["more", "", "", "", ""], Some(&last)), "basic write more");
        let again = LogInRecord { requested_scopes: list("basic write"), ..record() };
        assert_eq!(select(["", "", "basic", "", ""], Some(&again)), "basic write", "another log-in loses nothing");
        assert_eq!(select(["", "only", "basic", "", ""], Some(&again)), "only", "what the config names is all");
    }
}
