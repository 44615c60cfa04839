//! The cancellation of a call, with the reason that the client gave for it.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use proxy_json::{Raw, RawRef};

/// Cancelled when nobody waits for the call any more. Clones are cancelled together.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    token: CancellationToken,
    /// The JSON string in `reason` of `notifications/cancelled`.
    reason: Arc<OnceLock<Raw>>,
}

impl Cancellation {
    /// Cancels the call for the reason that the client gave, if it gave one. The first reason counts.
    pub fn cancel(&self, reason: Option<&RawRef>) {
        if let Some(reason) = reason.filter(|reason| reason.get().starts_with('"')) {
            let _ = self.reason.set(reason.to_owned());
        }
        self.token.cancel();
    }

    pub fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Completes when the call is cancelled.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.token.cancelled()
    }

    /// Cancelled with this one, and by itself without it.
    pub fn child(&self) -> Cancellation {
        Cancellation { token: self.token.child_token(), reason: Arc::clone(&self.reason) }
    }

    /// Cancels this one when the other is cancelled.
    pub async fn cancelled_with(self, other: CancellationToken) {
        tokio::select! {
            () = other.cancelled() => self.cancel(None),
            () = self.cancelled() => {}
        }
    }

    /// The token alone, for what needs no reason.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// The reason as a JSON string; `None` if the client gave none or is not the one who ended the call.
    pub fn reason(&self) -> Option<&RawRef> {
        self.reason.get().map(|reason| &**reason)
    }
}

impl From<CancellationToken> for Cancellation {
    fn from(token: CancellationToken) -> Self {
        Cancellation { token, reason: Arc::default() }
    }
}
