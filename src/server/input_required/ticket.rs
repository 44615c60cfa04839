//! Tickets: the `requestState` with which a stateless client comes back to a question. Sealed, for one person and one
//! request, good once and for a while.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journals::OpenQuestion;

use crate::calls::ItemCall;
use crate::json::{Object, RawRef, digest};
use crate::model::{Owner, Principal};
use crate::seal::{Purpose, Sealer};
use crate::wire::RpcError;

/// What the client was doing when it was asked; coming back it must be doing the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallFingerprint {
    pub(crate) method: String,
    /// The published name or URI.
    pub(crate) key: String,
    /// Of the arguments.
    pub(crate) digest: String,
}

impl CallFingerprint {
    /// Arguments that differ only in formatting or member order have the same fingerprint.
    pub(crate) fn of(call: &ItemCall) -> Result<Self, RpcError> {
        let object = Object::of(&call.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let arguments = object.get("arguments").map_or("{}", RawRef::get);
        let arguments: Value =
            serde_json::from_str(arguments).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let (method, key) = (call.kind.use_method().to_owned(), call.key.clone());
        Ok(CallFingerprint { method, key, digest: digest(&arguments) })
    }
}

/// What waits for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Waiting {
    /// A call that goes on in this process.
    Call(u64),
    /// A stateless server, with the state it gave, as it wrote it.
    Server { backend: String, name: String, state: String },
    /// A handler of a script, which is run again.
    Script(OpenQuestion),
}

/// What is said of a ticket to a script that leads nowhere any more.
pub(crate) const SPENT: &str = "already answered or has expired; the call may have been carried out";

#[derive(Serialize, Deserialize)]
struct Ticket {
    number: u64,
    fingerprint: CallFingerprint,
    waiting: Waiting,
    /// Seconds since 1970.
    expires: u64,
}

/// The book of tickets.
#[derive(Debug)]
pub(crate) struct Tickets {
    sealer: Sealer,
    /// Those that were used, until they expire.
    used: Mutex<HashMap<u64, Instant>>,
}

impl Tickets {
    pub(crate) fn new(sealer: Sealer) -> Self {
        Tickets { sealer, used: Mutex::default() }
    }

    pub(crate) fn issue(
        &self,
        principal: &Principal,
        fingerprint: CallFingerprint,
        waiting: Waiting,
        good_for: Duration,
    ) -> Result<String, RpcError> {
        let failed = |_| RpcError::internal("no ticket can be made");
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(failed)?;
        let ticket = Ticket {
            number: u64::from_le_bytes(number),
            fingerprint,
            waiting,
            expires: now() + good_for.as_secs().max(1),
        };
        let content = serde_json::to_vec(&ticket).map_err(|_| RpcError::internal("no ticket can be made"))?;
        self.sealer.seal(Purpose::Ticket, &Owner::of_handles(&principal).text(""), &content).map_err(failed)
    }

    /// Takes a ticket back. One that was changed, made up or given to somebody else is told apart from none of these.
    pub(crate) fn redeem(
        &self,
        principal: &Principal,
        fingerprint: &CallFingerprint,
        ticket: &str,
    ) -> Result<Waiting, RpcError> {
        let refuse = |reason: &str| RpcError::invalid_params(&format!("`requestState` {reason}"));
        let content = self.sealer.open(Purpose::Ticket, &Owner::of_handles(&principal).text(""), ticket);
        let ticket: Ticket = content
            .and_then(|content| serde_json::from_slice(&content).ok())
            .ok_or_else(|| refuse("is not one that was given to you"))?;
        if ticket.fingerprint != *fingerprint {
            return Err(refuse("belongs to another request: repeat the one it was given for, with the same arguments"));
        }
        let left = ticket.expires.saturating_sub(now());
        // Whether it was used is known where the journal is, which may be beside other processes.
        if let Waiting::Script(_) = &ticket.waiting {
            return if left == 0 { Err(refuse(&format!("was {SPENT}"))) } else { Ok(ticket.waiting) };
        }
        if left == 0 {
            return Err(refuse("has expired: make the request again without it"));
        }
        let mut used = self.used.lock();
        let today = Instant::now();
        if used.len() > 1000 {
            used.retain(|_, until| *until > today);
        }
        if used.insert(ticket.number, today + Duration::from_secs(left)).is_some() {
            return Err(refuse("was used already: make the request again without it"));
        }
        Ok(ticket.waiting)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(digest: &str) -> CallFingerprint {
        CallFingerprint { method: "tools/call".to_owned(), key: "x".to_owned(), digest: digest.to_owned() }
    }

    #[test]
    fn a_ticket_is_good_once_for_its_holder_and_its_request() {
        let tickets = Tickets::new(Sealer::new().unwrap());
        let (ann, bob) = (Principal::named("ann"), Principal::named("bob"));
        let ticket = tickets.issue(&ann, fingerprint("d"), Waiting::Call(7), Duration::from_secs(60)).unwrap();
        let message = |who: &Principal, fingerprint: &CallFingerprint, ticket: &str| {
            tickets.redeem(who, fingerprint, ticket).map_err(|error| error.message())
        };
        assert!(message(&bob, &fingerprint("d"), &ticket).unwrap_err().contains("not one that was given to you"));
        assert!(message(&ann, &fingerprint("d"), "made up").unwrap_err().contains("not one that was given to you"));
        assert!(message(&ann, &fingerprint("other"), &ticket).unwrap_err().contains("another request"));
        assert_eq!(message(&ann, &fingerprint("d"), &ticket), Ok(Waiting::Call(7)));
        assert!(message(&ann, &fingerprint("d"), &ticket).unwrap_err().contains("used already"));
    }

    #[test]
    fn a_ticket_to_a_script_says_that_the_call_may_have_been_carried_out_when_it_is_late() {
        let sealer = Sealer::new().unwrap();
        let (tickets, ann) = (Tickets::new(sealer.clone()), Principal::named("ann"));
        let open = serde_json::json!({"id": "1", "policy": "p", "catalog": "c", "groups": "g"});
        let waiting = Waiting::Script(serde_json::from_value(open).unwrap());
        let late = Ticket { number: 1, fingerprint: fingerprint("d"), waiting: waiting.clone(), expires: now() - 1 };
        let late = sealer
            .seal(Purpose::Ticket, &Owner::of_handles(&ann).text(""), &serde_json::to_vec(&late).unwrap())
            .unwrap();
        let refused = tickets.redeem(&ann, &fingerprint("d"), &late).unwrap_err().message();
        assert!(refused.contains("already answered or has expired; the call may have been carried out"), "{refused}");
        // Whether it was used is for the store to say.
        let good = tickets.issue(&ann, fingerprint("d"), waiting.clone(), Duration::from_secs(60)).unwrap();
        for _ in 0..2 {
            assert_eq!(tickets.redeem(&ann, &fingerprint("d"), &good).ok(), Some(waiting.clone()));
        }
    }
}
