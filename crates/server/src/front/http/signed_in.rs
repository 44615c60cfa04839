//! What the pages ask of the front: who may sign in, and who has.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use super::HttpFront;
use crate::front::authenticator::{AuthFailure, Place};
use proxy_base::seal::Sealer;
use proxy_config::IssuerConfig;
use proxy_engine::gateway::Gateway;
use proxy_model::{Principal, Secret, Who};
use proxy_telemetry::audit::{AccountEvent, AuditEntry};

impl HttpFront {
    pub(super) fn gateway(&self) -> &Arc<Gateway> {
        &self.server.gateway
    }

    pub(super) fn sealer(&self) -> &Sealer {
        &self.server.sealer
    }

    /// Whether people of an issuer can sign in to the pages.
    pub(super) fn signs_people_in(&self) -> bool {
        self.authenticator.borrow().authentication.issuers.iter().any(|issuer| issuer.sign_in.is_some())
    }

    /// The issuers whose people can sign in to the pages.
    pub(super) fn sign_in_issuers(&self) -> Vec<IssuerConfig> {
        let authenticator = self.authenticator.borrow();
        authenticator.authentication.issuers.iter().filter(|issuer| issuer.sign_in.is_some()).cloned().collect()
    }

    /// A user as they come in at the top level, and under each profile that is for them.
    pub(super) fn everywhere(&self, principal: &Principal) -> Vec<Principal> {
        self.authenticator.borrow().everywhere(principal)
    }

    pub(super) fn required_scopes(&self) -> Vec<String> {
        self.authenticator.borrow().authentication.required_scopes.clone()
    }

    /// Whether requests of this user are accepted.
    pub(super) fn accepts(&self, who: &Who) -> bool {
        self.authenticator.borrow().accepts(who)
    }

    /// Whose token this is, by the same rules as for clients. The error says why it is not accepted.
    pub(super) async fn verified_person(
        &self,
        token: &Secret,
        peer: Option<IpAddr>,
    ) -> Result<Principal, &'static str> {
        let verifier = self.authenticator.borrow().verifier.clone();
        let Some(verifier) = verifier else { return Err("tokens of issuers are no longer accepted") };
        let verified = verifier.verify(token.reveal(), peer).await.map_err(AuthFailure::from);
        let admitted =
            verified.and_then(|verified| self.authenticator.borrow().admitted(&verifier, &verified, &Place::TOP));
        match admitted {
            Ok(caller) => Ok(caller.principal),
            Err(AuthFailure::Invalid(why) | AuthFailure::Malformed(why)) => Err(why),
            Err(AuthFailure::LacksRequiredScope) => Err("the token lacks a required scope"),
            Err(AuthFailure::NoToken | AuthFailure::NoProfile) => Err("there is no token"),
            Err(AuthFailure::Unavailable(_)) => Err("the token cannot be checked now"),
        }
    }

    /// Notes in the audit log what happened to a person's account.
    pub(super) fn audit_account(&self, event: AccountEvent, principal: &Principal, server: &str, reason: Option<&str>) {
        if let Some(audit) = self.server.telemetry.audit() {
            audit.add(AuditEntry::Account {
                at: SystemTime::now(),
                event,
                principal: Box::new(principal.clone()),
                server: server.to_owned(),
                reason: reason.map(str::to_owned),
                by: None,
            });
        }
    }
}
