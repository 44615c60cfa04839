//! The state and settings that all servers share.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::audience::Audience;
use super::cache::Cache;
use super::credentials_source::CredentialsSource;
use super::current_lock::CurrentLock;
use super::holder::SharedHolders;
use super::question_gate::QuestionGate;
use super::start_slots::StartSlots;
use crate::call::Attribution;
use crate::transport::Descriptions;
use proxy_config::{RestSettings, ServerConfig};
use proxy_model::ClientProfile;
use proxy_wire::http::HttpPool;

#[derive(Clone, Debug)]
pub struct Environment {
    pub pool: HttpPool,
    pub credentials: CredentialsSource,
    pub cache: Cache,
    /// The descriptions of APIs that are in use.
    pub descriptions: Descriptions,
    /// The program that `command: proxy` runs.
    pub executable: PathBuf,
    /// The environment variables of the proxy.
    pub variables: Vec<(String, String)>,
    /// The slots for processes that are starting.
    pub start_slots: StartSlots,
    /// Held while a server's lists for clients with different abilities are compared.
    pub comparing: Arc<tokio::sync::Mutex<()>>,
    /// Cancelled when the first lists are answered, whether all servers are up or not.
    pub lists_answered: CancellationToken,
    /// Notified when the view of a server changes.
    pub changes: Arc<Notify>,
    /// Notified when one person's view of a server changes.
    pub person_changes: Arc<Notify>,
    /// Who uses the servers. If it is one client, the main connections are made for it.
    pub audience: Audience,
    pub start: StartPolicy,
    /// Who holds the connections that belong to one client, if several processes serve it.
    pub holders: SharedHolders,
    /// What is approved of the servers' lists.
    pub lock: CurrentLock,
    /// Whether questions name the server that asks.
    pub attribution: Attribution,
    /// What stands before the questions that servers ask between calls.
    pub question_gate: QuestionGate,
}

/// Which servers are started before anybody calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPolicy {
    All,
    /// Those that the config does not start lazily, and those whose lists are unknown.
    Configured,
    /// Those whose lists are unknown. The others are not started until a call needs them.
    Unknown,
}

impl StartPolicy {
    /// Whether a server whose lists are known waits until it is needed.
    pub(crate) fn is_lazy(self, server: &ServerConfig) -> bool {
        match self {
            StartPolicy::All => false,
            StartPolicy::Configured => server.rest.lazy,
            StartPolicy::Unknown => true,
        }
    }

    /// When a server is stopped; `None` if it runs until the proxy ends.
    pub(crate) fn rest(self, server: &ServerConfig) -> Option<RestSettings> {
        Some(server.rest).filter(|rest| self == StartPolicy::Configured && rest.may_rest())
    }
}

impl Environment {
    /// The client profile that main connections are made for. `None` if there is a sole client that has not sent its first
    /// message yet.
    pub fn main_profile(&self) -> Option<ClientProfile> {
        match self.audience.is_one() {
            true => self.audience.profile(),
            false => Some(ClientProfile::SESSION),
        }
    }
}
