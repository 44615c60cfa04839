//! Makes new connections: starts the server's process or reaches its URL, and negotiates the protocol revision.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::HeaderValue;
use indexmap::IndexMap;
use parking_lot::Mutex;

use super::cannot_start::cannot_start;
use super::continued;
use super::environment::Environment;
use super::era_flapping::EraFlapping;
use super::established::Connection;
use super::found_command::found_command;
use super::handshake::{self, HandshakeError, Leg, Negotiation, ServerMemory};
use super::holder::ServerSession;
use super::start_slots::StartSlot;
use super::start_work::{MAX_START, StartingProcess, WINDOW, is_at_work};
use crate::call::Peer;
use crate::transport::{
    HttpTransport, LastWords, LogIn, ServerClient, ServerProcesses, Signals, SseTransport, StderrLog, StdioTransport,
    Transport, TransportError,
};
use proxy_base::process::{Launch, base_environment, watchdog};
use proxy_config::{ProtocolChoice, ServerConfig, TransportConfig};
use proxy_model::{Abilities, LoginNeeded, Secret};
use proxy_wire::Revision;
use proxy_wire::hops;
use proxy_wire::http::{HttpClient, HttpError};

#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) name: Arc<str>,
    pub(crate) server: ServerConfig,
    environment: Environment,
    pub(crate) last_words: LastWords,
    pub(crate) processes: ServerProcesses,
    /// The log-in that all connections show.
    pub(crate) log_in: Arc<LogIn>,
    /// Whether the server was found to speak HTTP+SSE.
    uses_sse: AtomicBool,
    era_flapping: Mutex<EraFlapping>,
}

/// What a new connection is used for.
pub(crate) struct ConnectionPurpose {
    /// The client abilities that are declared to the server.
    pub(crate) declared: Abilities,
    pub(crate) leg: Leg,
    pub(crate) signals: Arc<Signals>,
    /// The client that has the connection to itself, if any.
    pub(crate) sole_client: Option<Arc<dyn Peer>>,
    /// The session at the server that another process has opened for this client.
    pub(crate) earlier: Option<ServerSession>,
    /// Whether this is only a trial: the process's output is not logged before [`Connection::adopt`].
    pub(crate) is_trial: bool,
}

/// Why there is no connection.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// The server works, but does not support the required protocol era.
    #[error("it does not support this protocol era")]
    NoSuchEra,
    /// Only a person can help, by a log-in.
    #[error("{0}")]
    LoginNeeded(LoginNeeded),
    /// Another process holds the client's connection. The server itself works.
    #[error("{0}")]
    HeldElsewhere(String),
    #[error("{0}")]
    Failed(String),
}

impl From<HandshakeError> for ConnectError {
    fn from(error: HandshakeError) -> Self {
        match error {
            HandshakeError::NoSuchEra => ConnectError::NoSuchEra,
            HandshakeError::LoginNeeded(needed) => ConnectError::LoginNeeded(needed),
            other => ConnectError::Failed(other.to_string()),
        }
    }
}

impl From<String> for ConnectError {
    fn from(reason: String) -> Self {
        ConnectError::Failed(reason)
    }
}

/// Why a connection over HTTP+SSE failed.
enum SseFailure {
    /// The server responded, but not as an HTTP+SSE server would. It no longer speaks this transport.
    OtherTransport(String),
    Failed(ConnectError),
}

impl Connector {
    pub(crate) fn new(name: &Arc<str>, server: &ServerConfig, environment: &Environment) -> Self {
        Connector {
            name: Arc::clone(name),
            server: server.clone(),
            environment: environment.clone(),
            last_words: LastWords::default(),
            processes: ServerProcesses::default(),
            log_in: LogIn::new(name, environment.credentials.of(name, server)),
            uses_sse: AtomicBool::new(false),
            era_flapping: Mutex::default(),
        }
    }

    /// Whether the newest process of the server is at work. Takes a few seconds, and at most as long as this.
    pub(crate) async fn is_at_work(&self, at_most: Duration) -> bool {
        match self.processes.running().last() {
            Some(newest) => is_at_work(newest.id, WINDOW.min(at_most)).await,
            None => false,
        }
    }

    /// What all servers share.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Starts the server's process, if it has one, before the first request is known, so that it can get ready meanwhile.
    pub(crate) async fn launch(
        &self,
        signals: &Arc<Signals>,
        slot: Option<&StartSlot>,
        is_trial: bool,
    ) -> Result<Option<Transport>, ConnectError> {
        let TransportConfig::Stdio { .. } = &self.server.transport else { return Ok(None) };
        self.check_variables()?;
        let launched = Transport::Stdio(self.start(signals, is_trial).await?);
        if let Some(slot) = slot {
            slot.started(launched.process_id());
        }
        Ok(Some(launched))
    }

    /// Fails if a value in the config entry is missing. Like a missing command, this affects only this server.
    fn check_variables(&self) -> Result<(), ConnectError> {
        self.server.missing_value().map_or(Ok(()), |problem| Err(problem.into()))
    }

    /// Opens a side connection. A process waits for a start slot.
    pub(crate) async fn connect_beside(&self, purpose: ConnectionPurpose) -> Result<Arc<Connection>, ConnectError> {
        if purpose.leg == Leg::Stateless && self.is_pinned_to_sessions() {
            return Err(ConnectError::NoSuchEra);
        }
        let slot = self.start_slot().await;
        let launched = self.launch(&purpose.signals, slot.as_ref(), purpose.is_trial).await?;
        self.connect(launched, &mut ServerMemory::default(), purpose).await
    }

    /// Waits for a slot among the processes that are starting. `None` if the server is not a process.
    pub(crate) async fn start_slot(&self) -> Option<StartSlot> {
        match &self.server.transport {
            TransportConfig::Stdio { .. } => Some(self.environment.start_slots.take().await),
            TransportConfig::Http { .. } | TransportConfig::OpenApi(_) => None,
        }
    }

    /// Makes a new connection, with the process that was launched or a new one. An attempt ends after `startTimeout`, twice
    /// as long after each attempt that did, but not while its process is at work.
    pub(crate) async fn connect(
        &self,
        launched: Option<Transport>,
        memory: &mut ServerMemory,
        purpose: ConnectionPurpose,
    ) -> Result<Arc<Connection>, ConnectError> {
        let limit = start_limit(self.server.start_timeout, memory.timeouts);
        let (began, process) = (Instant::now(), StartingProcess::default());
        let outcome = tokio::select! {
            biased;
            outcome = self.try_connect(launched, memory, purpose, &process) => Some(outcome),
            () = process.overdue(limit) => None,
        };
        if let Some(outcome) = outcome {
            if outcome.is_ok() {
                memory.timeouts = 0;
            }
            return outcome;
        }
        // A URL that does not answer does nothing that more time would help.
        if matches!(self.server.transport, TransportConfig::Stdio { .. }) {
            memory.timeouts += 1;
        }
        let seconds = began.elapsed().max(limit).as_secs_f32();
        Err(format!("it did not start within {} s (`startTimeout`)", (seconds * 10.0).floor() / 10.0).into())
    }

    async fn try_connect(
        &self,
        mut launched: Option<Transport>,
        memory: &mut ServerMemory,
        purpose: ConnectionPurpose,
        process: &StartingProcess,
    ) -> Result<Arc<Connection>, ConnectError> {
        self.check_variables()?;
        if let TransportConfig::Http { url, headers, sse } = &self.server.transport {
            return self.connect_http(url, headers, *sse, memory, purpose).await;
        }
        if let TransportConfig::OpenApi(api) = &self.server.transport {
            return self.connect_api(api, purpose).await;
        }
        let mut may_ask_again = memory.avoid.is_none();
        loop {
            let transport = match launched.take() {
                Some(transport) => transport,
                None => Transport::Stdio(self.start(&purpose.signals, purpose.is_trial).await?),
            };
            process.set(transport.process_id());
            self.reserve(&transport, &purpose);
            match self.negotiate(&transport, &purpose, memory).await {
                Ok(negotiation) => return Ok(self.connection(transport, negotiation, purpose)),
                // A process that exits without having read the request would exit in the other era as well.
                Err(HandshakeError::DiedOf(era, _)) if may_ask_again && transport.has_read_input() => {
                    transport.stop().await;
                    (memory.avoid, may_ask_again) = (Some(era), false);
                }
                Err(error) => {
                    transport.stop().await;
                    memory.avoid = None;
                    return Err(error.into());
                }
            }
        }
    }

    fn is_pinned_to_sessions(&self) -> bool {
        matches!(&self.server.protocol, ProtocolChoice::Pinned(version)
            if Revision::parse(version).is_some_and(|revision| !revision.is_stateless()))
    }

    pub(super) fn connection(
        &self,
        transport: Transport,
        negotiation: Negotiation,
        purpose: ConnectionPurpose,
    ) -> Arc<Connection> {
        let max_list_bytes = usize::try_from(self.server.max_list_bytes).unwrap_or(usize::MAX);
        Arc::new(Connection::new(&self.name, transport, negotiation, purpose.signals, max_list_bytes))
    }

    /// Reserves a transport for the sole client of the connection. Done before the handshake, because the server may send
    /// requests as soon as the handshake is complete.
    fn reserve(&self, transport: &Transport, purpose: &ConnectionPurpose) {
        if let Some(client) = &purpose.sole_client {
            transport.set_sole_client(self.environment.question_gate.guarded(&self.name, client));
        }
    }

    async fn start(&self, signals: &Arc<Signals>, is_trial: bool) -> Result<StdioTransport, String> {
        let TransportConfig::Stdio { command, args, env, cwd } = &self.server.transport else {
            return Err("no `command` is configured".to_owned());
        };
        let mut variables = base_environment(self.environment.variables.iter().cloned(), |name| {
            self.server.inherit_env.iter().any(|pattern| pattern.matches(name))
        });
        variables.extend(env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
        let program = match command.as_str() {
            "proxy" => self.environment.executable.clone(),
            _ if env.contains_key("PATH") || command.contains('/') => PathBuf::from(command),
            _ => found_command(&self.name, command, &self.environment.variables, &mut variables).await?,
        };
        let launch =
            Launch { program, args: args.clone(), environment: variables, folder: cwd.clone(), terminal: true };
        let stderr_log = match is_trial {
            true => StderrLog::held(&self.name),
            false => {
                self.last_words.forget();
                StderrLog::new(&self.name, &self.last_words)
            }
        };
        if let Err(error) = watchdog::start(&self.environment.executable) {
            tracing::warn!(%error, "the watchdog did not start: servers may keep running if the proxy is killed");
        }
        let started =
            StdioTransport::start(&self.name, &launch, self.max_message_bytes(), Arc::clone(signals), stderr_log)
                .map_err(|error| cannot_start(&self.name, command, cwd.as_deref(), &error))?;
        let (process, stopped) = started.process();
        self.processes.note(process, stopped);
        Ok(started)
    }

    pub(super) fn max_message_bytes(&self) -> usize {
        usize::try_from(self.server.max_message_bytes).unwrap_or(usize::MAX)
    }

    async fn negotiate(
        &self,
        transport: &Transport,
        purpose: &ConnectionPurpose,
        memory: &mut ServerMemory,
    ) -> Result<Negotiation, HandshakeError> {
        let attribution = &self.environment.attribution;
        handshake::negotiate(transport, &self.server, attribution, purpose.declared, purpose.leg, memory).await
    }

    /// Connects to a URL. Tries the transport the server is known to speak, otherwise Streamable HTTP first.
    async fn connect_http(
        &self,
        url: &str,
        headers: &IndexMap<String, Secret>,
        sse: bool,
        memory: &mut ServerMemory,
        mut purpose: ConnectionPurpose,
    ) -> Result<Arc<Connection>, ConnectError> {
        let client = self.http_client(url, headers).map_err(|error| ConnectError::Failed(error.to_string()))?;
        if let Some(connection) = self.go_on(&client, url, &mut purpose).await? {
            return Ok(connection);
        }
        let is_sse = sse || self.uses_sse.load(Ordering::Relaxed);
        if is_sse && purpose.leg == Leg::Stateless {
            return Err(ConnectError::NoSuchEra);
        }
        if is_sse {
            match self.connect_sse(&client, &purpose).await {
                Ok((transport, negotiation)) => return Ok(self.connection(transport, negotiation, purpose)),
                Err(SseFailure::Failed(error)) => return Err(error),
                Err(SseFailure::OtherTransport(reason)) if sse => {
                    return Err(format!("{reason} (remove `type: sse` to detect the transport)").into());
                }
                Err(SseFailure::OtherTransport(_)) => self.uses_sse.store(false, Ordering::Relaxed),
            }
        }
        memory.prefer_older = self.era_flapping().prefers_older();
        let transport = Transport::Http(HttpTransport::new(&self.name, client.clone(), Arc::clone(&purpose.signals)));
        self.reserve(&transport, &purpose);
        match self.negotiate(&transport, &purpose, memory).await {
            Ok(negotiation) => {
                if matches!(purpose.leg, Leg::Either(_)) {
                    self.record_era(negotiation.revision);
                }
                Ok(self.connection(transport, negotiation, purpose))
            }
            Err(HandshakeError::PostRefused(reason)) => match self.connect_sse(&client, &purpose).await {
                Ok((transport, negotiation)) => {
                    self.uses_sse.store(true, Ordering::Relaxed);
                    Ok(self.connection(transport, negotiation, purpose))
                }
                Err(SseFailure::OtherTransport(second) | SseFailure::Failed(ConnectError::Failed(second))) => {
                    Err(format!("{reason} (over HTTP+SSE: {second}){}", path_hint(url, &reason)).into())
                }
                Err(SseFailure::Failed(error)) => Err(error),
            },
            Err(error) => {
                transport.stop().await;
                Err(error.into())
            }
        }
    }

    fn http_client(&self, url: &str, headers: &IndexMap<String, Secret>) -> Result<ServerClient, HttpError> {
        let client = HttpClient::new(&self.environment.pool, url, headers, self.max_message_bytes())?;
        let client = client.with_header(hops::PROXY_VIA.clone(), hops::own_hop());
        Ok(ServerClient::new(client, &self.log_in))
    }

    /// Goes on with the session that another process has opened for the client. `None` if a new one begins.
    async fn go_on(
        &self,
        client: &ServerClient,
        url: &str,
        purpose: &mut ConnectionPurpose,
    ) -> Result<Option<Arc<Connection>>, ConnectError> {
        let Some(session) = purpose.earlier.take() else { return Ok(None) };
        let Some(revision) = continued::revision_of(&session, &self.server, url) else { return Ok(None) };
        let transport = HttpTransport::new(&self.name, client.clone(), Arc::clone(&purpose.signals));
        let transport = Transport::Http(transport);
        self.reserve(&transport, purpose);
        let attribution = &self.environment.attribution;
        let declared = purpose.declared;
        let outcome = continued::go_on(&transport, &self.server, attribution, declared, &session, revision).await;
        let Some(negotiation) = outcome.map_err(HandshakeError::from)? else {
            tracing::debug!(server = %self.name, "the session of a client has ended: a new one begins");
            return Ok(None);
        };
        tracing::debug!(server = %self.name, "goes on with the session of a client");
        let max_list_bytes = usize::try_from(self.server.max_list_bytes).unwrap_or(usize::MAX);
        let signals = Arc::clone(&purpose.signals);
        Ok(Some(Arc::new(Connection::new(&self.name, transport, negotiation, signals, max_list_bytes))))
    }

    /// What another process needs to go on with the session of a connection; `None` if it has none.
    pub(crate) fn session_of(&self, connection: &Connection) -> Option<ServerSession> {
        let TransportConfig::Http { url, .. } = &self.server.transport else { return None };
        connection.session_at(url)
    }

    /// Ends a session that no process goes on with.
    pub(crate) async fn end_session(&self, session: &ServerSession) {
        let TransportConfig::Http { url, headers, .. } = &self.server.transport else { return };
        let (Some(revision), Ok(client)) =
            (continued::revision_of(session, &self.server, url), self.http_client(url, headers))
        else {
            return;
        };
        let transport = HttpTransport::new(&self.name, client, Arc::default());
        if let Ok(id) = HeaderValue::from_str(&session.id.0) {
            transport.go_on(revision, id);
            transport.stop().await;
        }
    }

    async fn connect_sse(
        &self,
        client: &ServerClient,
        purpose: &ConnectionPurpose,
    ) -> Result<(Transport, Negotiation), SseFailure> {
        let signals = Arc::clone(&purpose.signals);
        let opened =
            SseTransport::open(&self.name, client, self.max_message_bytes(), signals, self.server.probe_timeout).await;
        let transport = opened.map(Transport::Sse).map_err(|error| match error {
            TransportError::Unexpected(answer) if !handshake::is_inconclusive(answer.status) => {
                SseFailure::OtherTransport(answer.to_string())
            }
            TransportError::Protocol(reason) => SseFailure::OtherTransport(reason),
            error => SseFailure::Failed(HandshakeError::from(error).into()),
        })?;
        self.reserve(&transport, purpose);
        match handshake::negotiate_sse(&transport, &self.server, &self.environment.attribution, purpose.declared).await
        {
            Ok(negotiation) => Ok((transport, negotiation)),
            Err(error) => {
                transport.stop().await;
                Err(SseFailure::Failed(error.into()))
            }
        }
    }

    fn era_flapping(&self) -> parking_lot::MutexGuard<'_, EraFlapping> {
        self.era_flapping.lock()
    }

    /// Warns once if servers of different eras answer at this URL in turn.
    fn record_era(&self, revision: Revision) {
        if self.era_flapping().record(revision.is_stateless(), Instant::now()) {
            tracing::warn!(
                server = %self.name,
                "changed its protocol era twice within a minute: trying `initialize` first from now on; set `protocol` to pin the version"
            );
        }
    }
}

/// A hint for a URL that returns 404. The proxy does not try other paths by itself: they may belong to other services.
fn path_hint(url: &str, reason: &str) -> &'static str {
    let path = url::Url::parse(url).map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    match reason.contains("404") && !path.ends_with("/mcp") {
        true => "; check the path in `url`: most servers listen on `/mcp`",
        false => "",
    }
}

/// The time limit of a start attempt after this many attempts that timed out.
fn start_limit(start_timeout: Duration, timeouts: u32) -> Duration {
    start_timeout.saturating_mul(1 << timeouts.min(16)).min(MAX_START.max(start_timeout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_more_time_after_each_attempt_that_took_too_long() {
        let limit = |seconds, timeouts| start_limit(Duration::from_secs(seconds), timeouts).as_secs();
        assert_eq!([0, 1, 2, 4, 5, 1000].map(|timeouts| limit(30, timeouts)), [30, 60, 120, 300, 300, 300]);
        assert_eq!(limit(3600, 3), 3600, "the config asks for more");
    }
}
