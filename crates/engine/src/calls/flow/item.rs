//! What a request to a server is about.

use std::borrow::Cow;
use std::sync::Arc;

use crate::surface::Surface;
use proxy_config::Flow;
use proxy_json::{Object, RawRef};
use proxy_model::flow::Labels;
use proxy_model::{ItemKind, ItemRef};
use proxy_wire::completion;

/// The item of a server, or a method that MCP does not define.
#[derive(Clone, Debug)]
pub enum FlowItem {
    Item {
        target: ItemRef,
        /// The URI, if the item is a template or a resource that is not listed.
        uri: Option<String>,
    },
    Method {
        server: Arc<str>,
        method: String,
    },
}

impl FlowItem {
    /// An item with the params of a request for it.
    pub fn of(target: &ItemRef, params: &RawRef) -> Self {
        let is_resource = matches!(target.kind, ItemKind::Resource | ItemKind::ResourceTemplate);
        let uri = || Object::of(params).ok()?.string("uri");
        FlowItem::Item { target: target.clone(), uri: if is_resource { uri() } else { None } }
    }

    pub(super) fn labels(&self, surface: &Surface, flow: &Flow) -> Labels {
        match self {
            FlowItem::Item { target, uri } => surface.labels_of(flow, target, uri.as_deref()).labels,
            FlowItem::Method { server, method } => Surface::labels_of_method(flow, server, method),
        }
    }

    /// The name under which the conversation knows the item.
    pub(super) fn name(&self, surface: &Surface) -> String {
        match self {
            FlowItem::Item { uri: Some(uri), .. } => surface.published_key(ItemKind::Resource, uri).to_owned(),
            FlowItem::Item { target, uri: None } => surface.named(target).name.to_string(),
            FlowItem::Method { method, .. } => method.clone(),
        }
    }

    /// The server that words are sent to.
    pub(super) fn server(&self) -> &Arc<str> {
        match self {
            FlowItem::Item { target, .. } => &target.backend,
            FlowItem::Method { server, .. } => server,
        }
    }
}

/// What did not happen to an item, for a request with this method: "called".
pub(super) fn participle(method: &str) -> Cow<'static, str> {
    match method {
        "tools/call" => "called".into(),
        "resources/read" => "read".into(),
        "prompts/get" => "used".into(),
        completion::METHOD => "completed".into(),
        "resources/subscribe" => "followed".into(),
        "tasks/update" => "updated".into(),
        _ => "sent".into(),
    }
}

/// Whether a request with this method carries anything to the server beside an id.
pub(super) fn carries_words(method: &str) -> bool {
    !matches!(method, "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/list")
}
