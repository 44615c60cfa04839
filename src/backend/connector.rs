//! Making a connection to a server: start it or find it, and settle how to speak.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use super::connection::Connection;
use super::handshake::{self, HandshakeError, Memory};
use super::http_link::HttpLink;
use super::link::Link;
use super::nested::Terms;
use super::signals::Signals;
use super::stdio_link::{LastWords, StdioLink};
use super::supervisor::Environment;
use crate::config::{Server, Transport};
use crate::model::Abilities;
use crate::process::{Launch, base_environment};
use crate::wire::http::HttpClient;

#[derive(Debug)]
pub(super) struct Connector {
    pub(super) name: Arc<str>,
    pub(super) server: Server,
    pub(super) environment: Environment,
    pub(super) last_words: LastWords,
}

impl Connector {
    /// A new connection, on which the server is told that its clients have these abilities.
    pub(super) async fn connect(
        &self,
        memory: &mut Memory,
        declared: Abilities,
        signals: Arc<Signals>,
    ) -> Result<Arc<Connection>, String> {
        let limit = self.server.start_timeout;
        match tokio::time::timeout(limit, self.try_connect(memory, declared, signals)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("it did not start within {} s (`startTimeout`)", limit.as_secs_f32())),
        }
    }

    async fn try_connect(
        &self,
        memory: &mut Memory,
        declared: Abilities,
        signals: Arc<Signals>,
    ) -> Result<Arc<Connection>, String> {
        loop {
            let link = self.link(&signals)?;
            match handshake::settle(&link, &self.server, declared, memory).await {
                Ok(settled) => {
                    link.agree_terms(Terms { declared, patience: self.server.input_timeout });
                    return Ok(Arc::new(Connection::new(&self.name, link, settled, signals, declared)));
                }
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

    fn link(&self, signals: &Arc<Signals>) -> Result<Link, String> {
        let cap = usize::try_from(self.server.max_message_bytes).unwrap_or(usize::MAX);
        match &self.server.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let mut variables = base_environment(self.environment.variables.iter().cloned());
                variables.extend(env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
                let program =
                    if command == "proxy" { self.environment.executable.clone() } else { PathBuf::from(command) };
                let launch = Launch { program, args: args.clone(), environment: variables, folder: cwd.clone() };
                self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clear();
                StdioLink::start(&self.name, &launch, cap, Arc::clone(signals), Arc::clone(&self.last_words))
                    .map(Link::Stdio)
                    .map_err(|error| cannot_start(&self.name, command, cwd.as_deref(), &error))
            }
            Transport::Http { url, headers } => HttpClient::new(&self.environment.pool, url, headers, cap)
                .map(|client| Link::Http(HttpLink::new(&self.name, client, Arc::clone(signals))))
                .map_err(|error| error.to_string()),
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
