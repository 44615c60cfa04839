//! The servers and items that the command line names.

use super::AskedServer;
use crate::cli::failure::CommandFailure;
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_config::Config;
use proxy_model::lock::ServerReview;

/// The servers and items to compare; all of them if none is named.
pub(super) struct Selection(Vec<Target>);

struct Target {
    server: String,
    /// The name of a tool or prompt, or the URI of a resource or template; `None` for the whole server.
    key: Option<String>,
    /// What the item must be to be approved.
    digest: Option<String>,
}

impl Selection {
    /// Reads `SERVER`, `SERVER/TOOL` and `SERVER/TOOL@sha256:DIGEST`.
    pub(super) fn parse(targets: &[String], config: &Config) -> Result<Self, CommandFailure> {
        let parsed = targets.iter().map(|target| {
            let (server, key) = match target.split_once('/') {
                Some((server, key)) => (server, Some(key)),
                None => (target.as_str(), None),
            };
            let (key, digest) = match key.and_then(|key| key.rsplit_once("@sha256:")) {
                Some((key, digest)) => (Some(key), Some(digest.to_owned())),
                None => (key, None),
            };
            match config.servers.get(server) {
                Some(known) if known.disabled => {
                    Err(CommandFailure::usage(format!("server `{server}` is disabled in the config")))
                }
                Some(_) => Ok(Target { server: server.to_owned(), key: key.map(str::to_owned), digest }),
                None => Err(unknown(server, config)),
            }
        });
        parsed.collect::<Result<_, _>>().map(Selection)
    }

    pub(super) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has_server(&self, server: &str) -> bool {
        self.is_all() || self.0.iter().any(|target| target.server == server)
    }

    /// Whether a server is selected with everything that it lists and says.
    pub(super) fn has_whole(&self, server: &str) -> bool {
        self.is_all() || self.0.iter().any(|target| target.server == server && target.key.is_none())
    }

    pub(super) fn has_item(&self, server: &str, key: &str) -> bool {
        let is_named = |target: &Target| target.server == server && target.key.as_deref() == Some(key);
        self.has_whole(server) || self.0.iter().any(is_named)
    }

    /// The part of a review that is selected.
    pub(super) fn narrowed(&self, server: &str, mut review: ServerReview) -> ServerReview {
        if !self.has_whole(server) {
            review.infos.clear();
            review.items.retain(|item| self.has_item(server, &item.key));
        }
        review
    }

    /// Fails if a named item is not listed, or has another digest than the one that was reviewed.
    pub(super) fn check_digests(&self, asked: &[AskedServer]) -> Result<(), CommandFailure> {
        for target in &self.0 {
            let Some(key) = &target.key else { continue };
            let answer = asked.iter().find(|server| server.name == target.server).map(|server| &server.answer);
            let Some(Ok(answer)) = answer else { continue };
            let items: Vec<_> = answer.review.items.iter().filter(|item| item.key == *key).collect();
            let name = format!("{}/{key}", target.server);
            if items.is_empty() {
                let problem = Diagnostic::error(format!("`{name}` is neither listed nor in the lock"));
                return Err(CommandFailure::failed(problem));
            }
            let Some(digest) = &target.digest else { continue };
            if let Some(other) = items.iter().find(|item| item.digest.as_ref() != Some(digest)) {
                let now = match &other.digest {
                    Some(now) => format!("its digest is `sha256:{now}` now"),
                    None => "the server does not list it now".to_owned(),
                };
                let problem = Diagnostic::error(format!("`{name}` is not what was reviewed: {now}"));
                return Err(CommandFailure::failed(problem.hint("review the difference above, and name its digest")));
            }
        }
        Ok(())
    }
}

fn unknown(server: &str, config: &Config) -> CommandFailure {
    let names = config.servers.keys().map(String::as_str);
    match nearest(server, names) {
        Some(near) => {
            CommandFailure::usage_with_hint(format!("unknown server `{server}`"), &format!("did you mean `{near}`?"))
        }
        None => CommandFailure::usage_with_hint(
            format!("unknown server `{server}`"),
            "`proxy list-servers` shows the servers of the config",
        ),
    }
}
