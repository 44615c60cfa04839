//! Hides secrets in the log: values of `env`, `headers`, tokens and similar keys in the config, all values from files,
//! credentials and commands, and message members with names such as `password`.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use regex::{Captures, Regex};

use proxy_config::{AuthConfig, Config, DescriptionPlace, RedisAddress, StoreAddress, TransportConfig};
use proxy_model::Secret;

/// Shorter config values are not hidden, because they also occur as ordinary words.
const MIN_LENGTH: usize = 6;
const HIDDEN: &str = "•••";

/// A member of a JSON object whose name says that its value is secret, in JSON or in JSON within a JSON string. The value
/// ends at a quote that is not escaped on its own level.
const SECRET_MEMBER: &str = r#"(?ix)
    ( "NAME"\s*:\s*" ) ( (?: [^"\\] | \\. )+ )
  | ( \\"NAME\\"\s*:\s*\\" ) ( (?: [^"\\] | \\\\ (?: \\["\\] | [^"\\] ) | \\[^"\\] )+ )"#;
const SECRET_NAME: &str =
    r#"[^"\\]{0,64}(?:token|secret|password|passwd|api_?-?key|credential|cookie|authorization)[^"\\]{0,64}"#;

static MEMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&SECRET_MEMBER.replace("NAME", SECRET_NAME)).expect("the pattern is valid"));

/// What is hidden. The longest come first: a secret within another is hidden after it.
static KNOWN: LazyLock<ArcSwap<Vec<String>>> = LazyLock::new(ArcSwap::default);

/// The secrets of the config in force, which are hidden whatever config is read beside it.
static IN_FORCE: LazyLock<ArcSwap<Vec<String>>> = LazyLock::new(ArcSwap::default);

/// Hides the secrets of a config that was read, instead of those of the last one that was read. The config in force may stay:
/// its secrets remain hidden.
pub(super) fn set(config: &Config) {
    KNOWN.store(ordered(hidden_forms(config).chain(IN_FORCE.load().iter().cloned())).into());
}

/// Hides the secrets of the config in force, and of no other.
pub(super) fn set_in_force(config: &Config) {
    let known = Arc::new(ordered(hidden_forms(config)));
    IN_FORCE.store(Arc::clone(&known));
    KNOWN.store(known);
}

fn hidden_forms(config: &Config) -> impl Iterator<Item = String> {
    values(config).into_iter().flat_map(|value| forms(&value)).filter(|value| value.len() >= MIN_LENGTH)
}

fn ordered(forms: impl Iterator<Item = String>) -> Vec<String> {
    let mut known: Vec<String> = forms.collect();
    known.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    known.dedup();
    known
}

/// How a value appears in a line of the log: as it is, one of its lines, or within JSON.
fn forms(value: &str) -> Vec<String> {
    let json = serde_json::Value::from(value).to_string();
    let within_json = json[1..json.len() - 1].to_owned();
    value.lines().map(str::to_owned).chain([value.to_owned(), within_json]).collect()
}

/// The values of a config that are secret.
pub(super) fn values(config: &Config) -> Vec<String> {
    let mut texts: Vec<&str> = config.secret_values.iter().map(Secret::reveal).collect();
    let mut urls: Vec<&str> = Vec::new();
    for server in config.servers.values() {
        texts.extend(server.auth.iter().flat_map(AuthConfig::secrets).map(Secret::reveal));
        match &server.transport {
            TransportConfig::Stdio { env, .. } => {
                let is_path = |value: &&str| value.starts_with(['/', '.', '~']);
                texts.extend(env.values().map(Secret::reveal).filter(|value| !is_path(value)));
            }
            TransportConfig::Http { url, headers, .. } => {
                texts.extend(headers.values().flat_map(words));
                urls.push(url);
            }
            TransportConfig::OpenApi(api) => {
                texts.extend(api.headers.values().flat_map(words));
                urls.extend(api.url.as_deref());
                if let DescriptionPlace::Url(url) = &api.description {
                    urls.push(url);
                }
            }
        }
    }
    let introspection = config.auth.issuers.iter().filter_map(|issuer| issuer.introspection.as_ref());
    texts.extend(introspection.map(|introspection| introspection.client_secret.reveal()));
    let sign_in = config.auth.issuers.iter().filter_map(|issuer| issuer.sign_in.as_ref()?.client_secret.as_ref());
    texts.extend(sign_in.map(Secret::reveal));
    texts.extend(config.auth.tokens.iter().map(|token| token.token.reveal()));
    texts.extend(config.serve.identity_key.iter().map(Secret::reveal));
    texts.extend(config.serve.state_keys.iter().map(Secret::reveal));
    texts.extend(config.audit.iter().filter_map(|audit| audit.key.as_ref()).map(Secret::reveal));
    if let Some(otlp) = &config.telemetry.otlp {
        texts.extend(otlp.headers.values().flat_map(words));
        urls.extend(otlp.endpoint.as_ref().map(url::Url::as_str));
    }
    if let StoreAddress::Redis(RedisAddress { url, .. }) = &config.store {
        urls.push(url.reveal());
    }
    texts.into_iter().map(str::to_owned).chain(urls.into_iter().flat_map(of_url)).collect()
}

/// For `Bearer TOKEN`, the token is hidden.
fn words(header: &Secret) -> impl Iterator<Item = &str> {
    header.reveal().split_whitespace()
}

/// The password and the query values in a URL.
fn of_url(url: &str) -> Vec<String> {
    // The nodes of a Redis Cluster are separated by commas.
    let first = url.split_once(',').map_or(url, |(first, _)| first);
    let Ok(url) = url::Url::parse(first) else { return Vec::new() };
    let query = url.query_pairs().map(|(_, value)| value.into_owned());
    query.chain(url.password().map(str::to_owned)).collect()
}

/// The text without secrets.
pub(super) fn hidden(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for secret in KNOWN.load().iter() {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), HIDDEN).into();
        }
    }
    if !text.contains('"') {
        return text;
    }
    let hide = |found: &Captures<'_>| {
        let group = |number| found.get(number).map_or("", |group| group.as_str());
        let (name, value) = if found.get(1).is_some() { (1, 2) } else { (3, 4) };
        // A progress token is no secret.
        let is_progress = group(name).contains("rogressToken");
        format!("{}{}", group(name), if is_progress { group(value) } else { HIDDEN })
    };
    match MEMBER.replace_all(&text, hide) {
        Cow::Borrowed(_) => text,
        Cow::Owned(hidden) => hidden.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_each_of_its_lines_and_within_json() {
        assert_eq!(forms("one\ntwo"), ["one", "two", "one\ntwo", "one\\ntwo"]);
        assert_eq!(forms("a\"b"), ["a\"b", "a\"b", "a\\\"b"]);
    }

    #[test]
    fn members_with_secret_names_are_hidden_also_in_json_within_text() {
        for (text, shown) in [
            (r#"{"password":"hunter2","a":"b"}"#, r#"{"password":"•••","a":"b"}"#),
            (r#"{"apiKey": "x y", "API_KEY":"z"}"#, r#"{"apiKey": "•••", "API_KEY":"•••"}"#),
            (r#"{"text":"{\"token\":\"abc\"}"}"#, r#"{"text":"{\"token\":\"•••\"}"}"#),
            (r#"{"progressToken":"abc","tokens":3}"#, r#"{"progressToken":"abc","tokens":3}"#),
            (r#"{"_meta":{"Authorization":"Bearer x"}}"#, r#"{"_meta":{"Authorization":"•••"}}"#),
            (r#"{"password":"a\"b\\","c":"d"}"#, r#"{"password":"•••","c":"d"}"#),
            (
                r#"{"text":"{\"token\":\"a\\\"b\\n\\\\\",\"c\":\"d\"}"}"#,
                r#"{"text":"{\"token\":\"•••\",\"c\":\"d\"}"}"#,
            ),
            ("a token: none", "a token: none"),
        ] {
            assert_eq!(hidden(text), shown);
        }
    }
}
