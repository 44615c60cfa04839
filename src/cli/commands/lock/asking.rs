//! Asks servers what they list, for clients of several profiles, without a lock and without the session script.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::Notify;

use crate::cli::failure::CommandFailure;
use crate::cli::{setup, spinner};
use proxy_config::{Config, ServerConfig};
use proxy_identity::oauth::{CredentialStorage, LogIns};
use proxy_mcp_client::{
    Audience, Backend, Cache, CredentialsSource, Environment, QuestionGate, StartPolicy, StartSlots, start,
};
use proxy_model::lock::SeenLists;
use proxy_model::{Abilities, BackendView, ClientProfile, Era, Owner, Status};
use proxy_wire::http::HttpPool;

/// A server that is being installed may take longer than `startTimeout` the first time.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(120);

/// What clients see of a server, or why that is not known.
pub(super) type Seen = Result<Vec<SeenLists>, String>;

/// What the servers list now, in this order.
pub(super) async fn ask(
    config: &Config,
    servers: &[(&String, &ServerConfig)],
) -> Result<Vec<(String, Seen)>, CommandFailure> {
    let log_ins = LogIns::new(CredentialStorage::for_config(config, setup::state_folder().as_deref()));
    let start_slots = StartSlots::of_this_machine();
    let cache = Cache::at(setup::cache_folder());
    let executable = std::env::current_exe()?;
    let asked = servers.iter().map(|(name, server)| {
        let credentials = Arc::clone(&log_ins);
        let environment = Environment {
            person_changes: Arc::default(),
            pool: HttpPool::default(),
            credentials: CredentialsSource::new(move |name, server| credentials.credentials(name, server)),
            // What a server listed earlier is not what it lists now.
            cache: Cache::default(),
            executable: executable.clone(),
            variables: setup::variables(),
            start_slots: start_slots.clone(),
            comparing: Arc::default(),
            lists_answered: Default::default(),
            changes: Arc::new(Notify::new()),
            audience: Audience::new(false),
            start: StartPolicy::All,
            holders: Default::default(),
            lock: Default::default(),
            attribution: Default::default(),
            question_gate: QuestionGate::default(),
        };
        let profiles = cache.profiles(name, server);
        async move { ((*name).clone(), one(name, server, &environment, profiles).await) }
    });
    let names: Vec<&str> = servers.iter().map(|(name, _)| name.as_str()).collect();
    let answers = spinner::with(&format!("asking {}", names.join(", ")), join_all(asked)).await;
    // The answer to a renewal must be saved: the old log-in may be spent.
    log_ins.drain().await;
    Ok(answers)
}

async fn one(name: &str, server: &ServerConfig, environment: &Environment, profiles: Vec<ClientProfile>) -> Seen {
    if server.is_per_person() {
        return Err("each caller has their own connection to it, so it cannot be locked".to_owned());
    }
    if let Some(problem) = server.missing_value() {
        return Err(problem);
    }
    let handle = start(name, server, environment);
    let limit = server.start_timeout.max(SHORTEST_TIMEOUT);
    let listed = tokio::time::timeout(limit, listed(&handle, environment, profiles)).await;
    let view = handle.view();
    handle.stop().await;
    match listed {
        Ok(()) if view.status == Status::Ready => Ok(seen(&view)),
        Ok(()) if view.error.is_empty() => Err("it is not available".to_owned()),
        Ok(()) => Err(proxy_model::error_line(&view.error)),
        Err(_) => Err(format!("it did not answer within {} s", limit.as_secs())),
    }
}

/// Completes when the server has listed everything for all clients, or when it cannot be reached.
async fn listed(handle: &impl Backend, environment: &Environment, profiles: Vec<ClientProfile>) {
    while handle.view().status == Status::Starting {
        environment.changes.notified().await;
    }
    let Some(connected) = handle.connected() else { return };
    if handle.view().status != Status::Ready {
        return;
    }
    let all = ClientProfile { era: Era::Session, abilities: Abilities::ALL_SHARED };
    let mut wanted = vec![ClientProfile::STATELESS, all];
    wanted.extend(profiles.into_iter().filter(|profile| !profile.abilities.roots));
    for profile in wanted {
        connected.list_for(profile, &Owner::Process).await;
    }
}

fn seen(view: &BackendView) -> Vec<SeenLists> {
    let main = SeenLists {
        profile: ClientProfile { era: view.info.era(), ..ClientProfile::SESSION },
        info: Arc::clone(&view.info),
        lists: Arc::clone(&view.lists),
    };
    let variants = view.variants.iter().map(|variant| {
        let own = view.with_variant(variant);
        SeenLists { profile: variant.profile, info: own.info, lists: own.lists }
    });
    std::iter::once(main).chain(variants).collect()
}
