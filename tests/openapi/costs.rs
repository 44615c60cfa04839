//! What an API costs, measured on the program of the tests: compared in one run, because such numbers depend on the machine
//! and on how the program was built.

use std::time::Instant;

use serde_json::json;

use super::{Api, PETS, config, entry, started};
use crate::support::config::Config;
use crate::support::measure::{kilobytes, processor_seconds};
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_http_backend;
use crate::support::proxy::Proxy;
use crate::support::real_servers;

const CALLS: usize = 2000;

#[tokio::test]
#[ignore = "a measurement: run it alone, with --nocapture"]
async fn a_call_costs_no_more_than_one_of_an_http_server() {
    let api = Api::of_pets().await;
    let (_server, url) = fake_http_backend(&["--era", "modern", "--only", "echo"]).await;
    let servers = json!({"pets": entry(&api.url), "fake": {"url": url}});
    let config = Config::new().section(&format!("mcpServers: {servers}"));
    let mut proxy = started(Proxy::new(&config).file("pets.yaml", PETS)).await;
    proxy.client.tools_until(|names| names.len() == 4).await;
    let process = proxy.client.program.id();
    let mut ratios = Vec::new();
    for _ in 0..5 {
        let mut spent = [0.0; 2];
        for (index, (tool, arguments)) in
            [("echo", "{\"id\":\"7\"}"), ("getPet", "{\"id\":\"7\"}")].into_iter().enumerate()
        {
            let before = processor_seconds(process);
            for _ in 0..CALLS {
                proxy.client.call(tool, arguments).await.result();
            }
            spent[index] = (processor_seconds(process) - before) * 1e6 / CALLS as f64;
        }
        eprintln!("HTTP server: {:.0} us a call; API: {:.0} us", spent[0], spent[1]);
        ratios.push(spent[1] / spent[0]);
    }
    ratios.sort_by(f64::total_cmp);
    eprintln!("ratio: {:.2} (median of {})", ratios[2], ratios.len());
    assert!(ratios[2] < 1.5, "{ratios:?}");
}

#[tokio::test]
#[ignore = "a measurement with a description of others, which is installed first"]
async fn a_thousand_operations_take_little_memory() {
    let Some(folder) = real_servers::descriptions() else { return };
    let api = Api::of_pets().await;
    let small = started(Proxy::new(&config(entry(&api.url))).file("pets.yaml", PETS)).await;
    let github = folder.join("node_modules/@octokit/openapi/generated/api.github.com.json");
    let began = Instant::now();
    let mut large = Proxy::new(&config(json!({"openapi": github, "url": api.url}))).stdio();
    large.client.program.stderr.patience = LONG_PATIENCE;
    large.client.initialize("2025-11-25").await.result();
    large.client.tools_until(|names| names.len() > 20).await;
    let listed = began.elapsed();
    let memory = |field| {
        let of = |process: u32| kilobytes(process, field) as f64 / 1024.0;
        of(large.client.program.id()) - of(small.client.program.id())
    };
    eprintln!(
        "listed after {listed:?}; {:.0} MiB more at rest, {:.0} MiB more at the peak",
        memory("VmRSS"),
        memory("VmHWM")
    );
    assert!(memory("VmRSS") < 200.0);
}
