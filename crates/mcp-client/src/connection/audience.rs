//! Who uses the servers: any number of clients (HTTP), or a sole client whose first message declares its protocol and
//! capabilities (stdio).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::call::Peer;
use proxy_model::ClientProfile;

/// How long servers wait for the sole client's first message. A later client is served like one of many.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(5);

/// The only client.
#[derive(Clone, Debug)]
pub struct SoleClient {
    pub profile: ClientProfile,
    /// Reaches the client while none of its calls is running.
    pub peer: Option<Arc<dyn Peer>>,
}

/// The clients of this process.
#[derive(Clone, Debug)]
pub struct Audience {
    is_one: bool,
    client: Arc<watch::Sender<Option<SoleClient>>>,
    /// When servers stop waiting for the sole client.
    deadline: Instant,
}

impl Audience {
    /// Many clients, or a single one that will introduce itself.
    pub fn new(is_one: bool) -> Self {
        Audience { is_one, client: Arc::default(), deadline: Instant::now() + FIRST_MESSAGE_TIMEOUT }
    }

    /// Whether all requests come from one client.
    pub fn is_one(&self) -> bool {
        self.is_one
    }

    /// The only client introduces itself.
    pub fn introduce(&self, client: SoleClient) {
        self.client.send_replace(Some(client));
    }

    /// The profile of the sole client, once it has sent its first message.
    pub fn profile(&self) -> Option<ClientProfile> {
        self.client.borrow().as_ref().map(|client| client.profile)
    }

    pub fn is_introduced(&self) -> bool {
        self.client.borrow().is_some()
    }

    /// Whether servers wait for the only client.
    pub fn is_awaited(&self) -> bool {
        self.is_one && !self.is_introduced() && Instant::now() < self.deadline
    }

    /// The only client, waited for. `None` if there are many, or if it stays silent.
    pub async fn sole_client(&self) -> Option<SoleClient> {
        if !self.is_one {
            return None;
        }
        let mut client = self.client.subscribe();
        let introduced = async { client.wait_for(Option::is_some).await.ok().and_then(|client| client.clone()) };
        tokio::time::timeout_at(self.deadline, introduced).await.ok().flatten()
    }
}
