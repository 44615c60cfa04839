//! What the operator does with people's accounts and sessions, as lines of the audit log.

use std::sync::Arc;
use std::time::SystemTime;

use http::StatusCode;

use super::api::{ControlApi, Refused, answer_json, body, problem};
use proxy_identity::bearer::no_such_user;
use proxy_model::operator_api::{AccountChange, AccountChangeKind, AccountChangeNoted, EndedSessions, SessionEnd};
use proxy_model::{CallPeer, Principal, Realm, SessionDigest};
use proxy_telemetry::audit::{AccountEvent, AuditEntry};
use proxy_wire::http::{HttpReply, SocketRequest};

impl ControlApi {
    /// Writes what a command has done with an account: commands end log-ins themselves, whether a proxy runs or not.
    pub(super) fn account_changed(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let AccountChange { server, user, issuer, event } = body(request)?;
        let realm = if issuer.is_empty() { Realm::Static } else { Realm::Issuer(issuer.into()) };
        let audited = self.audit(AuditEntry::Account {
            at: SystemTime::now(),
            event: match event {
                AccountChangeKind::Connected => AccountEvent::Connected,
                AccountChangeKind::Disconnected => AccountEvent::Disconnected,
            },
            principal: Box::new(Principal::of(realm, &user)),
            server,
            reason: None,
            by: request.uid.map(CallPeer::User),
        });
        answer_json(&AccountChangeNoted { audited })
    }

    /// Ends sessions. What the operator has to know of it beside their number is in the answer.
    pub(super) async fn end_sessions(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        match body(request)? {
            SessionEnd::User(user) => {
                let principal = self.principal(Some(&user))?;
                let mut ended = self.server.end_sessions_of(&principal).await;
                if ended.ended == 0
                    && let Some(unknown) = no_such_user(&self.gateway.authentication().borrow(), &user.sub)
                {
                    ended.problems.push(unknown.to_string());
                }
                self.audit_end(request, Some(principal), None, &ended);
                answer_json(&ended)
            }
            SessionEnd::Digest(digest) => {
                let digest = SessionDigest::parse(&digest).ok_or_else(|| {
                    problem(
                        StatusCode::BAD_REQUEST,
                        "a digest has 16 hexadecimal digits, as `proxy sessions` shows them",
                    )
                })?;
                let unknown = || problem(StatusCode::NOT_FOUND, "no session has this digest");
                let ended = self.server.end_session(digest).await.ok_or_else(unknown)?;
                self.audit_end(request, None, Some(digest), &ended);
                answer_json(&ended)
            }
        }
    }

    fn audit_end(
        &self,
        request: &SocketRequest,
        principal: Option<Principal>,
        session: Option<SessionDigest>,
        ended: &EndedSessions,
    ) {
        self.audit(AuditEntry::SessionsEnded {
            at: SystemTime::now(),
            principal: principal.map(Box::new),
            session: session.map(|session| session.to_string()),
            ended: ended.ended,
            by: request.uid.map(CallPeer::User),
        });
    }

    /// Whether there is an audit log.
    fn audit(&self, entry: AuditEntry) -> bool {
        let audit = self.gateway.calls().dispatcher.telemetry().audit().map(Arc::clone);
        if let Some(audit) = &audit {
            audit.add(entry);
        }
        audit.is_some()
    }
}
