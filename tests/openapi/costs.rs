//! What an API with a thousand operations costs.

use serde_json::json;

use super::{Api, PETS, config, entry, started};
use crate::support::measure::kilobytes;
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::Proxy;
use crate::support::real_servers;

#[tokio::test]
#[ignore = "a description of others, which is installed first"]
async fn a_thousand_operations_take_little_memory() {
    let Some(folder) = real_servers::descriptions() else { return };
    let api = Api::of_pets().await;
    let small = started(Proxy::new(&config(entry(&api.url))).file("pets.yaml", PETS)).await;
    let github = folder.join("node_modules/@octokit/openapi/generated/api.github.com.json");
    let mut large = Proxy::new(&config(json!({"openapi": github, "url": api.url}))).stdio();
    large.client.program.stderr.patience = LONG_PATIENCE;
    large.client.initialize("2025-11-25").await.result();
    large.client.tools_until(|names| names.len() > 20).await;
    let memory = |field| {
        let of = |process: u32| kilobytes(process, field) as f64 / 1024.0;
        of(large.client.program.id()) - of(small.client.program.id())
    };
    let more = memory("VmRSS");
    assert!(more < 100.0, "{more:.0} MiB more");
}
