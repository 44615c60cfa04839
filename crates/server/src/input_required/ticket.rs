//! Tickets: the `requestState` with which a stateless client answers questions. A ticket is encrypted, belongs to one
//! principal and one request, can be used once, and expires.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journals::OpenQuestion;
use proxy_base::seal::{Purpose, Sealer};
use proxy_engine::calls::ItemCall;
use proxy_json::{Object, ObjectError, RawRef, check_unique_keys, digest};
use proxy_model::flow::Labels;
use proxy_model::{Home, Owner, Principal};
use proxy_store::Store;
use proxy_wire::RpcError;

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
    /// A call that waits for the log-in of its person before it is sent anywhere. It is suspended in a process that may have
    /// ended: then another one makes it.
    LogIn(UnsentCall),
    /// A stateless server, with the `requestState` that it returned, byte for byte.
    Server {
        backend: String,
        name: String,
        state: String,
        /// The labels of what the call has told.
        #[serde(default, skip_serializing_if = "Labels::is_empty")]
        told: Labels,
    },
    /// A script handler, which runs again with its journal.
    Script(OpenQuestion),
}

/// A call that nobody has carried out yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnsentCall {
    /// The process in which it is suspended, and its number there.
    pub(super) process: String,
    pub(super) number: u64,
    /// Until when the person is asked. Seconds since 1970.
    pub(super) until: u64,
}

/// The end of the error message for a ticket whose journal is no longer in the store.
pub(super) const ALREADY_USED: &str = "already answered or has expired; the call may have been carried out";

/// A used ticket is remembered for longer than its clock says, because proxies that share a store have clocks of their own.
const CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// The encrypted content of a ticket.
#[derive(Serialize, Deserialize)]
struct Ticket {
    number: u64,
    /// The process that issued the ticket, if no other may redeem it: a suspended call is in that process, and so is the
    /// knowledge whether the ticket was used, if the store is not shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<String>,
    fingerprint: CallFingerprint,
    waiting: TicketTarget,
    /// The id that the records of all rounds of the call share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// Seconds since 1970.
    expires: u64,
}

/// What a ticket was good for.
pub(super) struct RedeemedTicket {
    pub(super) target: TicketTarget,
    /// The id that the records of all rounds of the call share.
    pub(super) call: Option<String>,
}

/// Issues and redeems tickets.
#[derive(Debug)]
pub(crate) struct Tickets {
    sealer: Sealer,
    /// The name of this process.
    process: String,
}

impl Tickets {
    pub(crate) fn new(sealer: Sealer) -> Self {
        Tickets { sealer, process: Home::of_this_process().to_string() }
    }

    /// The process that a ticket to `target` must name: this one, or none if every process that shares the store may redeem
    /// the ticket.
    fn process_for(&self, target: &TicketTarget, store: &Store) -> Option<&str> {
        let is_local = !store.is_shared() || matches!(target, TicketTarget::Call(_));
        is_local.then_some(&self.process)
    }

    /// The name of this process.
    pub(super) fn process(&self) -> &str {
        &self.process
    }

    /// The process in which the call of a ticket is suspended. The ticket is not used up.
    pub(crate) fn home_of(&self, principal: &Principal, ticket: &str) -> Option<Home> {
        let ticket = self.open(principal, ticket)?;
        let process = match ticket.waiting {
            TicketTarget::Call(_) => ticket.process?,
            TicketTarget::LogIn(unsent) => unsent.process,
            TicketTarget::Server { .. } | TicketTarget::Script(_) => return None,
        };
        Home::parse(&process)
    }

    /// Whether the call of a ticket can be made by every process that shares the store, because nobody has sent it yet.
    pub(crate) fn is_unsent(&self, principal: &Principal, ticket: &str) -> bool {
        self.open(principal, ticket).is_some_and(|ticket| matches!(ticket.waiting, TicketTarget::LogIn(_)))
    }

    fn open(&self, principal: &Principal, ticket: &str) -> Option<Ticket> {
        let content = self.sealer.open(Purpose::Ticket, &Owner::handle_text(principal), ticket)?;
        serde_json::from_slice(&content).ok()
    }

    /// Issues a ticket. `store` is the current one, which remembers its number when it is used.
    pub(super) fn issue(
        &self,
        store: &Store,
        principal: &Principal,
        fingerprint: CallFingerprint,
        waiting: TicketTarget,
        call: Option<String>,
        lifetime: Duration,
    ) -> Result<String, RpcError> {
        let failed = |_| RpcError::internal("cannot create a ticket: the random number generator failed");
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(failed)?;
        let ticket = Ticket {
            number: u64::from_le_bytes(number),
            process: self.process_for(&waiting, store).map(str::to_owned),
            fingerprint,
            waiting,
            call,
            expires: now() + lifetime.as_secs().max(1),
        };
        let content = serde_json::to_vec(&ticket).map_err(|error| RpcError::internal(&error.to_string()))?;
        self.sealer.seal(Purpose::Ticket, &Owner::handle_text(principal), &content).map_err(failed)
    }

    /// Redeems a ticket. The error is the same for a modified ticket, a forged ticket, and a ticket of another
    /// principal.
    pub(super) async fn redeem(
        &self,
        store: &Store,
        principal: &Principal,
        fingerprint: &CallFingerprint,
        ticket: &str,
    ) -> Result<RedeemedTicket, RpcError> {
        let refuse = |reason: &str| RpcError::invalid_params(&format!("`requestState` {reason}"));
        let invalid = || refuse("is invalid, or was not issued to you");
        let ticket = self.open(principal, ticket).ok_or_else(invalid)?;
        if ticket.fingerprint != *fingerprint {
            return Err(refuse("belongs to another request: retry the original request with the same arguments"));
        }
        if ticket.process.as_deref() != self.process_for(&ticket.waiting, store) {
            return Err(refuse(match ticket.waiting {
                TicketTarget::LogIn(_) => "was issued by another proxy process: send the request again without it",
                _ => "was issued by another proxy process; the call may have been carried out",
            }));
        }
        let redeemed = RedeemedTicket { target: ticket.waiting, call: ticket.call };
        let remaining = Duration::from_secs(ticket.expires.saturating_sub(now()));
        // The journal in the store can be taken once, which decides whether the ticket was used.
        if let TicketTarget::Script(_) = &redeemed.target {
            return if remaining.is_zero() { Err(refuse(&format!("was {ALREADY_USED}"))) } else { Ok(redeemed) };
        }
        if remaining.is_zero() {
            return Err(refuse("has expired: send the request again without it"));
        }
        let claimed = store.claim(&format!("ticket:{:016x}", ticket.number), remaining + CLOCK_SKEW).await;
        match claimed {
            Ok(true) => Ok(redeemed),
            Ok(false) => Err(refuse("was already used: send the request again without it")),
            Err(error) => {
                Err(RpcError::internal(&format!("cannot check whether `requestState` was used: {error}; try again")))
            }
        }
    }
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(digest: &str) -> CallFingerprint {
        CallFingerprint { method: "tools/call".to_owned(), key: "x".to_owned(), digest: digest.to_owned() }
    }

    async fn message(
        (tickets, store): (&Tickets, &Store),
        who: &Principal,
        digest: &str,
        ticket: &str,
    ) -> Result<TicketTarget, String> {
        let redeemed = tickets.redeem(store, who, &fingerprint(digest), ticket).await;
        redeemed.map(|redeemed| redeemed.target).map_err(|error| error.message())
    }

    fn server_state() -> TicketTarget {
        TicketTarget::Server {
            backend: "b".to_owned(),
            name: "n".to_owned(),
            state: "1".to_owned(),
            told: Labels::default(),
        }
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_ticket_can_be_redeemed_once_by_its_principal_for_its_request() {
        let (tickets, store) = (Tickets::new(Sealer::new().unwrap()), Store::memory());
        let (ann, bob) = (Principal::named("ann"), Principal::named("bob"));
        let ticket = tickets.issue(&store, &ann, fingerprint("d"), TicketTarget::Call(7), None, MINUTE).unwrap();
        assert!(message((&tickets, &store), &bob, "d", &ticket).await.unwrap_err().contains("not issued to you"));
        assert!(message((&tickets, &store), &ann, "d", "made up").await.unwrap_err().contains("not issued to you"));
        assert!(message((&tickets, &store), &ann, "other", &ticket).await.unwrap_err().contains("another request"));
        assert_eq!(message((&tickets, &store), &ann, "d", &ticket).await, Ok(TicketTarget::Call(7)));
        assert!(message((&tickets, &store), &ann, "d", &ticket).await.unwrap_err().contains("already used"));
    }

    #[tokio::test]
    async fn without_a_shared_store_only_the_process_that_issued_a_ticket_redeems_it() {
        let sealer = Sealer::with_keys(["the same for both of them, and long enough"]).unwrap();
        let tickets = Tickets::new(sealer.clone());
        let others = Tickets { process: "another".to_owned(), ..Tickets::new(sealer) };
        let (store, ann) = (Store::memory(), Principal::named("ann"));
        for waiting in [TicketTarget::Call(7), server_state()] {
            let ticket = tickets.issue(&store, &ann, fingerprint("d"), waiting.clone(), None, MINUTE).unwrap();
            assert!(
                message((&others, &Store::memory()), &ann, "d", &ticket)
                    .await
                    .unwrap_err()
                    .contains("another proxy process")
            );
            assert_eq!(message((&tickets, &store), &ann, "d", &ticket).await, Ok(waiting));
        }
    }

    #[tokio::test]
    async fn a_ticket_to_a_script_says_that_the_call_may_have_been_carried_out_when_it_is_late() {
        let (tickets, store) = (Tickets::new(Sealer::new().unwrap()), Store::memory());
        let ann = Principal::named("ann");
        let open = serde_json::json!({"id": "1", "policy": "p", "catalog": "c", "groups": "g"});
        let waiting = TicketTarget::Script(serde_json::from_value(open).unwrap());
        let late = Ticket {
            number: 1,
            process: Some(tickets.process.clone()),
            fingerprint: fingerprint("d"),
            waiting: waiting.clone(),
            call: None,
            expires: now() - 1,
        };
        let late = serde_json::to_vec(&late).unwrap();
        let late = tickets.sealer.seal(Purpose::Ticket, &Owner::handle_text(&ann), &late).unwrap();
        let refused = message((&tickets, &store), &ann, "d", &late).await.unwrap_err();
        assert!(refused.contains("already answered or has expired; the call may have been carried out"), "{refused}");
        // The store decides whether the ticket was used.
        let good = tickets.issue(&store, &ann, fingerprint("d"), waiting.clone(), None, MINUTE).unwrap();
        for _ in 0..2 {
            assert_eq!(message((&tickets, &store), &ann, "d", &good).await, Ok(waiting.clone()));
        }
    }
}
