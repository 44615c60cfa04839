//! The tools of an API, as its description has them.

use std::sync::Arc;

use super::list_reports::{Reports, shown_size};
use crate::transport::ApiTransport;
use proxy_model::Definition;

/// The definitions up to this size in all, and what an operator should know. They share their memory with all connections to
/// the API.
pub(super) fn tools(server: &str, transport: &ApiTransport, max_bytes: usize) -> (Vec<Arc<Definition>>, Vec<String>) {
    let mut reports = Reports::default();
    let mut items = Vec::new();
    let mut room = max_bytes;
    let api = transport.description().api();
    for definition in api.definitions() {
        let Some(left) = room.checked_sub(definition.raw().get().len()) else {
            reports.conclude(format!(
                "the tools are larger than {} (`mcpServers.{server}.maxListBytes`): only the first {} are used",
                shown_size(max_bytes),
                items.len()
            ));
            break;
        };
        room = left;
        items.push(definition);
    }
    for remark in &api.remarks {
        reports.add(remark.clone());
    }
    (items, reports.finish())
}
