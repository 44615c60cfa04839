//! One issuer: its settings, its keys, and notices about its tokens.

use std::sync::Arc;

use super::keys::IssuerKeys;
use super::notices::Notices;
use proxy_config::IssuerConfig;
use proxy_model::operator_api::IssuerStatus;

#[derive(Debug)]
pub(super) struct Issuer {
    pub(super) config: IssuerConfig,
    pub(super) keys: Arc<IssuerKeys>,
    pub(super) notices: Arc<Notices>,
}

impl Issuer {
    /// For `proxy status`.
    pub(super) fn report(&self) -> IssuerStatus {
        IssuerStatus {
            omitted_groups: self.notices.omitted_groups(),
            odd_claims: self.notices.odd_claims(),
            ..self.keys.report()
        }
    }
}
