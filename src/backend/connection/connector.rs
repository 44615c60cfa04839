//! Making a connection to a server: start it or find it, and settle how to speak.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use indexmap::IndexMap;

use super::era_flapping::EraFlapping;
use super::established::Connection;
use super::handshake;
use super::handshake::{Declared, HandshakeError, Memory, Settled};
use crate::backend::call::peer::Peer;
use crate::backend::supervision::supervisor::Environment;
use crate::backend::transport::any_transport::{Transport, TransportError};
use crate::backend::transport::http::exchange::HttpTransport;
use crate::backend::transport::signals::Signals;
use crate::backend::transport::sse::SseTransport;
use crate::backend::transport::stdio::{LastWords, StdioTransport};
use crate::config::{ServerConfig, TransportConfig};
use crate::model::Secret;
use crate::process::{Launch, base_environment};
use crate::wire::Revision;
use crate::wire::http::HttpClient;

#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) name: Arc<str>,
    pub(crate) server: ServerConfig,
    pub(crate) environment: Environment,
    pub(crate) last_words: LastWords,
    /// It was found to speak HTTP+SSE.
    older_transport: AtomicBool,
    flips: Mutex<EraFlapping>,
}

/// What a new connection is for.
pub(crate) struct Purpose {
    /// What the server is told of its clients.
    pub(crate) declared: Declared,
    pub(crate) signals: Arc<Signals>,
    /// The client whose own it is, if it is one client's.
    pub(crate) client: Option<Arc<dyn Peer>>,
}

/// Why the older transport does not work either.
struct Failed {
    reason: String,
    /// The server answered, and not as that transport would: what was remembered of it is wrong.
    is_verdict: bool,
}

impl Connector {
    pub(crate) fn new(name: &Arc<str>, server: &ServerConfig, environment: &Environment) -> Self {
        Connector {
            name: Arc::clone(name),
            server: server.clone(),
            environment: environment.clone(),
            last_words: LastWords::default(),
            older_transport: AtomicBool::new(false),
            flips: Mutex::default(),
        }
    }

    /// A new connection.
    pub(crate) async fn connect(&self, memory: &mut Memory, purpose: Purpose) -> Result<Arc<Connection>, String> {
        let limit = self.server.start_timeout;
        match tokio::time::timeout(limit, self.try_connect(memory, purpose)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("it did not start within {} s (`startTimeout`)", limit.as_secs_f32())),
        }
    }

    async fn try_connect(&self, memory: &mut Memory, purpose: Purpose) -> Result<Arc<Connection>, String> {
        if let TransportConfig::Http { url, headers, sse } = &self.server.transport {
            return self.reach(url, headers, *sse, memory, purpose).await;
        }
        loop {
            let link = Transport::Stdio(self.start(&purpose.signals)?);
            Self::agree(&link, &purpose);
            match handshake::settle(&link, &self.server, &purpose.declared, memory).await {
                Ok(settled) => return Ok(self.connection(link, settled, purpose)),
                Err(HandshakeError::DiedOfProbe) if !memory.skip_probe => {
                    link.stop().await;
                    memory.skip_probe = true;
                }
                Err(error) => {
                    link.stop().await;
                    return Err(error.to_string());
                }
            }
        }
    }

    fn connection(&self, link: Transport, settled: Settled, purpose: Purpose) -> Arc<Connection> {
        Arc::new(Connection::new(&self.name, link, settled, purpose.signals))
    }

    /// Of whom something may be asked while no call runs: settled before the handshake, because a server may ask as soon
    /// as that is over.
    fn agree(link: &Transport, purpose: &Purpose) {
        if let Some(client) = &purpose.client {
            link.belongs_to(client);
        }
    }

    fn start(&self, signals: &Arc<Signals>) -> Result<StdioTransport, String> {
        let TransportConfig::Stdio { command, args, env, cwd } = &self.server.transport else {
            return Err("it has no command".to_owned());
        };
        let mut variables = base_environment(self.environment.variables.iter().cloned());
        variables.extend(env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
        let program = if command == "proxy" { self.environment.executable.clone() } else { PathBuf::from(command) };
        let launch = Launch { program, args: args.clone(), environment: variables, folder: cwd.clone() };
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clear();
        StdioTransport::start(&self.name, &launch, self.cap(), Arc::clone(signals), Arc::clone(&self.last_words))
            .map_err(|error| cannot_start(&self.name, command, cwd.as_deref(), &error))
    }

    fn cap(&self) -> usize {
        usize::try_from(self.server.max_message_bytes).unwrap_or(usize::MAX)
    }

    /// A server behind an address: by the transport it is known to speak, else the newer one first.
    async fn reach(
        &self,
        url: &str,
        headers: &IndexMap<String, Secret>,
        sse: bool,
        memory: &mut Memory,
        purpose: Purpose,
    ) -> Result<Arc<Connection>, String> {
        let client =
            HttpClient::new(&self.environment.pool, url, headers, self.cap()).map_err(|error| error.to_string())?;
        if sse || self.older_transport.load(Ordering::Relaxed) {
            match self.reach_by_sse(&client, &purpose).await {
                Ok((link, settled)) => return Ok(self.connection(link, settled, purpose)),
                Err(failed) if !failed.is_verdict => return Err(failed.reason),
                Err(failed) if sse => {
                    return Err(format!("{} (without `type: sse` the transport is found out)", failed.reason));
                }
                Err(_) => self.older_transport.store(false, Ordering::Relaxed),
            }
        }
        memory.prefer_older = self.flips().prefers_older();
        let link = Transport::Http(HttpTransport::new(&self.name, client.clone(), Arc::clone(&purpose.signals)));
        Self::agree(&link, &purpose);
        match handshake::settle(&link, &self.server, &purpose.declared, memory).await {
            Ok(settled) => {
                self.note_era(settled.revision);
                Ok(self.connection(link, settled, purpose))
            }
            Err(HandshakeError::NothingToPostTo(reason)) => match self.reach_by_sse(&client, &purpose).await {
                Ok((link, settled)) => {
                    self.older_transport.store(true, Ordering::Relaxed);
                    Ok(self.connection(link, settled, purpose))
                }
                Err(failed) => Err(format!("{reason} (and as HTTP+SSE: {})", failed.reason)),
            },
            Err(error) => {
                link.stop().await;
                Err(error.to_string())
            }
        }
    }

    async fn reach_by_sse(&self, client: &HttpClient, purpose: &Purpose) -> Result<(Transport, Settled), Failed> {
        let signals = Arc::clone(&purpose.signals);
        let opened = SseTransport::open(&self.name, client, self.cap(), signals, self.server.probe_timeout).await;
        let link = opened.map(Transport::Sse).map_err(|error| Failed {
            is_verdict: match &error {
                TransportError::Unexpected(answer) => !handshake::says_nothing(answer.status),
                TransportError::Protocol(_) => true,
                _ => false,
            },
            reason: error.to_string(),
        })?;
        Self::agree(&link, purpose);
        match handshake::settle_older(&link, &self.server, &purpose.declared).await {
            Ok(settled) => Ok((link, settled)),
            Err(error) => {
                link.stop().await;
                Err(Failed { reason: error.to_string(), is_verdict: false })
            }
        }
    }

    fn flips(&self) -> std::sync::MutexGuard<'_, EraFlapping> {
        self.flips.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Two servers of different eras may stand behind one address and answer in turns.
    fn note_era(&self, revision: Revision) {
        if self.flips().note(revision.is_stateless(), Instant::now()) {
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
