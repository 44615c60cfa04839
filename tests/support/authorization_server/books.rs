//! What an authorization server knows: clients, codes, tokens, and which of them came from one log-in.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Client {
    pub secret: Option<String>,
    /// `none`, `client_secret_basic` or `client_secret_post`.
    pub method: &'static str,
    pub redirect_uris: Vec<String>,
    /// What the client said of itself.
    pub declared: Value,
}

#[derive(Clone, Debug)]
pub struct Code {
    pub client: String,
    pub redirect_uri: String,
    pub challenge: String,
    pub scopes: Vec<String>,
    pub resource: Option<String>,
}

#[derive(Clone, Debug)]
struct Access {
    scopes: Vec<String>,
    family: u64,
    until: Option<Instant>,
}

#[derive(Clone, Debug)]
pub struct Refresh {
    pub client: String,
    pub scopes: Vec<String>,
    pub resource: Option<String>,
    pub family: u64,
    spent: bool,
}

/// A refresh token that is not good.
pub enum BadRefresh {
    Unknown,
    /// Shown twice: everything that came from this log-in has ended.
    Reused,
}

#[derive(Debug, Default)]
pub struct Books {
    pub clients: HashMap<String, Client>,
    pub codes: HashMap<String, Code>,
    access: HashMap<String, Access>,
    refresh: HashMap<String, Refresh>,
    ended: HashSet<u64>,
    families: u64,
    pub reuses: usize,
    /// Everything that nobody else may see.
    pub secrets: Vec<String>,
}

impl Books {
    /// A new secret of this kind, which says what it is in a log that should not have it.
    pub fn secret(&mut self, kind: &str) -> String {
        let mut bytes = [0; 12];
        getrandom::fill(&mut bytes).expect("random bytes");
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let secret = format!("{kind}-{text}");
        self.secrets.push(secret.clone());
        secret
    }

    pub fn new_family(&mut self) -> u64 {
        self.families += 1;
        self.families
    }

    pub fn new_access(&mut self, family: u64, scopes: &[String], lifetime: Option<u64>) -> String {
        let token = self.secret("access");
        let until = lifetime.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        self.access.insert(token.clone(), Access { scopes: scopes.to_vec(), family, until });
        token
    }

    pub fn new_refresh(&mut self, refresh: Refresh) -> String {
        let token = self.secret("refresh");
        self.refresh.insert(token.clone(), refresh);
        token
    }

    /// The scopes of an access token that is good.
    pub fn scopes_of(&self, token: &str) -> Option<Vec<String>> {
        let access = self.access.get(token)?;
        let expired = access.until.is_some_and(|until| until <= Instant::now());
        (!expired && !self.ended.contains(&access.family)).then(|| access.scopes.clone())
    }

    /// Takes a refresh token. It is spent by that if it is replaced.
    pub fn use_refresh(&mut self, token: &str, replaced: bool) -> Result<Refresh, BadRefresh> {
        let Some(refresh) = self.refresh.get_mut(token) else { return Err(BadRefresh::Unknown) };
        if self.ended.contains(&refresh.family) {
            return Err(BadRefresh::Unknown);
        }
        if refresh.spent {
            self.ended.insert(refresh.family);
            self.reuses += 1;
            return Err(BadRefresh::Reused);
        }
        refresh.spent = replaced;
        Ok(refresh.clone())
    }

    /// Ends all access tokens, and nothing else.
    pub fn end_access_tokens(&mut self) {
        self.access.clear();
    }

    /// Ends all log-ins.
    pub fn end_log_ins(&mut self) {
        self.ended.extend(1..=self.families);
    }

    pub fn revoke(&mut self, token: &str) {
        self.access.remove(token);
        if let Some(refresh) = self.refresh.remove(token) {
            self.ended.insert(refresh.family);
        }
    }
}

impl Refresh {
    pub fn new(client: &str, scopes: &[String], resource: Option<String>, family: u64) -> Self {
        Self { client: client.to_owned(), scopes: scopes.to_vec(), resource, family, spent: false }
    }
}
