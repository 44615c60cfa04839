//! A result whose pages are kept.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::pages::Pages;
use super::path::Path;
use super::payload::Payload;
use super::size::TextSize;
use proxy_json::RawRef;
use proxy_model::ItemKind;

use crate::surface::Surface;

/// The tool that made a result, by the names of the surface, and what its conversation had read by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolBehind {
    pub name: String,
    /// The published tool that called it for the client, such as `call_tool`.
    pub carrier: Option<String>,
    /// The labels that whoever reads the result is marked with.
    pub labels: Vec<String>,
    /// What allowed the calls of a script that a model wrote, which may be of many tools: a digest of the policies and of the
    /// caller. None for other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<String>,
}

impl ToolBehind {
    /// The tool that a call by this published name leads to. A carrier that names no tool of its index stands for itself.
    pub fn of(surface: &Surface, name: &str, params: &RawRef) -> Self {
        let carried = || {
            let (carrier, _) = surface.find(ItemKind::Tool, name)?.carrier.as_ref()?;
            let carried = carrier.named_tool(params.member("arguments")?)?;
            carrier.index.tools().any(|tool| tool.definition.key() == carried).then_some(carried)
        };
        match carried() {
            Some(carried) => {
                ToolBehind { name: carried, carrier: Some(name.to_owned()), labels: Vec::new(), allowed_by: None }
            }
            None => ToolBehind { name: name.to_owned(), carrier: None, labels: Vec::new(), allowed_by: None },
        }
    }
}

/// A large result, in the form in which its pages are read. Reading never changes it.
#[derive(Debug)]
pub(crate) struct KeptResult {
    pub(crate) tool: ToolBehind,
    pub(super) payload: Payload,
    pub(super) pages: Pages,
    /// The size of a page.
    pub(super) page_size: TextSize,
}

/// What is stored beside the payload, from which everything else is made.
#[derive(Serialize, Deserialize)]
struct Head {
    tool: ToolBehind,
    json: bool,
    page_size: TextSize,
}

impl KeptResult {
    pub(super) fn new(tool: ToolBehind, payload: Payload, page_size: TextSize) -> Self {
        KeptResult { pages: Pages::of(&payload, page_size), tool, payload, page_size }
    }

    /// The part at a path, in pages of its own.
    ///
    /// # Errors
    /// What is wrong with the path, for the model.
    pub(super) fn part(&self, path: &Path) -> Result<KeptResult, String> {
        match &self.payload {
            Payload::Json(value) => {
                let part = Payload::of_json(&path.find(value)?);
                Ok(KeptResult::new(self.tool.clone(), part, self.page_size))
            }
            Payload::Text(_) => Err("this result is text: it has pages, but no `path`".to_owned()),
        }
    }

    /// The size in memory, about.
    pub(super) fn bytes(&self) -> usize {
        const PAGE: usize = 48;
        const OVERHEAD: usize = 512;
        self.payload.text().len() + self.pages.len() * PAGE + OVERHEAD
    }

    /// For the store: a line of JSON, and the payload.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        let head = Head { tool: self.tool.clone(), json: self.payload.is_json(), page_size: self.page_size };
        let mut bytes = serde_json::to_vec(&head).ok()?;
        bytes.push(b'\n');
        bytes.extend_from_slice(self.payload.text().as_bytes());
        Some(bytes)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (head, payload) = text.split_once('\n')?;
        let head: Head = serde_json::from_str(head).ok()?;
        let payload = if head.json {
            Payload::Json(proxy_json::valid(payload.to_owned()).ok()?)
        } else {
            Payload::Text(Arc::from(payload))
        };
        Some(KeptResult::new(head.tool, payload, head.page_size))
    }
}
