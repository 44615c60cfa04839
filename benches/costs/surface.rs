//! A script run and its surface over a thousand tools.

use std::sync::Arc;
use std::time::Instant;

use proxy_config::Config;
use proxy_engine::gateway::script_source;
use proxy_json as json;
use proxy_model::{BackendKind, BackendView, Definition, ItemKind, Lists, Snapshot, Status};

/// Ten servers with a hundred tools each.
pub fn servers() -> Vec<Arc<BackendView>> {
    (0..10)
        .map(|server| {
            let tools = (0..100)
                .map(|tool| {
                    let raw = format!(
                        r#"{{"name":"tool_{server}_{tool}","description":"Does thing number {tool} of server {server} for somebody","inputSchema":{{"type":"object","properties":{{"query":{{"type":"string","description":"What to look for"}},"limit":{{"type":"integer"}}}},"required":["query"]}}}}"#
                    );
                    Arc::new(Definition::parse(ItemKind::Tool, json::valid(raw).unwrap()).unwrap())
                })
                .collect();
            Arc::new(BackendView {
                name: format!("server{server}").into(),
                kind: BackendKind::Stdio,
                status: Status::Ready,
                error: String::new(),
                info: Arc::default(),
                lists: Arc::new(Lists { tools, ..Lists::default() }),
                variants: Arc::default(),
                start_time: None,
                reports: Arc::default(),
                last_known: None,
                is_doubtful: false,
                lock: None,
            })
        })
        .collect()
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
