//! The HTTP sessions as the operator sees and ends them.

use crate::Server;
use crate::front::session::Session;
use crate::replicas::SessionsEnd;
use proxy_model::operator_api::{EndedSessions, ReplicaList, ReplicaStatus, SessionList, SessionStatus};
use proxy_model::{Home, Owner, Principal, SessionDigest};
use proxy_store::StoreError;

impl Server {
    /// The sessions that this process serves, the one first that was used last.
    pub fn sessions(&self) -> SessionList {
        let mut sessions = self.http_sessions.load().as_ref().map(|sessions| sessions.all()).unwrap_or_default();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.last_used()));
        SessionList {
            home: Home::of_this_process().to_string(),
            sessions: sessions.iter().map(|session| status(session, self.replicas.time().now())).collect(),
        }
    }

    /// The processes that share the store and the keys of this one; none if the store is not shared.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn replicas(&self) -> Result<ReplicaList, StoreError> {
        let now = self.replicas.time().now();
        let homes = self.replicas.homes::<ReplicaStatus>().await?;
        let described = homes.into_iter().map(|(home, status)| {
            let has_other_keys = status.is_none();
            let status = status.unwrap_or_default();
            let seen_seconds_ago = if has_other_keys { 0 } else { now.saturating_sub(status.at) / 1000 };
            ReplicaStatus { home: home.to_string(), seen_seconds_ago, has_other_keys, ..status }
        });
        let mut replicas: Vec<ReplicaStatus> = described.collect();
        replicas.sort_by(|one, other| (other.uptime_seconds, &one.home).cmp(&(one.uptime_seconds, &other.home)));
        Ok(ReplicaList { home: Home::of_this_process().to_string(), replicas })
    }

    /// Ends a session. One that this process does not serve is remembered as ended; `None` if that is impossible.
    pub async fn end_session(&self, digest: SessionDigest) -> Option<EndedSessions> {
        let sessions = self.http_sessions.load_full()?;
        let session = sessions.end_by_digest(digest);
        if session.is_none() && !sessions.remembers_ends() {
            return None;
        }
        tracing::info!("the operator has ended session {digest}");
        let ended = usize::from(session.is_some());
        self.end_sessions(session);
        let told = self.replicas.end(SessionsEnd::Session(digest)).await;
        self.end_left_connections(digest);
        Some(EndedSessions { ended, problems: not_told(told) })
    }

    /// Ends all sessions of a user.
    pub async fn end_sessions_of(&self, principal: &Principal) -> EndedSessions {
        let Some(sessions) = self.http_sessions.load_full() else { return EndedSessions::default() };
        let ended = sessions.end_all_of(principal);
        let count = ended.len();
        tracing::info!("the operator has ended the sessions of {}: {count} in use", principal.sub());
        self.end_sessions(ended);
        let told = self.replicas.end(SessionsEnd::AllOf(Owner::of_handles(principal))).await;
        EndedSessions { ended: count, problems: not_told(told) }
    }
}

/// What the operator has to know if the other processes could not be told.
fn not_told(told: Result<(), StoreError>) -> Vec<String> {
    let problem = |error| {
        format!(
            "sessions at other replicas go on until this one can write into the store, which it will try again: {error}"
        )
    };
    told.err().map(problem).into_iter().collect()
}

fn status(session: &Session, now: u64) -> SessionStatus {
    let client = session.client();
    SessionStatus {
        digest: session.id.sid.digest().to_string(),
        user: client.principal.sub().to_owned(),
        issuer: client.principal.issuer().to_owned(),
        client: client.info.name(),
        client_version: client.info.version(),
        protocol_version: client.revision.as_str().to_owned(),
        home: session.id.home.to_string(),
        opened_seconds_ago: now.saturating_sub(session.id.born) / 1000,
        used_seconds_ago: session.last_used().elapsed().as_secs(),
    }
}
