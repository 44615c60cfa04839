//! Servers that list more than anybody can use: what is beyond the limit is left out with a warning, and the memory and
//! the cache stay small.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::measure::kilobytes;
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

const PASSTHROUGH: &str = "sessionInit: {preset: passthrough@1}";

async fn start(fat: &str, keys: Value) -> StdioProxy {
    let backend = fake_backend(["--era", "legacy", "--fat", fat]);
    let mut proxy = Proxy::new(&Config::new().server_with("fake", &backend, keys).section(PASSTHROUGH)).stdio();
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

fn cache_size(proxy: &StdioProxy) -> u64 {
    let folder = proxy.world.directory.path().join("cache/starlark-mcp-proxy");
    let files = std::fs::read_dir(folder).expect("a cache").flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

#[tokio::test]
async fn a_definition_of_more_than_a_mebibyte_is_left_out_with_a_warning() {
    let mut proxy = start("1,2,1048576", json!({})).await;
    let warning = proxy.client.stderr().line("item 0 of `tools/list` was left out").await;
    assert!(warning.contains("`tool_0_0` has 1048644 bytes; the limit for a definition is 1 MiB"), "{warning}");
    assert!(proxy.tools().await.is_empty());

    let mut proxy = start("1,2,1048000", json!({})).await;
    assert_eq!(proxy.tools().await.len(), 2, "one that fits is listed");
}

#[tokio::test]
async fn a_list_ends_at_the_size_that_the_config_allows() {
    let mut proxy = start("5,3,1000", json!({"maxListBytes": "5KiB"})).await;
    let warning = proxy.client.stderr().line("`tools/list` is larger than").await;
    assert!(
        warning.contains("5120 bytes (`mcpServers.fake.maxListBytes`): only the first 4 items are used"),
        "{warning}"
    );
    assert_eq!(proxy.tools().await, ["tool_0_0", "tool_0_1", "tool_0_2", "tool_1_0"]);
    let mut proxy = start("5,3,1000", json!({"maxListBytes": "20KiB"})).await;
    assert_eq!(proxy.tools().await.len(), 15);
}

#[tokio::test]
#[cfg(target_os = "linux")]
#[ignore = "seconds of load"]
async fn hundreds_of_megabytes_of_lists_take_little_memory_and_little_of_the_disk() {
    let proxy = start("30,150,100000", json!({})).await;
    let warning = proxy.client.stderr().line("`tools/list` is larger than").await;
    assert!(warning.contains("64 MiB (`mcpServers.fake.maxListBytes`): only the first 670 items"), "{warning}");
    let mut proxy = proxy;
    proxy.client.tools_until(|names| !names.is_empty()).await;
    let peak = kilobytes(proxy.client.program.id(), "VmHWM") >> 10;
    assert!(peak < 640, "{peak} MiB");
    let cache = cache_size(&proxy);
    assert!((60 << 20..66 << 20).contains(&cache), "{cache} bytes");
}
