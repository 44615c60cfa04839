//! Subscribes a client to a resource of a server.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::connection_choice::{ConnectionRequest, Requester, choose};
use super::waking::hold_awake;
use crate::call::{CallError, SHUTTING_DOWN, Subscriber, Subscription, TimeLimit, UpdateListener};
use crate::supervision::SupervisedServer;
use crate::transport::SubscriptionState;

/// Subscribes on the connection that the client's calls use. Completes when the server has accepted or refused.
pub(super) async fn subscribe(
    server: &SupervisedServer,
    uri: &str,
    follower: &Subscriber,
    listener: UpdateListener,
) -> Result<Subscription, CallError> {
    let (requester, cancel) = (Requester::Subscriber(follower), CancellationToken::new());
    // Once it is there, the subscription holds the server itself.
    let _hold = hold_awake(server, requester, "resources/subscribe", &cancel).await?;
    let mut connection_state = server.state.clone();
    let failures = connection_state.borrow_and_update().failures;
    let limits = server.call_limits(None);
    let request = ConnectionRequest { requester, method: "resources/subscribe", cancel: &cancel, limits, stale: None };
    let chosen = choose(server, request).await?;
    let subscriptions = match &chosen.side {
        Some((key, _)) => server.side_connections.subscriptions(key),
        None => Arc::clone(&server.subscriptions),
    };
    let (subscription, mut state) = subscriptions.add(uri, listener)?;
    if let Some((key, _)) = &chosen.side {
        // It may have been closed until there was a subscription that keeps it open.
        let client = requester.side_client(key);
        let opened = server.side_connections.get(key, &client, chosen.main.signals()).await;
        opened.map_err(|error| server.side_connection_error(error))?;
    }
    let connect_failed = async {
        while connection_state.changed().await.is_ok() {
            if let Err(login_needed) = server.check_log_in() {
                return login_needed;
            }
            if connection_state.borrow().failures > failures {
                break;
            }
        }
        server.down(&connection_state.borrow().error)
    };
    let settled = async {
        let settled = state.wait_for(|state| !matches!(state, SubscriptionState::Requested)).await;
        settled.map(|state| state.clone())
    };
    tokio::select! {
        biased;
        settled = settled => match settled {
            Ok(SubscriptionState::Accepted) => Ok(subscription),
            Ok(SubscriptionState::Refused(error)) => Err(error),
            _ => Err(server.down("")),
        },
        error = connect_failed => Err(error),
        () = server.stop.cancelled() => Err(server.down(SHUTTING_DOWN)),
        () = tokio::time::sleep(server.limits.idle) => {
            let backend = Arc::clone(&server.name);
            Err(CallError::Timeout { backend, after: server.limits.idle, limit: TimeLimit::Idle })
        }
    }
}
