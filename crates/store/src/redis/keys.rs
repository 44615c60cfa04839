//! The keys in Redis: `PREFIX:{TAG}:KIND`. A Redis Cluster places keys by their tag, so what one script uses has one tag.

use std::fmt::Display;

use sha2::{Digest, Sha256};

use proxy_model::{Home, Owner, SessionDigest};

/// The prefix unless the config sets another.
pub const DEFAULT_PREFIX: &str = "mcp-proxy";

#[derive(Clone, Debug)]
pub(super) struct Keys {
    prefix: String,
    /// Distinguishes the requests of this process from those of others.
    process: String,
}

impl Keys {
    pub(super) fn new(prefix: &str, process: String) -> Self {
        Keys { prefix: prefix.to_owned(), process }
    }

    fn key(&self, tag: impl Display, kind: &str) -> String {
        format!("{}:{{{tag}}}:{kind}", self.prefix)
    }

    /// A key of an owner. Names of people are in no key.
    fn of_owner(&self, owner: &Owner, kind: &str) -> String {
        let digest = Sha256::digest(owner.text(&self.process));
        let first: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        self.key(first, kind)
    }

    /// The values of an owner, their expiry times, and their total size.
    pub(super) fn values(&self, owner: &Owner) -> [String; 3] {
        ["values", "ends", "used"].map(|kind| self.of_owner(owner, kind))
    }

    /// The kept results of an owner, and their expiry times.
    pub(super) fn results(&self, owner: &Owner) -> [String; 2] {
        ["results", "result-ends"].map(|kind| self.of_owner(owner, kind))
    }

    /// What an owner has seen.
    pub(super) fn marks(&self, owner: &Owner) -> String {
        self.of_owner(owner, "marks")
    }

    /// All buckets have one tag: a call takes tokens from several of them or from none.
    pub(super) fn bucket(&self, limit: impl Display) -> String {
        self.key("buckets", &format!("bucket:{limit}"))
    }

    /// What has a name of its own, such as a journal.
    pub(super) fn named(&self, kind: &str, name: &str) -> String {
        self.key(name, kind)
    }

    pub(super) fn session(&self, session: SessionDigest) -> String {
        self.key(session, "session")
    }

    pub(super) fn subscriptions(&self, session: SessionDigest) -> String {
        self.key(session, "subscriptions")
    }

    pub(super) fn epoch(&self, person: &Owner) -> String {
        self.of_owner(person, "epoch")
    }

    pub(super) fn links(&self, owner: &Owner) -> String {
        self.of_owner(owner, "links")
    }

    /// The connections of a session to servers.
    pub(super) fn connections_of_session(&self, session: SessionDigest) -> String {
        self.key(session, "connections")
    }

    /// The connections of a person without a session.
    pub(super) fn connections_of(&self, person: &Owner) -> String {
        self.of_owner(person, "connections")
    }

    pub(super) fn alive(&self, home: Home) -> String {
        self.key(home, "alive")
    }

    pub(super) fn inbox(&self, home: Home) -> String {
        self.key(home, "in")
    }

    pub(super) fn news(&self) -> String {
        self.key("news", "news")
    }

    /// The processes by the time of their last sign of life, and what each says of itself.
    pub(super) fn homes(&self) -> [String; 2] {
        ["seen", "status"].map(|kind| self.key("homes", kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_model::{Principal, Sid};

    fn tag(key: &str) -> &str {
        let (_, rest) = key.split_once('{').unwrap();
        rest.split_once('}').unwrap().0
    }

    #[test]
    fn what_one_script_uses_has_one_tag() {
        let keys = Keys::new("p", "process".to_owned());
        let home = Home::of_this_process();
        for owner in [Owner::Everybody, Owner::Person(Principal::named("}{:ann").who.clone()), Owner::Process] {
            let [values, ends, used] = keys.values(&owner);
            assert!(tag(&values) == tag(&ends) && tag(&ends) == tag(&used), "{values} {ends} {used}");
            assert!(!values.contains("ann"), "{values}");
            let [results, result_ends] = keys.results(&owner);
            assert_eq!(tag(&results), tag(&result_ends));
        }
        assert_eq!(tag(&keys.bucket("1:2:}{a")), tag(&keys.bucket("3:4:b")));
        assert_eq!(tag(&keys.alive(home)), tag(&keys.inbox(home)));
        assert_eq!(tag(&keys.homes()[0]), tag(&keys.homes()[1]));
        let session = Sid::numbered(1).digest();
        assert_eq!(keys.session(session), format!("p:{{{session}}}:session"));
    }
}
