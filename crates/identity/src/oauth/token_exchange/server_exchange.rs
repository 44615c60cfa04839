//! The exchanges for one server.

use std::sync::Arc;
use std::time::SystemTime;

use http::HeaderValue;

use super::credentials::ExchangeCredentials;
use super::exchanged_tokens::ExchangedTokens;
use super::request::exchange;
use super::subject_tokens::{MARGIN, SubjectToken, SubjectTokens};
use proxy_config::{ResourceChoice, TokenExchangeConfig};
use proxy_model::{CallerCredentials, Credentials, PersonKey};
use proxy_wire::http::Fetcher;

/// The exchanged tokens for one server. A changed config gets a new instance, so that no token obtained under old rules is
/// reused.
#[derive(Debug)]
pub(crate) struct ServerExchange {
    config: TokenExchangeConfig,
    resource: Option<String>,
    subjects: Arc<SubjectTokens>,
    exchanged: ExchangedTokens,
    fetcher: Arc<Fetcher>,
    pub(super) server: String,
}

impl ServerExchange {
    pub(crate) fn new(
        server: &str,
        url: &str,
        config: &TokenExchangeConfig,
        subjects: &Arc<SubjectTokens>,
        fetcher: &Arc<Fetcher>,
    ) -> Arc<Self> {
        let resource = match &config.resource {
            ResourceChoice::Uri(uri) => Some(uri.clone()),
            ResourceChoice::Auto if config.audience.is_none() => Some(url.to_owned()),
            ResourceChoice::Auto | ResourceChoice::None => None,
        };
        Arc::new(ServerExchange {
            config: config.clone(),
            resource,
            subjects: Arc::clone(subjects),
            exchanged: ExchangedTokens::default(),
            fetcher: Arc::clone(fetcher),
            server: server.to_owned(),
        })
    }

    /// What the server is shown for this token, if that is known.
    pub(super) fn known(&self, subject: &SubjectToken) -> Option<HeaderValue> {
        self.exchanged.get(&subject.digest, SystemTime::now())
    }

    /// Exchanges a token, and remembers the outcome if it is one.
    pub(super) async fn exchange(&self, subject: &SubjectToken) -> Result<HeaderValue, String> {
        let asked = SystemTime::now();
        let given = exchange(&self.fetcher, &self.config, self.resource.as_deref(), &subject.token).await?;
        let end = given.expires_in.and_then(|lifetime| asked.checked_add(lifetime));
        let end = end.map_or(subject.ends, |end| end.min(subject.ends));
        if let Some(until) = end.checked_sub(MARGIN).filter(|until| asked < *until) {
            self.exchanged.insert(subject.digest, given.header.clone(), until);
        }
        Ok(given.header)
    }

    /// The server has refused what it was shown.
    pub(super) fn refused(&self, shown: &HeaderValue) {
        self.exchanged.remove(shown);
    }
}

/// The exchanges for one server, as its connections use them.
#[derive(Debug)]
pub(crate) struct CallerExchange(pub(crate) Arc<ServerExchange>);

impl CallerCredentials for CallerExchange {
    fn of(&self, person: &PersonKey) -> Option<Arc<dyn Credentials>> {
        let CallerExchange(exchange) = self;
        if exchange.config.subject_issuer.as_deref() != Some(person.issuer()) {
            return None;
        }
        Some(Arc::new(ExchangeCredentials::new(exchange, exchange.subjects.of(person))))
    }
}
