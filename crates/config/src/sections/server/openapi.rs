//! An API with an OpenAPI description in place of an MCP server.

use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;
use url::{Host, Url};

use super::TransportConfig;
use crate::syntax::reader::{Fields, ValueReader};
use proxy_model::Secret;

/// After which time a description is fetched again.
const DEFAULT_TTL: Duration = Duration::from_secs(60 * 60);

/// Settings that mean something only to an MCP server.
const KEYS_OF_MCP: [&str; 6] = ["protocol", "probeTimeout", "methods", "scope", "capabilities", "inputTimeout"];

#[derive(Clone, Debug, PartialEq)]
pub struct OpenApiConfig {
    pub description: DescriptionPlace,
    /// Where the API is; `None` for where the description says.
    pub url: Option<String>,
    pub headers: IndexMap<String, Secret>,
    /// After which time the description is fetched again; `None` to fetch it once.
    pub ttl: Option<Duration>,
}

/// Where a description is.
#[derive(Clone, Debug, PartialEq)]
pub enum DescriptionPlace {
    File(PathBuf),
    Url(String),
}

/// The keys of an entry with `openapi`.
pub(super) struct OpenApiKeys<'k, 'a> {
    pub(super) openapi: &'k ValueReader<'a>,
    pub(super) url: &'k Option<ValueReader<'a>>,
    pub(super) headers: &'k Option<ValueReader<'a>>,
    pub(super) ttl: &'k Option<ValueReader<'a>>,
}

/// Reads what only an API has. `url` and `headers` have been read; `None` if they have errors.
pub(super) fn read_openapi(
    keys: &OpenApiKeys<'_, '_>,
    url: Option<String>,
    headers: Option<IndexMap<String, Secret>>,
) -> Option<TransportConfig> {
    let description = read_place(keys.openapi);
    let mut ttl = Some(DEFAULT_TTL);
    if let Some(reader) = keys.ttl {
        ttl = reader.timeout_or_off().unwrap_or(ttl);
        if let Some(DescriptionPlace::File(_)) = description {
            let problem = "requires an `openapi` that is a URL: a file is read again when it changes";
            reader.report(reader.problem(problem).at(reader.place()));
        }
    }
    if let Some(reader) = keys.headers
        && keys.url.is_none()
        && !reader.is_empty()
    {
        let problem = "requires `url`: headers are sent only to a host that the config names";
        reader.report(reader.problem(problem).at(reader.place()));
    }
    Some(TransportConfig::OpenApi(OpenApiConfig { description: description?, url, headers: headers?, ttl }))
}

fn read_place(reader: &ValueReader) -> Option<DescriptionPlace> {
    let written = reader.word()?;
    if !written.contains("://") {
        return Some(DescriptionPlace::File(reader.folder().join(written)));
    }
    let Ok(url) = Url::parse(&written) else {
        return reader.fail("expected a file, or a URL that begins with `https://`");
    };
    match url.scheme() {
        "https" => Some(DescriptionPlace::Url(written)),
        "http" if is_this_machine(&url) => Some(DescriptionPlace::Url(written)),
        _ => reader.fail("expected a file, or a URL that begins with `https://` (`http://` only on this machine)"),
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Reports the settings of an entry that mean nothing to an API.
pub(super) fn refuse_other_settings(fields: &mut Fields, transport: &TransportConfig) {
    if let TransportConfig::OpenApi(_) = transport {
        fields.refuse(&KEYS_OF_MCP, "has no effect with `openapi`: an API does not speak MCP", "remove it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    fn api(text: &str) -> (OpenApiConfig, PathBuf) {
        let config = loaded(&format!("mcpServers: {{a: {text}}}"));
        let TransportConfig::OpenApi(api) = config.servers["a"].transport.clone() else { panic!("no API") };
        (api, config.folder)
    }

    #[test]
    fn a_description_is_a_file_or_fetched() {
        let (file, folder) = api("{openapi: apis/a.yaml}");
        assert_eq!(file.description, DescriptionPlace::File(folder.join("apis/a.yaml")));
        assert_eq!(file.url, None);
        let (fetched, _) =
            api("{openapi: 'https://h/openapi.json', url: 'https://api/v1', headers: {X-Key: k}, ttl: 5m}");
        assert_eq!(fetched.description, DescriptionPlace::Url("https://h/openapi.json".to_owned()));
        assert_eq!(fetched.url.as_deref(), Some("https://api/v1"));
        assert_eq!((fetched.headers["X-Key"].reveal(), fetched.ttl), ("k", Some(Duration::from_secs(300))));
        assert_eq!(api("{openapi: 'http://localhost:8000/openapi.json', ttl: off}").0.ttl, None);
    }

    #[test]
    fn what_does_not_fit_an_api_is_an_error() {
        let found = errors(
            "mcpServers:\n  a: {openapi: a.yaml, command: x}\n  b: {openapi: a.yaml, headers: {X: y}}\n  \
             c: {openapi: 'http://h/a.json'}\n  d: {openapi: a.yaml, ttl: 1h}\n  e: {openapi: a.yaml, protocol: 2025-11-25}\n  \
             f: {openapi: a.yaml, auth: {type: oauth, issuer: 'https://as'}}\n  \
             g: {openapi: a.yaml, url: 'https://h', auth: {type: oauth}}\n  h: {url: 'https://h', ttl: 1h}\n  \
             i: {openapi: a.yaml, args: [x]}\n  j: {openapi: a.yaml, type: sse}\n",
        );
        assert_eq!(found[0], "2:24 `mcpServers.a.command`: `command` and `openapi` are mutually exclusive");
        assert!(found[1].starts_with("3:24 `mcpServers.b.headers`: requires `url`"), "{found:?}");
        assert!(
            found[2].starts_with("4:16 `mcpServers.c.openapi`: expected a file, or a URL that begins"),
            "{found:?}"
        );
        assert!(found[3].starts_with("5:24 `mcpServers.d.ttl`: requires an `openapi` that is a URL"), "{found:?}");
        assert!(found[4].starts_with("6:24 `mcpServers.e.protocol` has no effect with `openapi`"), "{found:?}");
        assert!(found[5].contains("`mcpServers.f.auth`: requires `url`"), "{found:?}");
        assert!(found[6].contains("`mcpServers.g.auth`: missing key `issuer`"), "{found:?}");
        assert!(found[7].contains("`mcpServers.h.ttl`: requires `openapi`"), "{found:?}");
        assert!(found[8].contains("`mcpServers.i.args`: requires `command`"), "{found:?}");
        assert!(found[9].contains("`mcpServers.j.type`: conflicts with `openapi`"), "{found:?}");
        assert_eq!(found.len(), 10, "{found:?}");
    }

    #[test]
    fn only_what_an_api_may_have_is_a_known_key() {
        let found = errors("mcpServers:\n  a: {openapi: a.yaml, zzz: 1, scope: session, methods: }\n");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("known keys here: ") && found[0].contains("maxConcurrent"), "{found:?}");
        for key in KEYS_OF_MCP {
            assert!(!found[0].contains(key), "{key}: {found:?}");
        }
        assert!(found[1].contains("`mcpServers.a.scope` has no effect with `openapi`"), "{found:?}");
    }
}
