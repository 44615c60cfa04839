//! The token counts of tool definitions, offered by servers and published to a client.

use std::collections::HashMap;

use serde::Serialize;

use super::presets::{PresetTokens, PublishedTool};
use crate::admin::{ReportedItem, SurfaceReport};
use proxy_engine::surface::ItemHistory;
use proxy_model::ItemKind;
use proxy_search::estimate_tokens;

/// What `proxy tokens --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenReport {
    /// The tokens of all tools that servers offer.
    pub(super) offered: usize,
    /// The tokens of all published tools.
    pub(super) published: usize,
    pub(super) servers: Vec<ServerTokens>,
    /// By decreasing cost for the client, then for a client without the proxy.
    pub(super) tools: Vec<ToolTokens>,
    pub(super) presets: Vec<PresetTokens>,
    /// Token counts are estimates.
    estimated: bool,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerTokens {
    /// Empty for the tools that the script made.
    pub(super) server: String,
    offered_tools: usize,
    published_tools: usize,
    pub(super) offered: usize,
    pub(super) published: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolTokens {
    /// The name at the server; for a tool of the script, the published one.
    pub(super) tool: String,
    pub(super) server: String,
    /// `None` for a tool of the script.
    pub(super) offered: Option<usize>,
    /// `None` if it is not published.
    pub(super) published: Option<usize>,
    pub(super) published_as: Option<String>,
}

impl TokenReport {
    pub(super) fn new(
        surface: &SurfaceReport,
        published: &[PublishedTool],
        histories: &[ItemHistory],
        presets: Vec<PresetTokens>,
    ) -> Self {
        let mut servers: Vec<ServerTokens> =
            surface.servers.iter().map(|status| ServerTokens::of(&status.name)).collect();
        let mut offered: HashMap<(&str, &str), usize> = HashMap::new();
        for item in tools(&surface.offered) {
            let tokens = cost(item);
            let server = entry(&mut servers, &item.server);
            server.offered_tools += 1;
            server.offered += tokens;
            offered.insert((&item.server, item.definition.key()), tokens);
        }
        for tool in published {
            let server = entry(&mut servers, &tool.server);
            server.published_tools += 1;
            server.published += tool.tokens;
        }
        let published: HashMap<&str, usize> = published.iter().map(|tool| (tool.name.as_str(), tool.tokens)).collect();
        servers.retain(|server| server.offered_tools + server.published_tools > 0);
        let histories = histories.iter().filter(|history| history.kind == ItemKind::Tool);
        let mut tools: Vec<ToolTokens> = histories
            .map(|history| ToolTokens {
                tool: history.name.clone(),
                server: history.server.clone(),
                offered: offered.get(&(history.server.as_str(), history.name.as_str())).copied(),
                published: history.published_as.as_deref().and_then(|name| published.get(name)).copied(),
                published_as: history.published_as.clone(),
            })
            .collect();
        // What can still be saved first: what is not published costs nothing.
        tools.sort_by_key(|tool| std::cmp::Reverse((tool.published, tool.offered)));
        TokenReport {
            offered: servers.iter().map(|server| server.offered).sum(),
            published: servers.iter().map(|server| server.published).sum(),
            servers,
            tools,
            presets,
            estimated: true,
        }
    }
}

impl PublishedTool {
    pub(super) fn of(item: &ReportedItem) -> Self {
        PublishedTool { name: item.definition.key().to_owned(), server: item.server.clone(), tokens: cost(item) }
    }
}

impl ServerTokens {
    fn of(server: &str) -> Self {
        ServerTokens { server: server.to_owned(), ..ServerTokens::default() }
    }
}

/// The counts of a server, which are added if it is not among the known ones.
fn entry<'a>(servers: &'a mut Vec<ServerTokens>, name: &str) -> &'a mut ServerTokens {
    let position = servers.iter().position(|server| server.server == name).unwrap_or_else(|| {
        servers.push(ServerTokens::of(name));
        servers.len() - 1
    });
    &mut servers[position]
}

pub(super) fn tools(items: &[ReportedItem]) -> impl Iterator<Item = &ReportedItem> {
    items.iter().filter(|item| item.kind == ItemKind::Tool)
}

fn cost(item: &ReportedItem) -> usize {
    estimate_tokens(item.definition.raw().get())
}
