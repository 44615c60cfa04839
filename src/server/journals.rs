//! Questions of scripts to stateless clients: their request ends with the questions, what the handler has done lies in
//! the store, and the ticket with which they come back leads to it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::Server;
use super::items::Use;
use super::methods::{Asked, Client};
use super::ticket::{SPENT, Waiting};
use crate::calls::{CallFault, PATIENCE, POLICY_CHANGED, as_request, failed, take_answer};
use crate::json::{Object, Raw, RawRef, digest, quote};
use crate::model::Principal;
use crate::script::JournalSnapshot;
use crate::seal::Purpose;
use crate::surface::Surface;
use crate::wire::RpcError;

/// What must be as it was when the question was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Open {
    /// Of the journal in the store.
    id: String,
    policy: String,
    catalog: String,
    groups: String,
}

/// Surfaces in use by open questions, for when the catalog changes meanwhile.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<HashMap<String, (Instant, Arc<Surface>)>>);

impl Held {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Instant, Arc<Surface>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, id: &str, surface: &Arc<Surface>) {
        let now = Instant::now();
        let mut held = self.lock();
        held.retain(|_, (since, _)| now.duration_since(*since) < PATIENCE);
        held.insert(id.to_owned(), (now, Arc::clone(surface)));
    }

    fn take(&self, id: &str) -> Option<Arc<Surface>> {
        self.lock().remove(id).map(|(_, surface)| surface)
    }
}

type Answered = Result<Result<Raw, CallFault>, RpcError>;

impl Server {
    /// Ends a request with what its handler asks.
    pub(super) async fn ask_in_result(
        &self,
        past: &JournalSnapshot,
        surface: &Arc<Surface>,
        used: &Use,
        client: &Client,
    ) -> Answered {
        let no_randomness = |_| RpcError::internal("no ticket can be made");
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(no_randomness)?;
        let id = crate::json::hex(&random);
        let content = past.to_bytes().map_err(|error| RpcError::internal(&error.to_string()))?;
        let sealed = self.sealer.seal_bytes(Purpose::Journal, &id, &content).map_err(no_randomness)?;
        if let Err(error) = self.gateway.calls().store.put_journal(&id, sealed, PATIENCE).await {
            return Ok(failed(used.kind, format!("the question cannot be asked: {error}"), None));
        }
        let open = Open {
            policy: surface.policy().to_string(),
            catalog: surface.catalog().to_owned(),
            groups: groups(&client.principal),
            id,
        };
        self.held.keep(&open.id, surface);
        let ticket = self.tickets.issue(&client.principal, used.fingerprint()?, Waiting::Script(open), PATIENCE)?;
        let requests: Vec<String> = past
            .questions()
            .into_iter()
            .map(|(key, question)| {
                let request = as_request(question);
                format!("{}:{{\"method\":{},\"params\":{}}}", quote(&key), quote(&request.method), request.params)
            })
            .collect();
        let result = format!(
            "{{\"resultType\":\"input_required\",\"inputRequests\":{{{}}},\"requestState\":{}}}",
            requests.join(","),
            quote(&ticket)
        );
        crate::json::valid(result).map(Ok).map_err(|error| RpcError::internal(&error.to_string()))
    }

    /// Goes on with a call whose client comes back with answers.
    pub(super) async fn resume(&self, open: Open, now: &Arc<Surface>, used: &Use, asked: Asked<'_>) -> Answered {
        let surface = match self.surface_of(&open, now, &asked.client.principal) {
            Ok(surface) => surface,
            Err(reason) => return Ok(failed(used.kind, reason.to_owned(), None)),
        };
        let taken = self.gateway.calls().store.take_journal(&open.id).await;
        let taken = taken.map_err(|error| RpcError::internal(&error.to_string()))?;
        let spent = || RpcError::invalid_params(&format!("`requestState` was {SPENT}"));
        let content = taken.and_then(|sealed| self.sealer.open_bytes(Purpose::Journal, &open.id, &sealed));
        let mut past = content.and_then(|content| JournalSnapshot::from_bytes(&content).ok()).ok_or_else(spent)?;
        self.held.take(&open.id);
        let params = Object::of(&used.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let answers = params.get("inputResponses").and_then(|answers| Object::of(answers).ok());
        let keys: Vec<String> = past.questions().into_iter().map(|(key, _)| key).collect();
        for key in keys {
            let answer: Option<&RawRef> = answers.as_ref().and_then(|answers| answers.get(&key));
            if let Err(reason) = take_answer(&mut past, &key, answer) {
                return Ok(failed(used.kind, reason, None));
            }
        }
        if past.questions().is_empty() {
            return self.converse(&surface, used, asked, Some(past)).await;
        }
        self.ask_in_result(&past, &surface, used, asked.client).await
    }

    /// The surface a call goes on with: one that publishes what it did when the question was asked.
    fn surface_of(&self, open: &Open, now: &Arc<Surface>, principal: &Principal) -> Result<Arc<Surface>, &'static str> {
        if open.groups != groups(principal) {
            return Err("your groups changed while the question was open; call again");
        }
        if open.policy != **now.policy() {
            return Err(POLICY_CHANGED);
        }
        if open.catalog == now.catalog() {
            return Ok(Arc::clone(now));
        }
        let held = self.held.lock().get(&open.id).map(|(_, surface)| Arc::clone(surface));
        held.ok_or("what the servers offer changed while the question was open; call again")
    }
}

/// What a person may do goes by their groups.
fn groups(principal: &Principal) -> String {
    let mut groups = principal.groups.to_vec();
    groups.sort();
    digest(&serde_json::Value::from(groups))
}
