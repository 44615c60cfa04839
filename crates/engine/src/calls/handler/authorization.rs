//! Policies in handlers: which tools of a search index the caller may find and call.

use std::sync::Arc;

use super::host::RequestHost;
use crate::calls::permit::{AccessCheck, AccessRefusal};
use proxy_identity::cedar::{AccessCaller, AccessItem, Listed, Policies, PolicyAction};
use proxy_json::raw;
use proxy_model::ItemKind;
use proxy_script::{Authorization, ToolFacts, ToolRefusal};

pub(in crate::calls) struct HostAuthorization {
    host: Arc<RequestHost>,
    /// The policies for lists, as of the handler's start. Calls are checked against the newest policies.
    policies: Arc<Policies>,
}

impl HostAuthorization {
    pub(in crate::calls) fn new(host: Arc<RequestHost>, policies: Arc<Policies>) -> Self {
        HostAuthorization { host, policies }
    }
}

fn item(tool: ToolFacts<'_>) -> AccessItem<'_> {
    let (server, original) = tool.origin.map_or(("", ""), |(server, name)| (server.as_ref(), name.as_ref()));
    let (action, id) = (PolicyAction::CallTool, tool.name);
    AccessItem { action, id, server, original, definition: Some(tool.definition) }
}

impl Authorization for HostAuthorization {
    fn fingerprint(&self) -> String {
        let request = &self.host.request;
        let client = (request.client.name(), request.client.version());
        let policies = self.host.dispatcher.policies().number();
        format!("{policies:?} {:?} {client:?} {}", request.principal, request.name)
    }

    fn listed(&self, tools: &[ToolFacts<'_>]) -> Vec<bool> {
        let request = &self.host.request;
        let caller = AccessCaller { principal: &request.principal, client: &request.client };
        let items: Vec<AccessItem<'_>> = tools.iter().map(|tool| item(*tool)).collect();
        self.policies.list(caller, &items).into_iter().map(Listed::is_listed).collect()
    }

    fn note_hidden(&self, tool: ToolFacts<'_>) {
        self.host.access_check().note_hidden(&self.policies, item(tool));
    }

    fn remembered(&self, index: usize) -> Option<Arc<[bool]>> {
        self.host.surface.as_ref()?.remembered_index(index, &self.policies)
    }

    fn remember(&self, index: usize, listed: &Arc<[bool]>) {
        if let Some(surface) = &self.host.surface {
            surface.remember_index(index, &self.policies, listed);
        }
    }
}

/// Whether the caller may use a tool that is not published itself.
pub(super) fn admit(
    check: AccessCheck<'_>,
    tool: ToolFacts<'_>,
    arguments: &serde_json::Value,
) -> Result<Option<u64>, ToolRefusal> {
    let asked = check.admit(ItemKind::Tool, item(tool), |_| false, |_| Ok(Some(raw(arguments))));
    asked.map(|permit| permit.number()).map_err(|refusal| match refusal {
        AccessRefusal::Unknown => ToolRefusal::Unknown,
        AccessRefusal::Refused(text) => ToolRefusal::Refused(text),
        AccessRefusal::Fault(error) => ToolRefusal::Refused(error.to_string()),
    })
}
