//! The keys of a server.

use std::path::Path;

use indexmap::IndexMap;

use super::super::reader::{Fields, Reader};
use super::transport::read_transport;
use super::{PROTOCOL_VERSIONS, ProtocolChoice, Server, name_problem};

pub fn read_servers(reader: &Reader, folder: &Path) -> Option<IndexMap<String, Server>> {
    let servers = reader.map(|name, server| {
        if let Some(problem) = name_problem(name) {
            server.report(server.problem(&problem).at(server.place()));
        }
        read_server(server, folder)
    });
    servers.map(|servers| servers.into_iter().collect())
}

fn read_server(reader: &Reader, folder: &Path) -> Option<Server> {
    let mut fields = reader.fields()?;
    let transport = read_transport(&mut fields, reader, folder);
    // A server without a way to reach it is reported already; its other keys are still read for their errors.
    let mut server = Server::new(transport.clone().unwrap_or_else(super::transport::nowhere));
    server.place = Some(reader.place());
    fields.set(&mut server.disabled, "disabled", Reader::boolean);
    read_timeouts(&mut fields, &mut server);
    fields.set(&mut server.start_timeout, "startTimeout", Reader::timeout);
    fields.set(&mut server.required, "required", Reader::boolean);
    if let Some(mut restart) = fields.read("restart", Reader::fields) {
        restart.set(&mut server.max_backoff, "maxBackoff", Reader::timeout);
        restart.finish();
    }
    fields.set(&mut server.max_message_bytes, "maxMessageBytes", Reader::size);
    fields.set(&mut server.protocol, "protocol", read_protocol);
    fields.set(&mut server.probe_timeout, "probeTimeout", Reader::timeout);
    fields.set(&mut server.grace, "grace", Reader::duration);
    fields.planned(&["scope", "circuitBreaker", "maxConcurrent", "forwardHeaders", "methods", "inputTimeout"]);
    fields.finish();
    transport.map(|_| server)
}

fn read_timeouts(fields: &mut Fields, server: &mut Server) {
    fields.set(&mut server.timeout, "timeout", Reader::timeout);
    match fields.get("maxTimeout") {
        // A long `timeout` alone is meant as it is written.
        None => server.max_timeout = server.max_timeout.max(server.timeout),
        Some(reader) => {
            let Some(max_timeout) = reader.timeout() else { return };
            server.max_timeout = max_timeout;
            if max_timeout < server.timeout {
                let timeout = server.timeout.as_millis();
                reader.fail::<()>(&format!("must not be shorter than `timeout`, which is {timeout}ms"));
            }
        }
    }
}

fn read_protocol(reader: &Reader) -> Option<ProtocolChoice> {
    let versions = PROTOCOL_VERSIONS.iter().map(|version| (*version, ProtocolChoice::Pinned((*version).to_owned())));
    let choices: Vec<_> = std::iter::once(("auto", ProtocolChoice::Auto)).chain(versions).collect();
    reader.choice(&choices)
}
