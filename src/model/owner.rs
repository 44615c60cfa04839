//! The owner of a call, of a value in the store, or of a sealed handle that a client sends back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Principal;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    Everybody,
    /// An authenticated user, across requests and sessions.
    Person(Arc<str>),
    /// A session, or the client on a pipe. Numbered by each process.
    Session(u64),
    /// The user who runs this process: the client on stdio, and commands.
    Process,
    /// One anonymous request without a session. Two such requests may come from different users. Numbered by each
    /// process.
    Request(u64),
}

impl Owner {
    pub fn new_session() -> Self {
        Owner::Session(next())
    }

    pub fn new_request() -> Self {
        Owner::Request(next())
    }

    /// The owner of the values that scripts store for a request: the authenticated person; without authentication the
    /// owner of the connection; on standard input and output the process.
    pub fn of_values(principal: &Principal, connection: Option<&Owner>) -> Self {
        match connection {
            _ if principal.local => Owner::Process,
            _ if !principal.anonymous => Owner::Person(Arc::clone(&principal.sub)),
            Some(connection) => connection.clone(),
            None => Owner::Process,
        }
    }

    /// The owner of sealed handles (tickets, cursors, task ids). Anonymous clients cannot be distinguished.
    pub fn of_handles(principal: &Principal) -> Self {
        if principal.anonymous { Owner::Everybody } else { Owner::Person(Arc::clone(&principal.sub)) }
    }

    /// Whose share of a limit per person a client uses: that of the authenticated person over all sessions; on standard
    /// input and output that of the process. Anonymous clients cannot be distinguished, so they share one.
    pub fn of_share(principal: &Principal) -> Self {
        match principal {
            Principal { local: true, .. } => Owner::Process,
            Principal { anonymous: true, .. } => Owner::Everybody,
            Principal { sub, .. } => Owner::Person(Arc::clone(sub)),
        }
    }

    /// The owner as text, for keys and seals. `process` distinguishes the sessions and requests of different processes.
    pub fn text(&self, process: &str) -> String {
        match self {
            Owner::Everybody => "everybody".to_owned(),
            Owner::Person(sub) => format!("person:{sub}"),
            Owner::Session(number) => format!("session:{process}:{number}"),
            Owner::Process => format!("process:{process}"),
            Owner::Request(number) => format!("request:{process}:{number}"),
        }
    }
}

fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_belong_to_the_person_else_to_the_connection() {
        let connection = Owner::Session(7);
        let of = |principal: &Principal| Owner::of_values(principal, Some(&connection));
        assert_eq!(of(&Principal::named("ann")), Owner::Person("ann".into()));
        assert_eq!(of(&Principal::anonymous()), connection);
        assert_eq!(of(&Principal { local: true, ..Principal::named("ann") }), Owner::Process);
        assert_eq!(Owner::of_values(&Principal::anonymous(), None), Owner::Process);
    }

    #[test]
    fn anonymous_clients_have_one_share_and_every_person_has_their_own() {
        assert_eq!(Owner::of_share(&Principal::named("ann")), Owner::Person("ann".into()));
        assert_eq!(Owner::of_share(&Principal::anonymous()), Owner::Everybody);
        assert_eq!(Owner::of_share(&Principal { local: true, ..Principal::named("ann") }), Owner::Process);
    }

    #[test]
    fn a_person_cannot_be_named_like_another_owner() {
        let texts = [Owner::Everybody, Owner::Person("everybody".into()), Owner::Session(1), Owner::Request(1)]
            .map(|owner| owner.text("p"));
        assert_eq!(texts, ["everybody", "person:everybody", "session:p:1", "request:p:1"]);
    }
}
