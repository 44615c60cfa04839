//! Checks which authorization a server requires. It goes as far as the lists, because some servers allow the handshake
//! without authorization.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::cli::failure::CommandFailure;
use crate::cli::setup;
use proxy_config::ServerConfig;
use proxy_identity::oauth::{Challenge, LogIns};
use proxy_mcp_client::{
    Audience, Backend, Cache, CredentialsSource, Environment, QuestionGate, StartPolicy, StartSlots, start,
};
use proxy_model::{Credentials, Status};
use proxy_wire::http::HttpPool;

/// What a server requires without authorization.
pub(super) enum Demand {
    LogIn(Challenge),
    /// It requires no authorization.
    Nothing,
    /// It does not answer, for this reason.
    Unknown(String),
}

pub(super) async fn ask(log_ins: &Arc<LogIns>, name: &str, server: &ServerConfig) -> Result<Demand, CommandFailure> {
    let Some(probe) = log_ins.probe(server) else { return Ok(Demand::Nothing) };
    let shown: Arc<dyn Credentials> = Arc::clone(&probe) as _;
    let changes = Arc::new(Notify::new());
    let environment = Environment {
        person_changes: Arc::default(),
        pool: HttpPool::default(),
        credentials: CredentialsSource::new(move |_, _| Some(Arc::clone(&shown))),
        // Lists without authorization may be incomplete, so they are not cached.
        cache: Cache::at(None),
        descriptions: Default::default(),
        executable: std::env::current_exe()?,
        variables: setup::variables(),
        start_slots: StartSlots::of_this_machine(),
        comparing: Arc::default(),
        lists_answered: Default::default(),
        changes: Arc::clone(&changes),
        audience: Audience::new(false),
        start: StartPolicy::All,
        holders: Default::default(),
        lock: Default::default(),
        attribution: Default::default(),
        question_gate: QuestionGate::default(),
    };
    let handle = start(name, server, &environment);
    let view = loop {
        let view = handle.view();
        if view.status != Status::Starting {
            break view;
        }
        changes.notified().await;
    };
    handle.stop().await;
    Ok(match probe.challenge() {
        Some(challenge) => Demand::LogIn(challenge),
        None if view.status == Status::Ready => Demand::Nothing,
        None => Demand::Unknown(view.error.clone()),
    })
}
