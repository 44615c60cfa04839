//! The server that somebody logs in to, as the config describes it.

use url::Url;

use super::LogInError;
use super::storage::RecordKey;
use proxy_config::{AuthConfig, OAuthConfig, OAuthEndpoints, ResourceChoice, ServerConfig, TransportConfig};
use proxy_model::Who;
use proxy_wire::http::Reach;

/// A server at which a person logs in.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(super) name: String,
    /// As it is written in the config.
    pub(super) url: String,
    pub(super) parsed: Url,
    pub(super) config: OAuthConfig,
    /// Whether the config says that somebody has to log in.
    pub(super) declared: bool,
    /// Whose account it is; `None` if it is everybody's.
    pub(super) who: Option<Who>,
    pub(super) key: RecordKey,
}

impl Subject {
    /// `who` is the person, if everybody has an account of their own at this server.
    pub(super) fn of(name: &str, server: &ServerConfig, who: Option<&Who>) -> Result<Self, LogInError> {
        let not = |why: &str| LogInError::NotApplicable(format!("server `{name}` needs no `proxy login`: {why}"));
        let Some(url) = url_of(server) else {
            return Err(not(match &server.transport {
                TransportConfig::Stdio { .. } => "it has a `command`",
                TransportConfig::OpenApi(api) if api.url.is_none() => "it is an API without `url`",
                TransportConfig::Http { .. } | TransportConfig::OpenApi(_) => {
                    "the config sets its `Authorization` header"
                }
            }));
        };
        let (config, declared) = match &server.auth {
            None => (OAuthConfig::default(), false),
            Some(AuthConfig::OAuth(config)) => (config.clone(), true),
            Some(AuthConfig::ClientCredentials(_)) => return Err(not("its `auth.type` is `clientCredentials`")),
            Some(AuthConfig::Enterprise(_)) => return Err(not("its `auth.type` is `enterprise`")),
            Some(AuthConfig::Signed(_)) => return Err(not("its `auth.type` is `signed`")),
            Some(AuthConfig::TokenExchange(_)) => return Err(not("its `auth.type` is `tokenExchange`")),
        };
        let parsed = Url::parse(url).map_err(|_| not("its `url` is invalid"))?;
        if who.is_some() && config.personal.is_none() {
            return Err(LogInError::NotApplicable(format!(
                "server `{name}` has one account for all: set `per: person` in its `auth` for an account of each person"
            )));
        }
        let key = RecordKey::new(name, url, authorization_server(&config).as_deref(), who);
        let name = name.to_owned();
        let url = url.to_owned();
        Ok(Subject { name, url, parsed, config, declared, who: who.cloned(), key })
    }

    /// The same entry without a person: the client with which everybody logs in belongs to it.
    pub(super) fn entry_key(&self) -> RecordKey {
        RecordKey::new(&self.name, &self.url, authorization_server(&self.config).as_deref(), None)
    }

    /// What helps: such as ``run `proxy login crm` ``.
    pub(super) fn advice(&self) -> String {
        match (&self.config.personal, &self.who) {
            (Some(personal), Some(who)) => personal.advice(&self.name, who).text,
            _ => format!("run {}", command(&self.name)),
        }
    }
}

/// What the config says of the authorization server: a token of one is never shown to another.
fn authorization_server(config: &OAuthConfig) -> Option<String> {
    let Some(OAuthEndpoints { authorization, token }) = &config.endpoints else { return config.issuer.clone() };
    let named = [config.issuer.as_deref(), authorization.as_deref(), Some(token)];
    Some(named.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// The command to log in to a server.
pub(super) fn command(server: &str) -> String {
    if server.chars().all(|character| character.is_ascii_alphanumeric() || "-_.".contains(character)) {
        format!("`proxy login {server}`")
    } else {
        format!("`proxy login '{}'`", server.replace('\'', r"'\''"))
    }
}

/// The URL of a server that the proxy has to log in to by itself; `None` if it is no HTTP server, or has its credentials
/// in the config.
pub(super) fn url_of(server: &ServerConfig) -> Option<&str> {
    let has_own = |name: &String| name.eq_ignore_ascii_case("authorization");
    if server.transport.headers()?.keys().any(has_own) {
        return None;
    }
    server.transport.url()
}

/// The `resource` of requests to the authorization server, byte for byte as the server's metadata write it (RFC 8707).
/// Without metadata it is the URL of the server.
pub(super) fn resource(choice: &ResourceChoice, discovered: Option<&str>, url: &str) -> Option<String> {
    match choice {
        ResourceChoice::None => None,
        ResourceChoice::Uri(uri) => Some(uri.clone()),
        ResourceChoice::Auto => {
            let own = || url.split('#').next().unwrap_or_default();
            Some(discovered.unwrap_or_else(own).to_owned())
        }
    }
}

/// How far requests may go: as far as the server itself, or the authorization server that the config names.
pub(super) async fn reach(server: &Url, issuer: Option<&str>) -> Reach {
    match (Reach::of(server).await, issuer.and_then(|issuer| Url::parse(issuer).ok())) {
        (Reach::Public, Some(issuer)) => Reach::of(&issuer).await,
        (reach, _) => reach,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_config::PersonalAccounts;
    use proxy_model::{Realm, Secret};

    fn http(headers: &[(&str, &str)]) -> ServerConfig {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect();
        ServerConfig::new(TransportConfig::Http { url: "https://h/mcp".into(), headers, sse: false })
    }

    #[test]
    fn somebody_logs_in_where_the_config_has_no_credentials() {
        let subject = Subject::of("a", &http(&[("X-Other", "1")]), None).unwrap();
        assert!(!subject.declared && subject.url == "https://h/mcp");
        let error = Subject::of("a", &http(&[("AUTHORIZATION", "s3cret")]), None).unwrap_err();
        assert_eq!(error.to_string(), "server `a` needs no `proxy login`: the config sets its `Authorization` header");
    }

    #[test]
    fn two_entries_of_one_url_are_two_accounts() {
        let key = |name: &str| Subject::of(name, &http(&[]), None).unwrap().key;
        assert_ne!(key("work"), key("home"));
        assert_eq!(key("work"), key("work"));
    }

    #[test]
    fn other_endpoints_are_another_record() {
        let key = |token: &str| {
            let endpoints = OAuthEndpoints { authorization: Some("https://as/a".into()), token: token.into() };
            let config =
                OAuthConfig { issuer: Some("https://as".into()), endpoints: Some(endpoints), ..OAuthConfig::default() };
            let mut server = http(&[]);
            server.auth = Some(AuthConfig::OAuth(config));
            Subject::of("a", &server, None).unwrap().key
        };
        assert_eq!(key("https://as/t"), key("https://as/t"));
        assert_ne!(key("https://as/t"), key("https://evil/t"), "a refresh token must not follow");
    }

    #[test]
    fn each_person_has_a_record_and_the_entry_one_for_its_client() {
        let mut server = http(&[]);
        let ann = Who { realm: Realm::Static, sub: "ann".into() };
        let error = Subject::of("crm", &server, Some(&ann)).unwrap_err();
        assert!(error.to_string().contains("`crm` has one account for all"), "{error}");
        let personal = Some(PersonalAccounts::default());
        server.auth = Some(AuthConfig::OAuth(OAuthConfig { personal, ..OAuthConfig::default() }));
        let key =
            |realm: Realm, sub: &str| Subject::of("crm", &server, Some(&Who { realm, sub: sub.into() })).unwrap().key;
        let keys = [
            key(Realm::Static, "ann"),
            key(Realm::Static, "bob"),
            key(Realm::Local, "ann"),
            key(Realm::Issuer("https://a".into()), "ann"),
            key(Realm::Issuer("https://b".into()), "ann"),
            Subject::of("crm", &server, None).unwrap().key,
        ];
        let different: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len());
        assert_eq!(Subject::of("crm", &server, Some(&ann)).unwrap().entry_key(), keys[5]);
    }

    #[test]
    fn a_command_is_written_as_a_shell_reads_it() {
        assert_eq!(command("linear"), "`proxy login linear`");
        assert_eq!(command("it's"), r"`proxy login 'it'\''s'`");
    }

    #[test]
    fn the_resource_is_repeated_byte_for_byte() {
        let of = |choice, found| resource(&choice, found, "https://h/mcp#x");
        assert_eq!(of(ResourceChoice::Auto, Some("https://h")).as_deref(), Some("https://h"));
        assert_eq!(of(ResourceChoice::Auto, None).as_deref(), Some("https://h/mcp"));
        assert_eq!(of(ResourceChoice::Uri("urn:x".into()), Some("https://h")).as_deref(), Some("urn:x"));
        assert_eq!(of(ResourceChoice::None, Some("https://h")), None);
    }
}
