//! What processes tell each other. Notes go through the store, sealed for their reader.

use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use proxy_json::Raw;
use proxy_model::{Principal, PrincipalData, Realm, Who};

/// A note to all processes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum News {
    /// A session has ended.
    Ended { session: String },
    /// All sessions of a person that were born until then have ended.
    EndedUntil { person: String, born: u64 },
    /// What the store knows of a session has changed.
    Changed { session: String },
    /// The client of a session has cancelled a request that the sender does not run.
    Cancelled { session: String, person: String, params: Raw },
}

/// A note to one process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HomeNote {
    /// The client of a session has responded to a request of this process.
    Response { session: String, person: String, message: Raw },
    /// The sender would hold this connection of a client, which this process holds.
    Wanted { connection: String },
    /// A request that only this process can answer.
    Request { number: u64, from: String, request: Box<ForwardedRequest> },
    /// The sender no longer waits for the answer.
    Withdrawn { number: u64, from: String },
    /// The answer to a request.
    Answer { number: u64, answer: ForwardedAnswer },
}

/// A client's request as the process that received it has checked it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForwardedRequest {
    pub(crate) principal: ForwardedPrincipal,
    /// The id of the session; none for a stateless request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The JSON-RPC request.
    pub(crate) message: Raw,
    /// The headers that scripts see.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) peer: Option<IpAddr>,
    /// The proxies that the request has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hops: Option<Arc<str>>,
}

/// The outcome of a forwarded request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ForwardedAnswer {
    /// The JSON-RPC response.
    Response(Raw),
    /// The request was cancelled, so there is no response.
    Cancelled,
    /// The process cannot answer.
    Refused,
}

/// A [`Principal`], for the store.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForwardedPrincipal {
    realm: ForwardedRealm,
    sub: Arc<str>,
    email: Arc<str>,
    name: Arc<str>,
    groups: Arc<[String]>,
    claims: Arc<str>,
    scopes: Arc<[String]>,
    client_id: Arc<str>,
    rights: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    profile: Option<Arc<str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ForwardedRealm {
    Anonymous,
    Local,
    Static,
    Issuer(Arc<str>),
}

impl ForwardedPrincipal {
    /// A digest of who it is, for names in the store, which have no names of people.
    pub(crate) fn digest(&self) -> String {
        let realm = match &self.realm {
            ForwardedRealm::Anonymous => "anonymous",
            ForwardedRealm::Local => "local",
            ForwardedRealm::Static => "static",
            ForwardedRealm::Issuer(issuer) => issuer,
        };
        proxy_json::hex(&Sha256::digest(format!("{realm}\0{}", self.sub)))
    }
}

impl From<&Principal> for ForwardedPrincipal {
    fn from(principal: &Principal) -> Self {
        // Destructured, so that the compiler reports a member that is missing here.
        let PrincipalData { who: Who { realm, sub }, email, name, groups, claims, scopes, client_id, rights } =
            PrincipalData::clone(principal);
        let realm = match realm {
            Realm::Anonymous => ForwardedRealm::Anonymous,
            Realm::Local => ForwardedRealm::Local,
            Realm::Static => ForwardedRealm::Static,
            Realm::Issuer(issuer) => ForwardedRealm::Issuer(issuer),
        };
        let profile = principal.profile().cloned();
        ForwardedPrincipal { realm, sub, email, name, groups, claims, scopes, client_id, rights, profile }
    }
}

impl From<ForwardedPrincipal> for Principal {
    fn from(forwarded: ForwardedPrincipal) -> Self {
        let ForwardedPrincipal { realm, sub, email, name, groups, claims, scopes, client_id, rights, profile } =
            forwarded;
        let realm = match realm {
            ForwardedRealm::Anonymous => Realm::Anonymous,
            ForwardedRealm::Local => Realm::Local,
            ForwardedRealm::Static => Realm::Static,
            ForwardedRealm::Issuer(issuer) => Realm::Issuer(issuer),
        };
        let data = PrincipalData { who: Who { realm, sub }, email, name, groups, claims, scopes, client_id, rights };
        Principal::from(data).in_profile(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_is_the_same_behind_the_store() {
        let issuer = Realm::Issuer("https://login.example".into());
        let data = PrincipalData {
            email: "ann@example".into(),
            groups: vec!["ops".to_owned()].into(),
            claims: r#"{"team":"a"}"#.into(),
            scopes: vec!["mcp".to_owned()].into(),
            client_id: "client".into(),
            rights: "digest".into(),
            name: "Ann".into(),
            who: Who { realm: issuer, sub: "corp:ann".into() },
        };
        let ann = Principal::named("ann").in_profile(Some("research".into()));
        for principal in [data.into(), Principal::anonymous(), ann, Principal::local("ann")] {
            let text = serde_json::to_string(&ForwardedPrincipal::from(&principal)).unwrap();
            let read: ForwardedPrincipal = serde_json::from_str(&text).unwrap();
            assert_eq!(Principal::from(read), principal);
        }
    }
}
