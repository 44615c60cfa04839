//! Reads pages of results that were too large to be returned at once. The request runs through `on_request` like one that
//! forwards to the tool that made the result; policies decide about that tool, at each read.

use std::sync::Arc;

use super::call::Calls;
use super::context::{ItemCall, RequestContext};
use super::failed::failed;
use super::handler::run::{HandlerRun, HandlerWork};
use super::permit::AccessRefusal;
use crate::results::{Addressee, FindError, LargeResult, OwnItem, ReadRequest, ToolBehind};
use proxy_json::Raw;
use proxy_mcp_client::CallError;
use proxy_model::flow::Labels;
use proxy_model::{ItemKind, Owner, RecordedResult};
use proxy_wire::{Revision, RpcError};

impl RequestContext {
    /// Who may read the results of this request: the authenticated person, or the session, under the profile of the request.
    /// Anonymous requests without a session have nothing in common but the id of a result.
    fn results_owner(&self) -> Owner {
        let owner = match Owner::of_values(&self.principal, self.owner()) {
            Owner::Request(_) => Owner::Everybody,
            owner => owner,
        };
        owner.under(self.principal.profile())
    }

    fn addressee(&self) -> Addressee {
        Addressee {
            reader: crate::results::tool_name(&self.surface),
            has_links: self.revision.is_some_and(|revision| revision >= Revision::V2025_06_18),
        }
    }
}

impl Calls {
    /// What the client gets of the result of a tool: the whole result, or its first page if it is above the limit. `params` are
    /// those of the call.
    pub async fn fitted(&self, request: &RequestContext, name: &str, params: &Raw, result: Raw) -> Raw {
        let settings = self.results.settings();
        let limits = settings.for_client(&request.client);
        if !limits.has_any() {
            return result;
        }
        let mut tool = ToolBehind::of(&request.surface, name, params);
        let Some(limit) = limits.of_tool(&tool.name) else { return result };
        if result.get().len() <= limit.size.smallest_bytes() {
            return result;
        }
        if tool.carrier.is_none() && request.surface.find(ItemKind::Tool, &tool.name).is_some_and(|it| it.is_carrier())
        {
            tool.allowed_by = Some(self.allowed_by(request));
        }
        let name = tool.name.clone();
        let keeps = match self.marks(request).await {
            Ok(labels) => {
                tool.labels = labels.iter().map(|label| label.to_string()).collect();
                true
            }
            Err(error) => {
                tracing::warn!("the pages of a large result cannot be kept: {error}");
                false
            }
        };
        let owner = request.results_owner();
        let addressee = request.addressee();
        let fitted =
            self.results.fitted(&self.store, LargeResult { result, limit, tool, owner, addressee, keeps }).await;
        if let Some(id) = fitted.id {
            note(request, &id, Some(&name));
        }
        fitted.result
    }

    /// Answers a request for a page of a kept result.
    pub(super) async fn read_kept(
        &self,
        request: &RequestContext,
        call: ItemCall,
        own: OwnItem,
    ) -> Result<Raw, CallError> {
        if let Err(refused) = self.own_item_permit(request, call.kind, &call.key) {
            return refused.answer(call.kind);
        }
        let run = HandlerRun::new(request, HandlerWork::hook(true), call.clone());
        if request.surface.on_request().is_some()
            && let Some(answer) = Box::pin(self.handle(request, run)).await?
        {
            return Ok(answer);
        }
        let wanted = match own {
            OwnItem::Tool => ReadRequest::of_params(&call.params),
            OwnItem::Resource => ReadRequest::of_uri(&call.key),
        };
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(reason) => return wrong(call.kind, reason),
        };
        note(request, &wanted.shown_id(), None);
        let kept = match self.results.find(&self.store, &request.results_owner(), &wanted.id).await {
            Ok(kept) => kept,
            Err(FindError::NotKept) => return self.not_kept(call.kind, &wanted),
            Err(FindError::Unavailable(error)) => {
                tracing::warn!("a kept result cannot be read: {error}");
                return failed(call.kind, format!("`{}` cannot be read now: try again later", wanted.shown_id()), None);
            }
        };
        note(request, &wanted.id, Some(&kept.tool.name));
        match self.behind_permit(request, &kept.tool) {
            Ok(()) => {}
            Err(AccessRefusal::Unknown) => return self.not_kept(call.kind, &wanted),
            Err(refused) => return refused.answer(call.kind),
        }
        let labels: Labels = kept.tool.labels.iter().map(|label| Arc::from(label.as_str())).collect();
        if let Err(error) = self.mark(request, &labels, &kept.tool.name).await {
            tracing::warn!("a kept result is withheld: that it is read cannot be stored: {error}");
            return failed(call.kind, format!("`{}` cannot be read now: try again later", wanted.shown_id()), None);
        }
        match (self.results.page(kept, wanted, request.addressee()).await, own) {
            (Ok(page), OwnItem::Tool) => Ok(page.as_tool_result()),
            (Ok(page), OwnItem::Resource) => Ok(page.as_contents(&call.key)),
            (Err(reason), _) => wrong(call.kind, reason),
        }
    }

    /// The answer for results that never were, are over, or belong to somebody else.
    fn not_kept(&self, kind: ItemKind, wanted: &ReadRequest) -> Result<Raw, CallError> {
        match kind {
            ItemKind::Tool => failed(kind, wanted.not_kept(self.results.keep()), None),
            _ => Err(CallError::Unknown),
        }
    }
}

/// The answer to a request that cannot be understood.
fn wrong(kind: ItemKind, reason: String) -> Result<Raw, CallError> {
    match kind {
        ItemKind::Tool => failed(kind, reason, None),
        _ => Err(CallError::Rejected(RpcError::invalid_params(&reason))),
    }
}

/// Notes the result that a request has made or read.
fn note(request: &RequestContext, id: &str, tool: Option<&str>) {
    if let Some(recording) = &request.recording {
        let tool = tool.map(str::to_owned);
        recording.note(|noted| noted.kept = Some(RecordedResult { id: id.to_owned(), tool }));
    }
}
