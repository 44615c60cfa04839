//! Subscribes a client to a resource of a server.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::backend::call::{CallError, Listener, SHUTTING_DOWN, Subscriber, Subscription, TimeLimit};
use crate::backend::supervision::{SideClient, SupervisedServer};
use crate::backend::transport::SubscriptionState;

/// Subscribes on the connection that the client's calls use. Completes when the server has accepted or refused.
pub(super) async fn subscribe(
    server: &SupervisedServer,
    uri: &str,
    follower: &Subscriber,
    listener: Listener,
) -> Result<Subscription, CallError> {
    let mut connection_state = server.state.clone();
    let failures = connection_state.borrow_and_update().failures;
    let main = server.connection(&CancellationToken::new(), server.call_limits(None), None).await?;
    let side_key = server.side_key(&follower.owner, follower.profile, Some("resources/subscribe"), &main)?;
    let subscriptions = match &side_key {
        Some(key) => server.side_connections.subscriptions(key),
        None => Arc::clone(&server.subscriptions),
    };
    let (subscription, mut state) = subscriptions.add(uri, listener)?;
    if let Some(key) = &side_key {
        let person = Some(follower.person.clone());
        let client = SideClient { person, gone: follower.gone.clone(), between_calls: None };
        let opened = server.side_connections.get(key, &client, main.signals()).await;
        opened.map_err(|error| server.side_connection_error(error))?;
    }
    let connect_failed = async {
        while connection_state.changed().await.is_ok() {
            if connection_state.borrow().failures > failures {
                break;
            }
        }
        connection_state.borrow().error.clone()
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
        error = connect_failed => Err(server.down(&error)),
        () = server.stop.cancelled() => Err(server.down(SHUTTING_DOWN)),
        () = tokio::time::sleep(server.limits.idle) => {
            let backend = Arc::clone(&server.name);
            Err(CallError::Timeout { backend, after: server.limits.idle, limit: TimeLimit::Idle })
        }
    }
}
