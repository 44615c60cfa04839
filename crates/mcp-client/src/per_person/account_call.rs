//! A call of a server at which everybody has an account of their own.

use std::sync::Arc;

use super::account::PersonalAccount;
use super::person_server::PersonServer;
use crate::call::{Answer, Backend, BackendCall, CallError};
use proxy_json::raw;
use proxy_model::Status;

/// Makes a call with the account of its person, who is asked to log in if there is no log-in. While the person is asked the
/// call holds no place among those that run.
pub(super) async fn call(
    person: &Arc<PersonServer>,
    account: &PersonalAccount,
    call: BackendCall,
) -> Result<Answer, CallError> {
    let was_connected = account.is_connected().await;
    if !was_connected {
        account.ask(&call, false).await?;
    }
    reconnected(person, &call).await?;
    if account.is_log_in(&call) {
        if was_connected && person.handle().view().status == Status::Login {
            // The log-in has ended.
            account.ask(&call, true).await?;
            reconnected(person, &call).await?;
        }
        let view = person.handle().view();
        if !view.lists.tools.iter().any(|tool| tool.key() == account.tool_name) {
            return Ok(Answer { result: raw(&account.logged_in(&view)) });
        }
    }
    let again = was_connected.then(|| call.again());
    let outcome = person.handle().call(call).await;
    match (outcome, again) {
        // The server has not acted on what it refused.
        (Err(CallError::LoginNeeded { .. }), Some(again)) => {
            account.ask(&again, true).await?;
            reconnected(person, &again).await?;
            person.handle().call(again).await.map_err(|error| in_words_of(account, error))
        }
        (outcome, _) => outcome.map_err(|error| in_words_of(account, error)),
    }
}

/// Waits until a server that waited for the log-in is connected with it, or has failed.
async fn reconnected(person: &Arc<PersonServer>, call: &BackendCall) -> Result<(), CallError> {
    tokio::select! {
        () = person.reconnect_after_log_in() => Ok(()),
        () = call.cancel.cancelled() => Err(CallError::Cancelled),
    }
}

fn in_words_of(account: &PersonalAccount, error: CallError) -> CallError {
    match error {
        CallError::LoginNeeded { .. } => account.log_in_first(),
        other => other,
    }
}
