//! `auth.issuers`: whose tokens the proxy accepts, and what it reads from them.

use std::path::PathBuf;
use std::time::Duration;

use crate::sections::oauth_values::{is_loopback, read_scope, read_secret, read_url};
use crate::syntax::reader::{Fields, ValueReader};
use proxy_base::diagnostic::Location;
use proxy_model::Secret;

/// The most that two clocks may differ.
const MAX_SKEW: Duration = Duration::from_secs(300);
const DEFAULT_SKEW: Duration = Duration::from_secs(60);
/// How long the response of an introspection endpoint is cached.
const DEFAULT_CACHE: Duration = Duration::from_secs(30);
const MAX_CACHE: Duration = Duration::from_secs(60);

/// Claims that differ from token to token. With them, the same person would count as a new user after each renewal.
const VOLATILE: [&str; 11] = ["exp", "iat", "nbf", "jti", "auth_time", "nonce", "at_hash", "uti", "aio", "rh", "sid"];

/// A signature algorithm of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

pub(super) const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::Rs256),
    ("RS384", Algorithm::Rs384),
    ("RS512", Algorithm::Rs512),
    ("PS256", Algorithm::Ps256),
    ("PS384", Algorithm::Ps384),
    ("PS512", Algorithm::Ps512),
    ("ES256", Algorithm::Es256),
    ("ES384", Algorithm::Es384),
    ("EdDSA", Algorithm::EdDsa),
];

impl Algorithm {
    /// The algorithm that a token names; `None` for symmetric algorithms, whose key is shared, and for unknown ones.
    pub fn parse(name: &str) -> Option<Self> {
        ALGORITHMS.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
    }

    pub fn as_str(self) -> &'static str {
        ALGORITHMS.iter().find(|(_, algorithm)| *algorithm == self).map_or("", |(name, _)| name)
    }
}

#[derive(Clone, Debug)]
pub struct IssuerConfig {
    /// The exact value of the claim `iss`.
    pub issuer: String,
    /// Accepted values of `aud` beside the URL of the proxy.
    pub audiences: Vec<String>,
    /// `None` to use the URL in the issuer's metadata.
    pub jwks_url: Option<String>,
    /// A file with the keys, instead of a URL.
    pub jwks_file: Option<PathBuf>,
    pub algorithms: Vec<Algorithm>,
    /// Put before every `sub`, so that users of different issuers have different names.
    pub prefix: String,
    pub groups_claim: String,
    pub name_claim: String,
    pub email_claim: String,
    /// The claims that scripts see.
    pub claims: Vec<String>,
    /// Accepted values of `client_id` or `azp`; all if empty.
    pub clients: Vec<String>,
    pub clock_skew: Duration,
    /// How to validate opaque tokens.
    pub introspection: Option<Introspection>,
    /// The client with which people sign in to the pages of the proxy; `None` if they cannot.
    pub sign_in: Option<SignIn>,
    /// Its location in the config file.
    pub place: Option<Location>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Introspection {
    pub url: String,
    pub client_id: String,
    pub client_secret: Secret,
    /// How long a response is cached.
    pub cache: Duration,
    /// Whether a response without `aud` is refused.
    pub require_audience: bool,
    /// The prefix of this issuer's opaque tokens. No other issuer is asked about tokens with this prefix.
    pub prefix: Option<String>,
}

/// How people of an issuer sign in to the pages of the proxy.
#[derive(Clone, Debug, PartialEq)]
pub struct SignIn {
    pub client_id: String,
    /// `None` for a public client.
    pub client_secret: Option<Secret>,
    /// The scopes to ask for, beside the required ones.
    pub scopes: Vec<String>,
}

impl IssuerConfig {
    pub fn new(issuer: &str) -> Self {
        IssuerConfig {
            issuer: issuer.to_owned(),
            audiences: Vec::new(),
            jwks_url: None,
            jwks_file: None,
            algorithms: ALGORITHMS.map(|(_, algorithm)| algorithm).to_vec(),
            prefix: String::new(),
            groups_claim: "groups".to_owned(),
            name_claim: "name".to_owned(),
            email_claim: "email".to_owned(),
            claims: Vec::new(),
            clients: Vec::new(),
            clock_skew: DEFAULT_SKEW,
            introspection: None,
            sign_in: None,
            place: None,
        }
    }
}

/// Its location does not count: a reload that moves an issuer changes nothing.
impl PartialEq for IssuerConfig {
    fn eq(&self, other: &Self) -> bool {
        // Destructured so that the compiler reports a field that is missing here.
        let IssuerConfig {
            issuer,
            audiences,
            jwks_url,
            jwks_file,
            algorithms,
            prefix,
            groups_claim,
            name_claim,
            email_claim,
            claims,
            clients,
            clock_skew,
            introspection,
            sign_in,
            place: _,
        } = self;
        (issuer, audiences, (jwks_url, jwks_file), algorithms, prefix, introspection)
            == (
                &other.issuer,
                &other.audiences,
                (&other.jwks_url, &other.jwks_file),
                &other.algorithms,
                &other.prefix,
                &other.introspection,
            )
            && sign_in == &other.sign_in
            && (groups_claim, name_claim, email_claim, claims, clients, clock_skew)
                == (
                    &other.groups_claim,
                    &other.name_claim,
                    &other.email_claim,
                    &other.claims,
                    &other.clients,
                    &other.clock_skew,
                )
    }
}

pub(super) fn read_issuer(reader: &ValueReader) -> Option<IssuerConfig> {
    let place = Some(reader.place());
    let Some(mut fields) = reader.fields_or_string()? else {
        return Some(IssuerConfig { place, ..IssuerConfig::new(&read_url(reader)?) });
    };
    let issuer = fields.get("issuer");
    let url = issuer.as_ref().and_then(read_url);
    let defaults = IssuerConfig::new(url.as_deref().unwrap_or_default());
    let words = |fields: &mut Fields, key| fields.read(key, |list| list.list(ValueReader::word)).unwrap_or_default();
    let word = |fields: &mut Fields, key, default: String| fields.read(key, ValueReader::word).unwrap_or(default);
    let config = IssuerConfig {
        audiences: words(&mut fields, "audiences"),
        jwks_url: fields.read("jwksUrl", read_jwks_url),
        jwks_file: fields.read("jwksFile", ValueReader::path_value),
        algorithms: fields.read("algorithms", read_algorithms).unwrap_or(defaults.algorithms),
        prefix: fields.read("prefix", read_prefix).unwrap_or_default(),
        groups_claim: word(&mut fields, "groupsClaim", defaults.groups_claim),
        name_claim: word(&mut fields, "nameClaim", defaults.name_claim),
        email_claim: word(&mut fields, "emailClaim", defaults.email_claim),
        claims: fields.read("claims", |claims| claims.list(read_claim)).unwrap_or_default(),
        clients: words(&mut fields, "clients"),
        clock_skew: fields.read("clockSkew", read_skew).unwrap_or(DEFAULT_SKEW),
        introspection: fields.read("introspection", read_introspection),
        sign_in: fields.read("signIn", read_sign_in),
        issuer: defaults.issuer,
        place,
    };
    fields.finish();
    if config.jwks_url.is_some() && config.jwks_file.is_some() {
        return reader.fail("`jwksUrl` and `jwksFile` are mutually exclusive");
    }
    if let Some(client) = config.sign_in.as_ref().map(|sign_in| &sign_in.client_id)
        && !(config.clients.is_empty() || config.clients.contains(client))
    {
        return reader.fail("`clients` does not have `signIn.clientId`: whoever signs in would be refused");
    }
    if issuer.is_none() {
        return reader.fail("missing key `issuer` (the URL that tokens have in `iss`)");
    }
    url.map(|_| config)
}

/// Some services have a query in the URL of their keys.
fn read_jwks_url(reader: &ValueReader) -> Option<String> {
    let text = reader.word()?;
    match url::Url::parse(&text) {
        Ok(url) if url.fragment().is_some() => reader.fail("must not contain `#`"),
        Ok(url) if url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url)) => Some(text),
        Ok(_) => reader.fail("must begin with `https://`: anyone who can change the keys can forge tokens"),
        Err(_) => reader.fail("expected a URL such as `https://host/keys`"),
    }
}

fn read_algorithms(reader: &ValueReader) -> Option<Vec<Algorithm>> {
    if reader.is_empty() {
        return reader.fail("must name at least one algorithm");
    }
    reader.list(|item| {
        let name = item.word()?;
        if let Some(algorithm) = Algorithm::parse(&name) {
            return Some(algorithm);
        }
        if name.eq_ignore_ascii_case("none") || name.starts_with("HS") {
            return item
                .fail(&format!("`{name}` is not allowed: anyone who can verify such a token can also forge one"));
        }
        // What only records the keys sends a URL.
        let names = ALGORITHMS.map(|(name, _)| format!("`{name}`")).join(", ");
        item.expected(&format!("one of {names}"))
    })
}

fn read_prefix(reader: &ValueReader) -> Option<String> {
    let prefix = reader.string()?;
    let is_plain = !prefix.contains(|letter: char| letter.is_whitespace() || letter.is_control());
    if is_plain { Some(prefix) } else { reader.fail("must not contain spaces") }
}

fn read_claim(reader: &ValueReader) -> Option<String> {
    let name = reader.word()?;
    if VOLATILE.contains(&name.as_str()) {
        return reader.fail(&format!("`{name}` differs from token to token, so scripts cannot use it"));
    }
    Some(name)
}

fn read_skew(reader: &ValueReader) -> Option<Duration> {
    let skew = reader.duration()?;
    if skew <= MAX_SKEW {
        Some(skew)
    } else {
        reader.fail("must be at most `5m`: expired tokens stay valid for that long")
    }
}

fn read_sign_in(reader: &ValueReader) -> Option<SignIn> {
    let mut fields = reader.fields()?;
    let client_id = fields.read("clientId", ValueReader::word);
    let client_secret = fields.read("clientSecret", read_secret);
    let scopes = fields.read("scopes", |scopes| scopes.list(read_scope)).unwrap_or_default();
    fields.finish();
    match client_id {
        Some(client_id) => Some(SignIn { client_id, client_secret, scopes }),
        None => reader.fail("missing key `clientId`: a client at the issuer, for the pages of the proxy"),
    }
}

fn read_introspection(reader: &ValueReader) -> Option<Introspection> {
    let mut fields = reader.fields()?;
    let url = fields.get("url");
    let read = url.as_ref().and_then(read_url);
    let client_id = fields.read("clientId", ValueReader::word);
    let secret = fields.get("clientSecret");
    let client_secret = secret.as_ref().and_then(read_secret);
    let cache = fields.read("cache", |cache| {
        let time = cache.duration()?;
        if time <= MAX_CACHE {
            Some(time)
        } else {
            cache.fail("must be at most `60s`: revoked tokens stay valid for that long")
        }
    });
    let require_audience = fields.read("requireAudience", ValueReader::boolean).unwrap_or(true);
    let prefix = fields.read("prefix", ValueReader::word);
    fields.finish();
    if url.is_none() {
        return reader.fail("missing key `url`");
    }
    if client_id.is_none() || secret.is_none() {
        return reader.fail("missing key `clientId` or `clientSecret`: the issuer answers only registered clients");
    }
    Some(Introspection {
        url: read?,
        client_id: client_id?,
        client_secret: client_secret?,
        cache: cache.unwrap_or(DEFAULT_CACHE),
        require_audience,
        prefix,
    })
}
