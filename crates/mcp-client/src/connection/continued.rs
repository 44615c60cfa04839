//! Goes on with a session at a server that another process has opened.

use http::HeaderValue;
use serde_json::Value;

use super::handshake::Negotiation;
use super::holder::{ServerSession, SessionIdText};
use crate::call::Attribution;
use crate::transport::{HttpTransport, Outgoing, QuestionTerms, Transport, TransportError};
use proxy_config::{ProtocolChoice, ServerConfig};
use proxy_model::{Abilities, ServerInfo};
use proxy_wire::{Revision, code};

/// The maximum size of capabilities that are kept for the next holder.
const MAX_CAPABILITIES: usize = 16 << 10;

/// The revision of a session, if the config still allows to go on with it.
pub(super) fn revision_of(session: &ServerSession, server: &ServerConfig, url: &str) -> Option<Revision> {
    let revision = Revision::parse(&session.revision).filter(|revision| !revision.is_stateless())?;
    let is_wanted = match &server.protocol {
        ProtocolChoice::Pinned(version) => *version == session.revision,
        ProtocolChoice::Auto => true,
    };
    (is_wanted && session.url == url && HeaderValue::from_str(&session.id.0).is_ok()).then_some(revision)
}

/// Asks the server whether it still knows the session. `None` if it does not: a new one begins.
pub(super) async fn go_on(
    transport: &Transport,
    server: &ServerConfig,
    attribution: &Attribution,
    declared: Abilities,
    session: &ServerSession,
    revision: Revision,
) -> Result<Option<Negotiation>, TransportError> {
    let Transport::Http(http) = transport else { return Ok(None) };
    let Ok(id) = HeaderValue::from_str(&session.id.0) else { return Ok(None) };
    http.go_on(revision, id);
    let attribution = attribution.clone();
    transport.set_question_terms(QuestionTerms { declared, timeout: server.input_timeout, attribution });
    match transport.request(Outgoing::plain(transport.next_id(), "ping", "{}".to_owned())).await {
        Ok(_) => Ok(Some(negotiation(session, revision, declared))),
        Err(TransportError::Rpc(error)) if error.code() == code::METHOD_NOT_FOUND => {
            Ok(Some(negotiation(session, revision, declared)))
        }
        // Some servers say 400 where the protocol says 404, with or without a JSON-RPC error.
        Err(TransportError::SessionExpired | TransportError::Rpc(_) | TransportError::Misfit(_)) => Ok(None),
        Err(TransportError::Unexpected(answer)) if (400..500).contains(&answer.status) && answer.status != 429 => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn negotiation(session: &ServerSession, revision: Revision, declared: Abilities) -> Negotiation {
    let info = ServerInfo {
        name: session.server.clone(),
        version: String::new(),
        title: String::new(),
        instructions: String::new(),
        protocol_version: revision.as_str().to_owned(),
        capabilities: session.capabilities.clone(),
        implementation: Value::Null,
    };
    Negotiation { revision, info, declared }
}

/// What another process needs to go on with the session of a transport; `None` if there is none.
pub(super) fn session_of(
    http: &HttpTransport,
    server: &str,
    url: &str,
    revision: Revision,
    info: &ServerInfo,
) -> Option<ServerSession> {
    if revision.is_stateless() || info.capabilities.to_string().len() > MAX_CAPABILITIES {
        return None;
    }
    let id = http.session()?;
    Some(ServerSession {
        server: server.to_owned(),
        url: url.to_owned(),
        id: SessionIdText(id.to_str().ok()?.to_owned()),
        revision: revision.as_str().to_owned(),
        capabilities: info.capabilities.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_config::TransportConfig;

    #[test]
    fn a_session_goes_on_only_where_the_config_allows_it() {
        let url = "http://h/mcp";
        let transport = TransportConfig::Http { url: url.to_owned(), headers: Default::default(), sse: false };
        let server = ServerConfig::new(transport);
        let session = ServerSession {
            server: "s".to_owned(),
            url: url.to_owned(),
            id: SessionIdText("a".to_owned()),
            revision: "2025-06-18".to_owned(),
            capabilities: Value::Null,
        };
        assert_eq!(revision_of(&session, &server, url), Some(Revision::V2025_06_18));
        assert_eq!(revision_of(&session, &server, "http://other/mcp"), None);
        let pinned = ServerConfig { protocol: ProtocolChoice::Pinned("2025-11-25".to_owned()), ..server.clone() };
        assert_eq!(revision_of(&session, &pinned, url), None);
        for revision in ["2026-07-28", "1999-01-01", ""] {
            let session = ServerSession { revision: revision.to_owned(), ..session.clone() };
            assert_eq!(revision_of(&session, &server, url), None, "{revision}");
        }
        let session = ServerSession { id: SessionIdText("a\nb: c".to_owned()), ..session };
        assert_eq!(revision_of(&session, &server, url), None, "it is no header");
        assert!(!format!("{session:?}").contains("b: c"), "no log shows an id");
    }
}
