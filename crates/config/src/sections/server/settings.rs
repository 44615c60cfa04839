//! Reads the settings of a server: every key of its entry but transport and `auth`. `defaults` has the same keys.

use indexmap::IndexMap;
use tracing::level_filters::LevelFilter;

use super::env_file::read_env_file;
use super::openapi::refuse_other_settings;
use super::rest;
use super::{PROTOCOL_VERSIONS, ProtocolChoice, STATELESS_VERSION, ServerConfig, TransportConfig};
use crate::sections::lock::read_lock;
use crate::syntax::reader::{Fields, ValueReader};
use proxy_model::{MethodPattern, Secret};

/// The words for levels of the log.
const LOG_LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// Whose settings are read. A setting that does not apply to a server is an error in its entry, but not in `defaults`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingsOf {
    Entry,
    Defaults,
}

/// Replaces the settings that the file has. Returns the variables of its `envFile`, if there is one.
pub(super) fn read(fields: &mut Fields, server: &mut ServerConfig, of: SettingsOf) -> Option<IndexMap<String, Secret>> {
    if of == SettingsOf::Entry {
        refuse_other_settings(fields, &server.transport);
    }
    fields.set(&mut server.disabled, "disabled", ValueReader::boolean);
    let variables = read_env_file(fields, server, of);
    read_inherit_env(fields, server, of);
    read_timeouts(fields, server);
    fields.set(&mut server.start_timeout, "startTimeout", ValueReader::timeout);
    if let Some(mut restart) = fields.read("restart", ValueReader::fields) {
        restart.set(&mut server.max_backoff, "maxBackoff", ValueReader::timeout);
        restart.finish();
    }
    fields.set(&mut server.max_message_bytes, "maxMessageBytes", ValueReader::size);
    fields.set(&mut server.max_list_bytes, "maxListBytes", ValueReader::size);
    fields.set(&mut server.max_concurrent, "maxConcurrent", ValueReader::count);
    if let Some(mut breaker) = fields.read("circuitBreaker", ValueReader::fields) {
        breaker.set(&mut server.circuit_breaker.failures, "failures", ValueReader::whole);
        breaker.set(&mut server.circuit_breaker.cooldown, "cooldown", ValueReader::timeout);
        breaker.finish();
    }
    fields.set(&mut server.protocol, "protocol", |reader| read_protocol(reader, &server.transport));
    fields.set(&mut server.probe_timeout, "probeTimeout", ValueReader::timeout);
    fields.set(&mut server.grace, "grace", ValueReader::duration);
    read_sharing(fields, server);
    rest::read(fields, server, of);
    read_max_per_user(fields, server, of);
    fields.set(&mut server.input_timeout, "inputTimeout", ValueReader::timeout);
    fields.set(&mut server.methods, "methods", |methods| methods.list(read_method));
    fields.set(&mut server.log, "log", |reader| reader.choice(&LOG_LEVELS).map(Some));
    read_lock_settings(fields, server);
    fields.refuse(&["forwardHeaders"], "is not supported yet", "remove it");
    variables
}

fn read_method(reader: &ValueReader) -> Option<MethodPattern> {
    MethodPattern::parse(&reader.word()?).map_or_else(|problem| reader.fail(&problem), Some)
}

/// Names of environment variables, or globs.
pub(crate) fn read_inherited(reader: &ValueReader) -> Option<Vec<glob::Pattern>> {
    reader.list(|name| match glob::Pattern::new(&name.word()?) {
        Ok(pattern) => Some(pattern),
        Err(error) => name.fail(&format!("invalid glob: {error}")),
    })
}

/// `lock` has no effect with `tokenExchange`, because each caller has lists of their own.
fn read_lock_settings(fields: &mut Fields, server: &mut ServerConfig) {
    let Some(reader) = fields.get("lock") else { return };
    if server.is_per_person() {
        let problem = "has no effect here: each caller has their own connection, and their own lists";
        reader.report(reader.problem(problem).at(reader.place()));
    }
    server.lock = read_lock(&reader).unwrap_or_default().or(&server.lock);
}

fn read_inherit_env(fields: &mut Fields, server: &mut ServerConfig, of: SettingsOf) {
    let Some(reader) = fields.get("inheritEnv") else { return };
    server.inherit_env = read_inherited(&reader).unwrap_or_default();
    if of == SettingsOf::Entry && !matches!(server.transport, TransportConfig::Stdio { .. }) {
        reader.report(reader.problem("requires `command`: the proxy does not start a server with `url`"));
    }
}

/// Without `scope: session` there are no connections per user, so the key would have no effect.
fn read_max_per_user(fields: &mut Fields, server: &mut ServerConfig, of: SettingsOf) {
    let Some(reader) = fields.get("maxPerUser") else { return };
    server.max_per_user = reader.count().unwrap_or(server.max_per_user);
    if of == SettingsOf::Entry && !server.session_scoped {
        reader.report(reader.problem("requires `scope: session`"));
    }
}

/// `scope` and `capabilities`: who shares a connection. With one of its own, a client needs no shared capabilities.
fn read_sharing(fields: &mut Fields, server: &mut ServerConfig) {
    let scope = fields.read("scope", |reader| reader.choice(&[("shared", false), ("session", true)]));
    let capabilities = fields.get("capabilities");
    let shared = capabilities.as_ref().and_then(|reader| reader.choice(&[("client", false), ("shared", true)]));
    if let (Some(true), Some(true), Some(reader)) = (scope, shared, &capabilities) {
        reader.report(
            reader.problem("`shared` conflicts with `scope: session`, where each client has its own connection"),
        );
    }
    // What the entry says replaces a default that contradicts it.
    server.session_scoped = scope.unwrap_or(server.session_scoped && shared != Some(true));
    server.shares_capabilities = shared.unwrap_or(server.shares_capabilities && scope != Some(true));
}

fn read_timeouts(fields: &mut Fields, server: &mut ServerConfig) {
    fields.set(&mut server.timeout, "timeout", ValueReader::timeout);
    match fields.get("maxTimeout") {
        // A `timeout` above the default of `maxTimeout` raises it.
        None => server.max_timeout = server.max_timeout.max(server.timeout),
        Some(reader) => {
            let Some(max_timeout) = reader.timeout() else { return };
            server.max_timeout = max_timeout;
            if max_timeout < server.timeout {
                let timeout = server.timeout.as_millis();
                reader.report(reader.problem(&format!("must not be shorter than `timeout` ({timeout}ms)")));
            }
        }
    }
}

fn read_protocol(reader: &ValueReader, transport: &TransportConfig) -> Option<ProtocolChoice> {
    let versions = PROTOCOL_VERSIONS.iter().map(|version| (*version, ProtocolChoice::Pinned((*version).to_owned())));
    let choices: Vec<_> = std::iter::once(("auto", ProtocolChoice::Auto)).chain(versions).collect();
    let choice = reader.choice(&choices)?;
    let newest = ProtocolChoice::Pinned(STATELESS_VERSION.to_owned());
    if choice == newest && matches!(transport, TransportConfig::Http { sse: true, .. }) {
        return reader.fail("this protocol version does not have the HTTP+SSE transport (`type: sse`)");
    }
    Some(choice)
}
