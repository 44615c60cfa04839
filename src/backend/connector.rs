//! Makes connections to one server, with what earlier ones taught.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use indexmap::IndexMap;

use super::connection::Connection;
use super::handshake::{self, HandshakeError, Memory, Settled};
use super::http_link::HttpLink;
use super::link::{Link, LinkError};
use super::signals::Signals;
use super::sse_link::SseLink;
use super::stdio_link::{LastWords, StdioLink};
use super::supervisor::Environment;
use crate::config::{ProtocolChoice, Server, Transport};
use crate::model::Secret;
use crate::process::{Launch, base_environment};
use crate::wire::Revision;
use crate::wire::http::HttpClient;

pub(super) struct Connector {
    name: Arc<str>,
    server: Server,
    environment: Environment,
    memory: Memory,
    last_words: LastWords,
}

/// Why the older transport does not work either.
struct Failed {
    reason: String,
    /// The server answered, and not as that transport would: what was remembered of it is wrong.
    is_verdict: bool,
}

impl Connector {
    pub(super) fn new(name: &Arc<str>, server: &Server, environment: &Environment) -> Self {
        Connector {
            name: Arc::clone(name),
            server: server.clone(),
            environment: environment.clone(),
            memory: Memory::default(),
            last_words: LastWords::default(),
        }
    }

    /// What the process last wrote to its standard error.
    pub(super) fn last_words(&self) -> String {
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn connect(&mut self) -> Result<Arc<Connection>, String> {
        let limit = self.server.start_timeout;
        match tokio::time::timeout(limit, self.try_connect()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("it did not start within {} s (`startTimeout`)", limit.as_secs_f32())),
        }
    }

    async fn try_connect(&mut self) -> Result<Arc<Connection>, String> {
        if let Transport::Http { url, headers, sse } = self.server.transport.clone() {
            return self.reach(&url, &headers, sse).await;
        }
        loop {
            let signals = Arc::new(Signals::default());
            let link = Link::Stdio(self.start(&signals)?);
            match self.settle(&link).await {
                Ok(settled) => return Ok(self.connection(link, settled, signals)),
                Err(HandshakeError::DiedOfProbe) if !self.memory.skip_probe => {
                    link.stop().await;
                    self.memory.skip_probe = true;
                }
                Err(error) => {
                    link.stop().await;
                    return Err(error.to_string());
                }
            }
        }
    }

    async fn settle(&mut self, link: &Link) -> Result<Settled, HandshakeError> {
        handshake::settle(link, &self.server.protocol, self.server.probe_timeout, &mut self.memory).await
    }

    fn connection(&self, link: Link, settled: Settled, signals: Arc<Signals>) -> Arc<Connection> {
        Arc::new(Connection::new(&self.name, link, settled.revision, settled.info, signals))
    }

    fn start(&self, signals: &Arc<Signals>) -> Result<StdioLink, String> {
        let Transport::Stdio { command, args, env, cwd } = &self.server.transport else {
            return Err("it has no command".to_owned());
        };
        let mut variables = base_environment(self.environment.variables.iter().cloned());
        variables.extend(env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
        let program = if command == "proxy" { self.environment.executable.clone() } else { PathBuf::from(command) };
        let launch = Launch { program, args: args.clone(), environment: variables, folder: cwd.clone() };
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clear();
        StdioLink::start(&self.name, &launch, self.cap(), Arc::clone(signals), Arc::clone(&self.last_words))
            .map_err(|error| cannot_start(&self.name, command, cwd.as_deref(), &error))
    }

    fn cap(&self) -> usize {
        usize::try_from(self.server.max_message_bytes).unwrap_or(usize::MAX)
    }

    /// A server behind an address: by the transport it is known to speak, else the newer one first.
    async fn reach(
        &mut self,
        url: &str,
        headers: &IndexMap<String, Secret>,
        sse: bool,
    ) -> Result<Arc<Connection>, String> {
        let client = HttpClient::new(&self.environment.pool, url, headers, self.cap()).map_err(|e| e.to_string())?;
        if sse {
            let hint = |failed: Failed| {
                let hint = if failed.is_verdict { " (without `type: sse` the transport is found out)" } else { "" };
                failed.reason + hint
            };
            return self.reach_by_sse(&client).await.map_err(hint);
        }
        if self.memory.older_transport {
            match self.reach_by_sse(&client).await {
                Err(failed) if failed.is_verdict => self.memory.older_transport = false,
                outcome => return outcome.map_err(|failed| failed.reason),
            }
        }
        let signals = Arc::new(Signals::default());
        let link = Link::Http(HttpLink::new(&self.name, client.clone(), Arc::clone(&signals)));
        match self.settle(&link).await {
            Ok(settled) => {
                self.note_era(settled.revision);
                Ok(self.connection(link, settled, signals))
            }
            Err(HandshakeError::NothingToPostTo(reason)) => match self.reach_by_sse(&client).await {
                Ok(connection) => {
                    self.memory.older_transport = true;
                    Ok(connection)
                }
                Err(failed) => Err(format!("{reason} (and as HTTP+SSE: {})", failed.reason)),
            },
            Err(error) => {
                link.stop().await;
                Err(error.to_string())
            }
        }
    }

    async fn reach_by_sse(&self, client: &HttpClient) -> Result<Arc<Connection>, Failed> {
        let signals = Arc::new(Signals::default());
        let opened =
            SseLink::open(&self.name, client, self.cap(), Arc::clone(&signals), self.server.probe_timeout).await;
        let link = opened.map(Link::Sse).map_err(|error| Failed {
            is_verdict: match &error {
                LinkError::Unexpected(answer) => !handshake::says_nothing(answer.status),
                LinkError::Protocol(_) => true,
                _ => false,
            },
            reason: error.to_string(),
        })?;
        let version = match &self.server.protocol {
            ProtocolChoice::Pinned(version) => Revision::parse(version).unwrap_or(Revision::LATEST_SESSION),
            ProtocolChoice::Auto => Revision::LATEST_SESSION,
        };
        match handshake::initialize(&link, version).await {
            Ok(settled) => Ok(self.connection(link, settled, signals)),
            Err(error) => {
                link.stop().await;
                Err(Failed { reason: error.to_string(), is_verdict: false })
            }
        }
    }

    /// Two servers of different eras may stand behind one address and answer in turns.
    fn note_era(&mut self, revision: Revision) {
        if self.memory.flips.note(revision.is_stateless(), Instant::now()) {
            tracing::warn!(
                server = %self.name,
                "changed its protocol era twice within a minute: `initialize` is tried first from now on; set `protocol` to settle it"
            );
        }
    }
}

/// Clients see this, so it names no paths; the log does.
fn cannot_start(server: &str, command: &str, folder: Option<&Path>, error: &std::io::Error) -> String {
    tracing::warn!(server, command, folder = ?folder, %error, "cannot be started");
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return "its folder (`cwd`) does not exist".to_owned();
    }
    let command = Path::new(command).file_name().unwrap_or_default().display();
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("the command `{command}` was not found"),
        std::io::ErrorKind::PermissionDenied => format!("the command `{command}` may not be executed"),
        _ => format!("the command `{command}` cannot be started: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_are_told_names_no_paths() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        let told = |command, folder| cannot_start("fake", command, folder, &error);
        assert_eq!(told("/home/me/bin/tool", None), "the command `tool` was not found");
        assert_eq!(told("tool", Some(Path::new("/no/such/folder"))), "its folder (`cwd`) does not exist");
    }
}
