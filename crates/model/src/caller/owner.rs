//! The owner of a call, of a value in the store, or of a sealed handle that a client sends back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Principal, Realm, Sid, Who};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    Everybody,
    /// An authenticated user, across requests and sessions.
    Person(Who),
    /// A session, or the client on a pipe.
    Session(Sid),
    /// The user who runs this process: the client on stdio, and commands.
    Process,
    /// One anonymous request without a session. Two such requests may come from different users. Numbered by each
    /// process.
    Request(u64),
    /// An owner as the clients of one profile see it.
    UnderProfile(Arc<str>, Box<Owner>),
}

impl Owner {
    /// The client of a connection that ends with this process.
    pub fn new_connection() -> Self {
        Owner::Session(Sid::of_connection())
    }

    pub fn new_request() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Owner::Request(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The owner of the values that scripts store for a request: the authenticated person; without authentication the
    /// owner of the connection; on standard input and output the process.
    pub fn of_values(principal: &Principal, connection: Option<&Owner>) -> Self {
        match connection {
            _ if principal.is_local() => Owner::Process,
            _ if !principal.is_anonymous() => Owner::Person(principal.who.clone()),
            Some(connection) => connection.clone(),
            None => Owner::Process,
        }
    }

    /// The owner of sealed handles (tickets, cursors, task ids). Anonymous clients cannot be distinguished.
    pub fn of_handles(principal: &Principal) -> Self {
        if principal.is_anonymous() { Owner::Everybody } else { Owner::Person(principal.who.clone()) }
    }

    /// For whom a handle is sealed, as text: its owner and the profile under which it was made. Nobody else opens it, and not
    /// even its owner under another profile.
    pub fn handle_text(principal: &Principal) -> String {
        Owner::of_handles(principal).under(principal.profile()).text("")
    }

    /// The same owner under a profile, for what is not to be found under another one.
    #[must_use]
    pub fn under(self, profile: Option<&Arc<str>>) -> Self {
        match profile {
            Some(profile) => Owner::UnderProfile(Arc::clone(profile), Box::new(self)),
            None => self,
        }
    }

    /// Whose share of a limit per person a client uses: that of the authenticated person over all sessions; on standard
    /// input and output that of the process. Anonymous clients cannot be distinguished, so they share one.
    pub fn of_share(principal: &Principal) -> Self {
        match principal.who.realm {
            Realm::Local => Owner::Process,
            Realm::Anonymous => Owner::Everybody,
            Realm::Static | Realm::Issuer(_) => Owner::Person(principal.who.clone()),
        }
    }

    /// The owner as text, for keys and seals. `process` distinguishes the requests of different processes.
    pub fn text(&self, process: &str) -> String {
        match self {
            Owner::Everybody => "everybody".to_owned(),
            Owner::Person(Who { realm, sub }) => match realm {
                Realm::Anonymous | Realm::Static => format!("person:{sub}"),
                Realm::Local => format!("local:{sub}"),
                // An issuer is a URL and has no space.
                Realm::Issuer(issuer) => format!("issuer:{issuer} {sub}"),
            },
            Owner::Session(sid) => format!("session:{sid}"),
            Owner::Process => format!("process:{process}"),
            Owner::Request(number) => format!("request:{process}:{number}"),
            // The name of a profile has no space, and no other owner begins like this.
            Owner::UnderProfile(profile, owner) => format!("profile:{profile} {}", owner.text(process)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_belong_to_the_person_else_to_the_connection() {
        let connection = Owner::Session(Sid::numbered(7));
        let of = |principal: &Principal| Owner::of_values(principal, Some(&connection));
        assert_eq!(of(&Principal::named("ann")), Owner::Person(Principal::named("ann").who.clone()));
        assert_eq!(of(&Principal::anonymous()), connection);
        assert_eq!(of(&Principal::local("ann")), Owner::Process);
        assert_eq!(Owner::of_values(&Principal::anonymous(), None), Owner::Process);
    }

    #[test]
    fn anonymous_clients_have_one_share_and_every_person_has_their_own() {
        assert_eq!(Owner::of_share(&Principal::named("ann")), Owner::Person(Principal::named("ann").who.clone()));
        assert_eq!(Owner::of_share(&Principal::anonymous()), Owner::Everybody);
        assert_eq!(Owner::of_share(&Principal::local("ann")), Owner::Process);
    }

    #[test]
    fn a_person_cannot_be_named_like_another_owner() {
        let texts =
            [Owner::Everybody, person(Realm::Static, "everybody"), Owner::Session(Sid::numbered(1)), Owner::Request(1)];
        let texts = texts.map(|owner| owner.text("p"));
        let session = "session:00000000000000000000000000000001";
        assert_eq!(texts, ["everybody", "person:everybody", session, "request:p:1"]);
    }

    #[test]
    fn a_handle_belongs_to_its_owner_under_one_profile() {
        let ann = Principal::named("ann");
        let under = |profile: &str| ann.clone().in_profile(Some(profile.into()));
        let texts = [Owner::handle_text(&ann), Owner::handle_text(&under("a")), Owner::handle_text(&under("b"))];
        assert_eq!(texts, ["person:ann", "profile:a person:ann", "profile:b person:ann"]);
        assert_eq!(Owner::of_handles(&ann), Owner::of_handles(&under("a")), "the owner is the same");
        let anonymous = Principal::anonymous().in_profile(Some("a".into()));
        assert_eq!(Owner::handle_text(&anonymous), "profile:a everybody");
    }

    #[test]
    fn the_same_sub_in_two_realms_is_two_people() {
        let issuer = |url: &str| Realm::Issuer(url.into());
        let people = [
            person(Realm::Static, "ann"),
            person(Realm::Local, "ann"),
            person(issuer("https://a"), "ann"),
            person(issuer("https://b"), "ann"),
        ];
        let texts: std::collections::HashSet<String> = people.iter().map(|person| person.text("")).collect();
        assert_eq!(texts.len(), people.len(), "{texts:?}");
    }

    fn person(realm: Realm, sub: &str) -> Owner {
        Owner::Person(Principal::of(realm, sub).who.clone())
    }
}
