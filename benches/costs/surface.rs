//! A script run and its surface over a thousand tools.

use std::sync::Arc;
use std::time::Instant;

use proxy_config::Config;
use proxy_engine::gateway::script_source;
use proxy_engine::results::{Addressee, LargeResult, PageLimit, PagedResults, TextSize, ToolBehind};
use proxy_json as json;
use proxy_model::{BackendKind, BackendView, Definition, ItemKind, Lists, Owner, ServerInfo, Snapshot};
use proxy_store::Store;
use proxy_wire::Revision;

const SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":"What to look for"},"limit":{"type":"integer"}},"required":["query"]}"#;

/// A schema of which a client accepts little, as generators write it.
const LOWERED: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"query":{"type":"string","description":"What to look for"},"limit":{"type":["integer","null"],"default":10},"sort":{"$ref":"#/$defs/Sort"},"filter":{"anyOf":[{"$ref":"#/$defs/Filter"},{"type":"null"}]},"fields":{"type":"array"},"mode":{"const":"fast"},"page":{"type":"integer","enum":[1,2,3]}},"required":["query"],"$defs":{"Sort":{"type":"object","properties":{"by":{"type":"string"},"descending":{"type":"boolean"}}},"Filter":{"type":"object","properties":{"field":{"type":"string"},"value":{"type":["string","number"]},"and":{"type":"array","items":{"type":"string","format":"date"}}}}}}"##;

/// Ten servers with a hundred tools each.
pub fn servers() -> Vec<Arc<BackendView>> {
    servers_with(SCHEMA)
}

fn servers_with(schema: &str) -> Vec<Arc<BackendView>> {
    (0..10)
        .map(|server| {
            let tools = (0..100)
                .map(|tool| {
                    let raw = format!(
                        r#"{{"name":"tool_{server}_{tool}","description":"Does thing number {tool} of server {server} for somebody","inputSchema":{schema}}}"#
                    );
                    Arc::new(Definition::parse(ItemKind::Tool, json::valid(raw).unwrap()).unwrap())
                })
                .collect();
            Arc::new(BackendView::ready(&format!("server{server}"), BackendKind::Stdio, ServerInfo::default(), Lists { tools, ..Lists::default() }))
        })
        .collect()
}

/// Milliseconds to make the list of a thousand tools for a client that accepts none of them as it is; the best of several.
pub fn lowering() -> f64 {
    let snapshot = Arc::new(Snapshot { version: 1, generation: 1, backends: servers_with(LOWERED) });
    let script_source = script_source(&Config::default_for(std::path::Path::new(".")), None).unwrap();
    (0..10)
        .map(|_| {
            let surface = script_source.build(&snapshot).unwrap();
            let dialect = surface.dialects().named("gemini-cli").unwrap();
            let started = Instant::now();
            surface.prepare_list(dialect, Revision::V2025_11_25);
            let measured = started.elapsed().as_secs_f64() * 1e3;
            assert!(surface.has_lowered(dialect, Revision::V2025_11_25));
            assert!(surface.tools().all(|tool| tool.lowered(surface.dialects(), dialect).unwrap().is_changed()));
            measured
        })
        .fold(f64::INFINITY, f64::min)
}

/// Milliseconds to split a result of a megabyte, 500,000 numbers, into pages; the best of several.
pub async fn paging() -> f64 {
    let results = Arc::new(PagedResults::default());
    let store = Store::memory();
    let numbers = vec!["1"; 500_000].join(",");
    let result = json::valid(format!(r#"{{"content":[],"structuredContent":{{"items":[{numbers}]}}}}"#)).unwrap();
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let large = LargeResult {
            result: result.clone(),
            limit: PageLimit { size: TextSize::tokens(10_000), row: "other".into() },
            tool: ToolBehind { name: "numbers".into(), carrier: None, labels: Vec::new(), allowed_by: None },
            owner: Owner::Everybody,
            addressee: Addressee { reader: Some("read_result"), has_links: true },
            keeps: true,
        };
        let started = Instant::now();
        let fitted = results.fitted(&store, large).await;
        best = best.min(started.elapsed().as_secs_f64() * 1e3);
        assert!(fitted.id.is_some() && fitted.result.get().len() < 100_000);
    }
    best
}

/// Milliseconds from a snapshot of them to a surface; the best of several.
pub fn cost() -> f64 {
    let snapshot = Arc::new(Snapshot { version: 1, generation: 1, backends: servers() });
    let script_source = script_source(&Config::default_for(std::path::Path::new(".")), None).unwrap();
    (0..10)
        .map(|_| {
            let started = Instant::now();
            let surface = script_source.build(&snapshot).unwrap();
            assert_eq!(surface.listed(ItemKind::Tool), 1000);
            started.elapsed().as_secs_f64() * 1e3
        })
        .fold(f64::INFINITY, f64::min)
}
