//! The credentials of a server to which the proxy logs in as itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;

use arc_swap::ArcSwapOption;
use futures::future::{BoxFuture, FutureExt};
use http::HeaderValue;
use parking_lot::Mutex;
use url::Url;

use super::token::{FetchedToken, NoToken, TokenRequest};
use super::{client_credentials, enterprise};
use crate::oauth::discovery::{Challenge, Discovered, Discovery};
use crate::oauth::failures::TokenFailures;
use crate::oauth::scopes;
use crate::oauth::subject::{self, reach};
use proxy_base::watch::{WatchedPaths, Watcher};
use proxy_config::{ClientCredentialsConfig, ClientProof, EnterpriseConfig, IdToken, OAuthEndpoints, ResourceChoice};
use proxy_model::{AuthorizationRefusal, Credentials, LoginNeeded, Remedy};
use proxy_wire::http::Fetcher;

/// How a token is fetched.
#[derive(Debug)]
enum Means {
    ClientCredentials(ClientCredentialsConfig),
    Enterprise(EnterpriseConfig),
}

#[derive(Debug)]
pub(crate) struct MachineCredentials {
    server: String,
    url: String,
    parsed: Url,
    means: Means,
    fetcher: Arc<Fetcher>,
    token: ArcSwapOption<FetchedToken>,
    /// Held while a token is fetched: one at a time.
    demands: tokio::sync::Mutex<ServerDemands>,
    failures: Mutex<TokenFailures>,
    /// The token that has replaced a refused one.
    replacement: Mutex<Option<HeaderValue>>,
}

/// What was found out about the authorization server.
#[derive(Debug, Default)]
struct ServerDemands {
    discovered: Option<Discovered>,
    /// What the server has asked for.
    wanted: Vec<String>,
}

impl MachineCredentials {
    pub(crate) fn of_client(
        server: &str,
        url: &str,
        config: &ClientCredentialsConfig,
        fetcher: &Arc<Fetcher>,
    ) -> Option<Self> {
        Self::new(server, url, Means::ClientCredentials(config.clone()), fetcher)
    }

    pub(crate) fn of_enterprise(
        server: &str,
        url: &str,
        config: &EnterpriseConfig,
        fetcher: &Arc<Fetcher>,
    ) -> Option<Self> {
        Self::new(server, url, Means::Enterprise(config.clone()), fetcher)
    }

    fn new(server: &str, url: &str, means: Means, fetcher: &Arc<Fetcher>) -> Option<Self> {
        Some(MachineCredentials {
            server: server.to_owned(),
            url: url.to_owned(),
            parsed: Url::parse(url).ok()?,
            means,
            fetcher: Arc::clone(fetcher),
            token: ArcSwapOption::empty(),
            demands: tokio::sync::Mutex::default(),
            failures: Mutex::default(),
            replacement: Mutex::default(),
        })
    }

    fn settings(&self) -> (Option<&str>, &[String], &ResourceChoice) {
        match &self.means {
            Means::ClientCredentials(config) => (config.issuer.as_deref(), &config.scopes, &config.resource),
            Means::Enterprise(config) => (config.issuer.as_deref(), &config.scopes, &config.resource),
        }
    }

    fn endpoints(&self) -> Option<&OAuthEndpoints> {
        match &self.means {
            Means::ClientCredentials(config) => config.endpoints.as_ref(),
            Means::Enterprise(_) => None,
        }
    }

    /// Fetches a token that is not `shown`, which was refused with this challenge.
    async fn fetch(&self, shown: Option<&HeaderValue>, challenge: Option<&Challenge>) -> Result<(), NoToken> {
        let mut demands = self.demands.lock().await;
        if self.token.load().as_ref().is_some_and(|token| token.is_fresh() && Some(&token.header) != shown) {
            return Ok(());
        }
        if let Some(error) = self.failures.lock().standing().filter(|_| challenge.is_none()) {
            return Err(NoToken::Later(error));
        }
        if let Some(challenge) = challenge {
            // It may name another authorization server by now.
            *demands = ServerDemands { discovered: None, wanted: challenge.scopes.clone() };
        }
        let fetched = self.granted(&mut demands, challenge).await;
        match &fetched {
            Ok(token) => {
                self.failures.lock().clear();
                self.token.store(Some(Arc::clone(token)));
            }
            Err(NoToken::Refused(error) | NoToken::Unknown(error) | NoToken::Later(error)) => {
                self.failures.lock().add(error.clone());
            }
        }
        fetched.map(|_| ())
    }

    async fn granted(
        &self,
        demands: &mut ServerDemands,
        challenge: Option<&Challenge>,
    ) -> Result<Arc<FetchedToken>, NoToken> {
        let (issuer, configured, resource) = self.settings();
        let reach = reach(&self.parsed, issuer).await;
        let discovered = match &demands.discovered {
            Some(discovered) => discovered.clone(),
            None => {
                let endpoints = self.endpoints();
                let discovery = Discovery { fetcher: &self.fetcher, reach, server: &self.parsed, issuer, endpoints };
                let discovered = discovery.run(challenge).await?;
                demands.discovered.insert(discovered).clone()
            }
        };
        let chosen = [configured, &demands.wanted, &discovered.scopes];
        let request = TokenRequest {
            fetcher: &self.fetcher,
            server_url: &self.url,
            resource: subject::resource(resource, discovered.resource.as_deref(), &self.url),
            scopes: chosen.into_iter().find(|scopes| !scopes.is_empty()).map(<[_]>::to_vec).unwrap_or_default(),
            discovered: &discovered,
            reach,
        };
        let grant = match &self.means {
            Means::ClientCredentials(config) => client_credentials::fetch(config, request).await?,
            Means::Enterprise(config) => enterprise::fetch(config, request).await?,
        };
        let unusable =
            || NoToken::Refused("the authorization server issued a token that cannot be sent in a header".to_owned());
        FetchedToken::new(&grant).map(Arc::new).ok_or_else(unusable)
    }

    async fn prepared(&self) -> Result<Option<HeaderValue>, LoginNeeded> {
        match self.fetch(None, None).await {
            Err(NoToken::Refused(reason)) => Err(self.needed(&reason)),
            // The server decides about the old token, and says what it wants.
            Ok(()) | Err(NoToken::Unknown(_) | NoToken::Later(_)) => {
                Ok(self.token.load().as_ref().map(|token| token.header.clone()))
            }
        }
    }

    fn needed(&self, reason: &str) -> LoginNeeded {
        let name = &self.server;
        LoginNeeded(format!("the proxy cannot log in: {reason} (`mcpServers.{name}.auth`)"))
    }

    async fn remedy(&self, refusal: AuthorizationRefusal) -> Remedy {
        let challenge = Challenge::find(&refusal.challenges).unwrap_or_default();
        let shown = refusal.shown.as_ref();
        match refusal.status {
            401 => self.after_refused_token(shown, &challenge, refusal.is_repeated).await,
            403 if challenge.is_insufficient_scope() => {
                let (_, configured, _) = self.settings();
                let asked = scopes::has_all(&self.demands.lock().await.wanted, &challenge.scopes);
                if configured.is_empty() && !asked {
                    return self.after_refused_token(shown, &challenge, refusal.is_repeated).await;
                }
                let (name, scopes) = (&self.server, scopes::shown(&challenge.scopes));
                Remedy::MoreScopes(format!("needs {scopes}: add it to `mcpServers.{name}.auth.scopes`"))
            }
            _ => Remedy::None,
        }
    }

    async fn after_refused_token(
        &self,
        shown: Option<&HeaderValue>,
        challenge: &Challenge,
        is_repeated: bool,
    ) -> Remedy {
        if is_repeated && shown.is_some() && *self.replacement.lock() == shown.cloned() {
            return Remedy::LogIn(self.needed("the server refuses the token that the authorization server issued"));
        }
        match self.fetch(shown, Some(challenge)).await {
            Ok(()) => {
                *self.replacement.lock() = self.token.load().as_ref().map(|token| token.header.clone());
                Remedy::Retry
            }
            Err(NoToken::Refused(reason) | NoToken::Unknown(reason)) => Remedy::LogIn(self.needed(&reason)),
            Err(NoToken::Later(reason)) => Remedy::Later(format!("the proxy cannot log in now: {reason}")),
        }
    }

    /// The file that somebody may put in order.
    fn file(&self) -> Option<&Path> {
        match &self.means {
            Means::ClientCredentials(ClientCredentialsConfig {
                proof: ClientProof::PrivateKey { file, .. }, ..
            })
            | Means::Enterprise(EnterpriseConfig { id_token: IdToken::File(file), .. }) => Some(file),
            _ => None,
        }
    }
}

impl Credentials for MachineCredentials {
    fn ready(&self) -> Poll<Option<HeaderValue>> {
        match self.token.load().as_ref().filter(|token| token.is_fresh()) {
            Some(token) => Poll::Ready(Some(token.header.clone())),
            None => Poll::Pending,
        }
    }

    fn authorization(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, LoginNeeded>> {
        self.prepared().boxed()
    }

    fn refused(&self, refusal: AuthorizationRefusal) -> BoxFuture<'_, Remedy> {
        self.remedy(refusal).boxed()
    }

    /// The file, if there is one, is watched by whoever waits for a change.
    fn look_out(&self) {}

    fn changed(&self) -> BoxFuture<'_, ()> {
        match self.file() {
            // Another secret in the config makes another server of it.
            None => std::future::pending().boxed(),
            Some(file) => {
                let file = file.to_owned();
                let path = file.clone();
                // On a thread that may wait for the file system.
                let before = tokio::task::spawn_blocking(move || std::fs::read(path).ok());
                async move { content_changed(file, before.await.ok().flatten()).await }.boxed()
            }
        }
    }
}

async fn content_changed(file: PathBuf, before: Option<Vec<u8>>) {
    let mut watcher = Watcher::default();
    loop {
        let mut paths = WatchedPaths::default();
        paths.file(&file);
        watcher.look_at(paths).await;
        let now = tokio::fs::read(&file).await.ok();
        if now.is_some() && now != before {
            return;
        }
        watcher.changed().await;
    }
}
