//! `start`, `idleStop` and `required`: when a server runs. A server that the proxy cannot do without is never left alone.

use std::time::Duration;

use super::ServerConfig;
use super::settings::SettingsOf;
use crate::syntax::reader::{Fields, ValueReader};

/// When a server is started and stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestSettings {
    /// Whether a server whose lists are known is not started before it is needed (`start: lazy`).
    pub lazy: bool,
    /// A server that nothing has used for this long is stopped until it is needed; `None` to leave it running.
    pub idle_stop: Option<Duration>,
}

impl RestSettings {
    /// Whether the server may be stopped while the proxy runs.
    pub fn may_rest(&self) -> bool {
        self.lazy || self.idle_stop.is_some()
    }
}

/// Reads the keys after `scope`, on which they depend.
pub(super) fn read(fields: &mut Fields, server: &mut ServerConfig, of: SettingsOf) {
    let required = read_required(fields, server);
    let start = fields.get("start");
    let lazy = start.as_ref().and_then(|reader| reader.choice(&[("eager", false), ("lazy", true)]));
    let idle_stop = fields.get("idleStop");
    let idle = idle_stop.as_ref().and_then(ValueReader::timeout_or_off);
    let stops = idle.flatten().is_some();
    for (reader, rests) in [(&start, lazy == Some(true)), (&idle_stop, stops)] {
        let Some(reader) = reader else { continue };
        if !rests {
            continue;
        }
        if server.is_per_person() {
            report(reader, "has no effect here: the connection of a caller is opened when they need it");
        } else if required == Some(true) {
            report(reader, "conflicts with `required: true`: the proxy does not run without this server");
        }
    }
    if let Some(reader) = &idle_stop
        && stops
        && of == SettingsOf::Entry
        && server.session_scoped
    {
        report(reader, "conflicts with `scope: session`: the server knows things about each client that end with it");
    }
    server.rest.lazy = lazy.unwrap_or(server.rest.lazy);
    server.rest.idle_stop = idle.unwrap_or(server.rest.idle_stop);
    // What the entry says replaces a default that contradicts it.
    if required == Some(true) || (of == SettingsOf::Entry && server.session_scoped) {
        server.rest.idle_stop = None;
    }
    if required == Some(true) {
        server.rest.lazy = false;
    }
    server.required &= !server.rest.may_rest();
}

/// `required` has no effect if each caller has their own connection, because there is none before the first call.
fn read_required(fields: &mut Fields, server: &mut ServerConfig) -> Option<bool> {
    let reader = fields.get("required")?;
    let required = reader.boolean();
    server.required = required.unwrap_or_default();
    if server.required && server.is_per_person() {
        report(&reader, "has no effect here: each caller has their own connection");
    }
    required
}

fn report(reader: &ValueReader, problem: &str) {
    reader.report(reader.problem(problem).at(reader.place()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn each_server_says_when_it_runs() {
        let config = loaded(
            "mcpServers: {a: {command: x}, b: {command: x, start: lazy}, c: {url: 'http://h/', idleStop: 10m}, \
             d: {command: x, start: lazy, scope: session}}",
        );
        let rest = |name: &str| (config.servers[name].rest.lazy, config.servers[name].rest.idle_stop);
        assert_eq!([rest("a"), rest("b"), rest("d")], [(false, None), (true, None), (true, None)]);
        assert_eq!(rest("c"), (false, Some(Duration::from_secs(600))));
        let found = errors("mcpServers: {a: {command: x, start: soon, idleStop: 0s}, b: {command: x, idleStop: x}}");
        assert!(found[0].contains("`mcpServers.a.start`: expected one of `eager`, `lazy`"), "{found:?}");
        assert!(found[1].contains("`mcpServers.a.idleStop`: must be greater than zero"), "{found:?}");
        assert!(found[2].contains("expected a duration such as"), "{found:?}");
    }

    #[test]
    fn a_server_that_must_run_cannot_rest() {
        let found = errors(
            "mcpServers:\n  a: {command: x, required: true, start: lazy}\n  b: {command: x, required: true, idleStop: 1m}\n  \
             c: {command: x, scope: session, idleStop: 1m}\n",
        );
        let problem = "conflicts with `required: true`: the proxy does not run without this server";
        assert_eq!(found[0], format!("2:35 `mcpServers.a.start`: {problem}"));
        assert_eq!(found[1], format!("3:35 `mcpServers.b.idleStop`: {problem}"));
        assert!(found[2].starts_with("4:35 `mcpServers.c.idleStop`: conflicts with `scope: session`"), "{found:?}");
        // `eager` and `off` contradict nothing.
        loaded("mcpServers: {a: {command: x, required: true, start: eager, idleStop: off}}");
    }

    #[test]
    fn the_entry_wins_over_defaults_that_contradict_it() {
        let config = loaded(
            "defaults: {start: lazy, idleStop: 10m}\nmcpServers:\n  a: {command: x}\n  b: {command: x, required: true}\n  \
             c: {command: x, scope: session}\n  d: {command: x, start: eager, idleStop: off}\n",
        );
        let rest = |name: &str| (config.servers[name].rest.lazy, config.servers[name].rest.idle_stop.is_some());
        assert_eq!([rest("a"), rest("b")], [(true, true), (false, false)]);
        assert_eq!([rest("c"), rest("d")], [(true, false), (false, false)]);
        assert!(config.servers["b"].required);
        let config = loaded("defaults: {required: true}\nmcpServers: {a: {command: x}, b: {command: x, start: lazy}}");
        assert_eq!(["a", "b"].map(|name| config.servers[name].required), [true, false]);
        assert!(config.servers["b"].rest.lazy);
    }
}
