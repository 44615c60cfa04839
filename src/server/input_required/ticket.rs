//! Tickets: the `requestState` with which a stateless client answers questions. A ticket is encrypted, belongs to one
//! principal and one request, can be used once, and expires.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journals::OpenQuestion;
use crate::calls::ItemCall;
use crate::json::{Object, ObjectError, RawRef, check_unique_keys, digest};
use crate::model::{Owner, Principal};
use crate::seal::{Purpose, Sealer};
use crate::wire::RpcError;

/// Identifies the request that the ticket was issued for. The client must retry the same request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallFingerprint {
    pub(crate) method: String,
    /// The published name or URI.
    pub(crate) key: String,
    /// The digest of the arguments.
    pub(crate) digest: String,
}

impl CallFingerprint {
    /// Arguments that differ only in formatting or member order have the same fingerprint.
    pub(crate) fn of(call: &ItemCall) -> Result<Self, RpcError> {
        let object = Object::of(&call.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let arguments = object.get("arguments").unwrap_or(RawRef::EMPTY_OBJECT);
        let invalid = |error: ObjectError| RpcError::invalid_params(&format!("`arguments`: {error}"));
        check_unique_keys(arguments).map_err(invalid)?;
        let arguments: Value =
            serde_json::from_str(arguments.get()).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let (method, key) = (call.kind.use_method().to_owned(), call.key.clone());
        Ok(CallFingerprint { method, key, digest: digest(&arguments) })
    }
}

/// What a ticket refers to: the call that waits for the answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TicketTarget {
    /// A call that is suspended in this process.
    Call(u64),
    /// A stateless server, with the `requestState` that it returned, byte for byte.
    Server { backend: String, name: String, state: String },
    /// A script handler, which runs again with its journal.
    Script(OpenQuestion),
}

/// The end of the error message for a ticket whose journal is no longer in the store.
pub(super) const ALREADY_USED: &str = "already answered or has expired; the call may have been carried out";

/// The encrypted content of a ticket.
#[derive(Serialize, Deserialize)]
struct Ticket {
    number: u64,
    fingerprint: CallFingerprint,
    waiting: TicketTarget,
    /// Seconds since 1970.
    expires: u64,
}

/// Issues and redeems tickets.
#[derive(Debug)]
pub(crate) struct Tickets {
    sealer: Sealer,
    /// The numbers of the used tickets, with the time when they expire.
    used: Mutex<HashMap<u64, Instant>>,
}

impl Tickets {
    pub(crate) fn new(sealer: Sealer) -> Self {
        Tickets { sealer, used: Mutex::default() }
    }

    pub(super) fn issue(
        &self,
        principal: &Principal,
        fingerprint: CallFingerprint,
        waiting: TicketTarget,
        lifetime: Duration,
    ) -> Result<String, RpcError> {
        let failed = |_| RpcError::internal("cannot create a ticket: the random number generator failed");
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(failed)?;
        let ticket = Ticket {
            number: u64::from_le_bytes(number),
            fingerprint,
            waiting,
            expires: now() + lifetime.as_secs().max(1),
        };
        let content = serde_json::to_vec(&ticket).map_err(|error| RpcError::internal(&error.to_string()))?;
        self.sealer.seal(Purpose::Ticket, &Owner::of_handles(principal).text(""), &content).map_err(failed)
    }

    /// Redeems a ticket. The error is the same for a modified ticket, a forged ticket, and a ticket of another
    /// principal.
    pub(super) fn redeem(
        &self,
        principal: &Principal,
        fingerprint: &CallFingerprint,
        ticket: &str,
    ) -> Result<TicketTarget, RpcError> {
        let refuse = |reason: &str| RpcError::invalid_params(&format!("`requestState` {reason}"));
        let content = self.sealer.open(Purpose::Ticket, &Owner::of_handles(principal).text(""), ticket);
        let ticket: Ticket = content
            .and_then(|content| serde_json::from_slice(&content).ok())
            .ok_or_else(|| refuse("is invalid, or was not issued to you"))?;
        if ticket.fingerprint != *fingerprint {
            return Err(refuse("belongs to another request: retry the original request with the same arguments"));
        }
        let remaining = ticket.expires.saturating_sub(now());
        // The store, which other processes may share, decides whether the ticket was used: the journal can be taken
        // once.
        if let TicketTarget::Script(_) = &ticket.waiting {
            return if remaining == 0 { Err(refuse(&format!("was {ALREADY_USED}"))) } else { Ok(ticket.waiting) };
        }
        if remaining == 0 {
            return Err(refuse("has expired: send the request again without it"));
        }
        let mut used = self.used.lock();
        let now = Instant::now();
        if used.len() > 1000 {
            used.retain(|_, expires| *expires > now);
        }
        if used.insert(ticket.number, now + Duration::from_secs(remaining)).is_some() {
            return Err(refuse("was used already: send the request again without it"));
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
    fn a_ticket_can_be_redeemed_once_by_its_principal_for_its_request() {
        let tickets = Tickets::new(Sealer::new().unwrap());
        let (ann, bob) = (Principal::named("ann"), Principal::named("bob"));
        let ticket = tickets.issue(&ann, fingerprint("d"), TicketTarget::Call(7), Duration::from_secs(60)).unwrap();
        let message = |who: &Principal, fingerprint: &CallFingerprint, ticket: &str| {
            tickets.redeem(who, fingerprint, ticket).map_err(|error| error.message())
        };
        assert!(message(&bob, &fingerprint("d"), &ticket).unwrap_err().contains("not issued to you"));
        assert!(message(&ann, &fingerprint("d"), "made up").unwrap_err().contains("not issued to you"));
        assert!(message(&ann, &fingerprint("other"), &ticket).unwrap_err().contains("another request"));
        assert_eq!(message(&ann, &fingerprint("d"), &ticket), Ok(TicketTarget::Call(7)));
        assert!(message(&ann, &fingerprint("d"), &ticket).unwrap_err().contains("used already"));
    }

    #[test]
    fn a_ticket_to_a_script_says_that_the_call_may_have_been_carried_out_when_it_is_late() {
        let sealer = Sealer::new().unwrap();
        let (tickets, ann) = (Tickets::new(sealer.clone()), Principal::named("ann"));
        let open = serde_json::json!({"id": "1", "policy": "p", "catalog": "c", "groups": "g"});
        let waiting = TicketTarget::Script(serde_json::from_value(open).unwrap());
        let late = Ticket { number: 1, fingerprint: fingerprint("d"), waiting: waiting.clone(), expires: now() - 1 };
        let late = sealer
            .seal(Purpose::Ticket, &Owner::of_handles(&ann).text(""), &serde_json::to_vec(&late).unwrap())
            .unwrap();
        let refused = tickets.redeem(&ann, &fingerprint("d"), &late).unwrap_err().message();
        assert!(refused.contains("already answered or has expired; the call may have been carried out"), "{refused}");
        // The store decides whether the ticket was used.
        let good = tickets.issue(&ann, fingerprint("d"), waiting.clone(), Duration::from_secs(60)).unwrap();
        for _ in 0..2 {
            assert_eq!(tickets.redeem(&ann, &fingerprint("d"), &good).ok(), Some(waiting.clone()));
        }
    }
}
