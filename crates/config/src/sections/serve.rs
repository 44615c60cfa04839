//! `serve`: the HTTP endpoint for clients.

use std::time::Duration;

use crate::sections::oauth_values::read_url;
use crate::syntax::reader::ValueReader;
use proxy_model::Secret;

#[derive(Clone, Debug, PartialEq)]
pub struct Serve {
    /// `address:port`.
    pub http: String,
    pub path: String,
    /// How many threads serve clients.
    pub threads: usize,
    /// The URL under which clients reach the proxy, as tokens name it in `aud`; `None` if unknown.
    pub public_url: Option<String>,
    /// Whether clients must name a profile in the path.
    pub require_profile: bool,
    pub allowed_origins: Vec<String>,
    /// Request headers that are passed to scripts, in lower case.
    pub request_headers: Vec<String>,
    pub session_idle_timeout: Duration,
    /// How long after its `initialize` a session can be used. Zero if no session that was forgotten comes back.
    pub session_lifetime: Duration,
    pub max_sessions: usize,
    /// How long the first lists wait for servers without cached lists.
    pub first_list: Duration,
    pub max_body_bytes: u64,
    /// Keys that encrypt state handed to clients: the first encrypts, all decrypt. If empty, a random key is used until
    /// the process exits.
    pub state_keys: Vec<Secret>,
    /// The key with which the proxy signs who its callers are, for servers with `auth: {type: signed}`.
    pub identity_key: Option<Secret>,
    /// How long new requests are still accepted after the signal to stop.
    pub drain_delay: Duration,
    /// How long requests in progress may take to finish at shutdown.
    pub drain_timeout: Duration,
}

/// Minimum length of a key; shorter keys could be guessed.
const MIN_KEY_BYTES: usize = 32;

impl Default for Serve {
    fn default() -> Self {
        Serve {
            http: "127.0.0.1:7331".to_owned(),
            path: "/mcp".to_owned(),
            threads: 1,
            public_url: None,
            require_profile: false,
            allowed_origins: Vec::new(),
            request_headers: Vec::new(),
            session_idle_timeout: Duration::from_secs(30 * 60),
            session_lifetime: Duration::from_secs(168 * 3600),
            max_sessions: 10_000,
            first_list: Duration::from_secs(20),
            max_body_bytes: 4 << 20,
            state_keys: Vec::new(),
            identity_key: None,
            drain_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(5),
        }
    }
}

impl Serve {
    /// The keys that differ from another config.
    pub(crate) fn differences(&self, other: &Serve) -> Vec<&'static str> {
        // Destructured, so that the compiler reports a field that is missing here.
        let Serve {
            http,
            path,
            threads,
            public_url,
            allowed_origins,
            session_idle_timeout,
            session_lifetime,
            max_sessions,
            first_list,
            max_body_bytes,
            request_headers,
            state_keys,
            identity_key: _,
            // A part of the authentication, which follows the file.
            require_profile: _,
            drain_delay,
            drain_timeout,
        } = self;
        let keys = [
            ("serve.http", *http != other.http),
            ("serve.path", *path != other.path),
            ("serve.threads", *threads != other.threads),
            ("serve.publicUrl", *public_url != other.public_url),
            ("serve.allowedOrigins", *allowed_origins != other.allowed_origins),
            ("serve.sessionIdleTimeout", *session_idle_timeout != other.session_idle_timeout),
            ("serve.sessionLifetime", *session_lifetime != other.session_lifetime),
            ("serve.maxSessions", *max_sessions != other.max_sessions),
            ("serve.firstList", *first_list != other.first_list),
            ("serve.maxBodyBytes", *max_body_bytes != other.max_body_bytes),
            ("serve.requestHeaders", *request_headers != other.request_headers),
            ("serve.stateKeys", *state_keys != other.state_keys),
            ("serve.drainDelay", *drain_delay != other.drain_delay),
            ("serve.drainTimeout", *drain_timeout != other.drain_timeout),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}

pub(crate) fn read_serve(reader: &ValueReader) -> Option<Serve> {
    let mut serve = Serve::default();
    let mut fields = reader.fields()?;
    fields.set(&mut serve.http, "http", read_address);
    fields.set(&mut serve.path, "path", read_path);
    fields.set(&mut serve.threads, "threads", read_threads);
    serve.public_url = fields.read("publicUrl", read_public_url);
    fields.set(&mut serve.require_profile, "requireProfile", ValueReader::boolean);
    fields.set(&mut serve.allowed_origins, "allowedOrigins", |reader| reader.list(read_origin));
    fields.set(&mut serve.request_headers, "requestHeaders", |reader| reader.list(read_request_header));
    fields.set(&mut serve.session_idle_timeout, "sessionIdleTimeout", ValueReader::timeout);
    fields.set(&mut serve.session_lifetime, "sessionLifetime", ValueReader::duration);
    fields.set(&mut serve.max_sessions, "maxSessions", ValueReader::count);
    fields.set(&mut serve.first_list, "firstList", ValueReader::duration);
    fields.set(&mut serve.max_body_bytes, "maxBodyBytes", ValueReader::size);
    fields.set(&mut serve.state_keys, "stateKeys", |reader| reader.list(read_key));
    serve.identity_key = fields.read("identityKey", read_key);
    fields.set(&mut serve.drain_delay, "drainDelay", ValueReader::duration);
    fields.set(&mut serve.drain_timeout, "drainTimeout", ValueReader::duration);
    fields.finish();
    Some(serve)
}

/// At most so many threads serve clients: workers, servers and the kernel need processors, too.
const MAX_THREADS: usize = 8;

fn read_threads(reader: &ValueReader) -> Option<usize> {
    let text = reader.text()?;
    // A config that is only recorded has no values.
    serving_threads(&text).or_else(|| reader.expected("a number from 1 to 8, or `auto`"))
}

/// The number of threads that `serve.threads` or `--threads` asks for: from 1 to 8, or `auto` for one per processor.
pub fn serving_threads(text: &str) -> Option<usize> {
    if text == "auto" {
        return Some(std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS));
    }
    text.parse().ok().filter(|threads| (1..=MAX_THREADS).contains(threads))
}

/// The name of a header that scripts may read. Credentials and headers of the protocol are rejected.
fn read_request_header(reader: &ValueReader) -> Option<String> {
    let name = reader.string()?.to_ascii_lowercase();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
    if name.is_empty() || !name.chars().all(is_name) {
        return reader.expected("a header name such as `x-request-id`");
    }
    let identifies = matches!(name.as_str(), "authorization" | "proxy-authorization" | "cookie" | "set-cookie");
    if identifies {
        return reader.fail(&format!(
            "`{name}` contains credentials and is never passed to scripts; use `current_user()` to identify the client"
        ));
    }
    if name.starts_with("mcp-") {
        return reader.fail(&format!(
            "`{name}` is never passed to scripts: headers that begin with `mcp-` belong to the protocol"
        ));
    }
    Some(name)
}

pub(super) fn read_address(reader: &ValueReader) -> Option<String> {
    let address = reader.string()?;
    let fits = address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if fits { Some(address) } else { reader.expected("an address with a port such as `127.0.0.1:7331`") }
}

fn read_path(reader: &ValueReader) -> Option<String> {
    let path = reader.string()?;
    let fits =
        path.starts_with('/') && !path.contains(['?', '#', '{', '}', '*']) && !path.contains(char::is_whitespace);
    if fits { Some(path) } else { reader.expected("a path such as `/mcp`") }
}

/// The URL of the proxy in its canonical form: lower-case scheme and host, no slash at the end.
fn read_public_url(reader: &ValueReader) -> Option<String> {
    let text = read_url(reader)?;
    let url = url::Url::parse(&text).ok()?;
    Some(url.as_str().trim_end_matches('/').to_owned())
}

fn read_key(reader: &ValueReader) -> Option<Secret> {
    let key = reader.secret()?;
    if key.reveal().len() >= MIN_KEY_BYTES {
        return Some(key);
    }
    let problem = reader.problem(&format!("the key must have at least {MIN_KEY_BYTES} bytes"));
    reader.report(
        problem.hint("generate one with `openssl rand -base64 32` and keep it in the environment: `${STATE_KEY}`"),
    );
    None
}

/// An origin as browsers send it: scheme, host and port without a path.
fn read_origin(reader: &ValueReader) -> Option<String> {
    let origin = reader.string()?;
    let fits = origin.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty() && !host.is_empty() && !host.contains(['/', '*']) && !host.contains(char::is_whitespace)
    });
    if fits { Some(origin) } else { reader.expected("an origin such as `https://app.example.com`, without a path") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn everything_can_be_set() {
        let config = loaded(
            "profiles: {a: {servers: ['*']}}\nserve: {http: '[::1]:80', path: /x, threads: 3, publicUrl: 'https://MCP.example/x/', requireProfile: true, allowedOrigins: ['https://a.example:8443'], requestHeaders: [X-Team], sessionIdleTimeout: 5m, \
             sessionLifetime: 24h, maxSessions: 7, firstList: 0s, maxBodyBytes: 1KB, stateKeys: [0123456789abcdef0123456789abcdef], identityKey: 123456789abcdef0123456789abcdef01, drainDelay: 5s, drainTimeout: 30s}",
        );
        let expected = Serve {
            http: "[::1]:80".to_owned(),
            path: "/x".to_owned(),
            threads: 3,
            public_url: Some("https://mcp.example/x".to_owned()),
            require_profile: true,
            allowed_origins: vec!["https://a.example:8443".to_owned()],
            request_headers: vec!["x-team".to_owned()],
            session_idle_timeout: Duration::from_secs(300),
            session_lifetime: Duration::from_secs(24 * 3600),
            max_sessions: 7,
            first_list: Duration::ZERO,
            max_body_bytes: 1000,
            state_keys: vec![Secret::new("0123456789abcdef0123456789abcdef")],
            identity_key: Some(Secret::new("123456789abcdef0123456789abcdef01")),
            drain_delay: Duration::from_secs(5),
            drain_timeout: Duration::from_secs(30),
        };
        assert_eq!(config.serve, expected);
    }

    #[test]
    fn headers_that_no_script_sees_are_refused_with_the_reason() {
        let found = errors("serve:\n  requestHeaders: [Authorization, Cookie, MCP-Session-Id, 'no name', x-fine]\n");
        assert_eq!(found.len(), 4);
        assert!(found[0].contains("contains credentials"), "{}", found[0]);
        assert!(found[2].contains("`mcp-session-id` is never passed to scripts"), "{}", found[2]);
        assert!(found[3].contains("a header name such as `x-request-id`"), "{}", found[3]);
    }

    #[test]
    fn threads_are_few_or_as_many_as_processors() {
        assert!((1..=8).contains(&loaded("serve: {threads: auto}").serve.threads));
        for wrong in ["0", "9", "-1", "many", "1.5", "true"] {
            let found = errors(&format!("serve:\n  threads: {wrong}\n"));
            assert_eq!(
                found,
                [format!("2:12 `serve.threads`: expected a number from 1 to 8, or `auto`, found `{wrong}`")]
            );
        }
    }

    #[test]
    fn what_cannot_be_served_says_what_can() {
        let found = errors(
            "serve:\n  http: localhost\n  path: mcp\n  allowedOrigins: ['*', 'https://a/b']\n  maxSessions: 0\n",
        );
        assert_eq!(found.len(), 5);
        assert_eq!(
            found[0],
            "2:9 `serve.http`: expected an address with a port such as `127.0.0.1:7331`, found `localhost`"
        );
        assert!(found[4].contains("an integer of at least 1, found `0`"), "{}", found[4]);
    }

    #[test]
    fn a_key_that_could_be_guessed_is_refused_without_showing_it() {
        let found = errors("serve:\n  stateKeys:\n  - s3cret\n  - 0123456789abcdef0123456789abcdef\n");
        assert_eq!(
            found,
            [
                "3:5 `serve.stateKeys[0]`: the key must have at least 32 bytes (generate one with `openssl rand -base64 32` and keep \
                 it in the environment: `${STATE_KEY}`)"
            ]
        );
    }
}
