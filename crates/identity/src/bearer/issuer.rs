//! One issuer: its settings, its keys, and what there is to say about its tokens.

use std::sync::Arc;

use serde_json::{Value, json};

use super::keys::IssuerKeys;
use super::notices::Notices;
use proxy_config::IssuerConfig;

#[derive(Debug)]
pub(super) struct Issuer {
    pub(super) config: IssuerConfig,
    pub(super) keys: Arc<IssuerKeys>,
    pub(super) notices: Arc<Notices>,
}

impl Issuer {
    /// For `proxy status`.
    pub(super) fn report(&self) -> Value {
        let mut report = self.keys.report();
        report["omittedGroups"] = json!(self.notices.omitted_groups());
        report["oddClaims"] = json!(self.notices.odd_claims());
        report
    }
}
