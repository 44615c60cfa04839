//! What is left of what was replaced: nothing.

use std::time::Duration;

use super::{renamed, serving};
use crate::soak::measure::Measure;
use crate::support::config::Config;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

/// The servers among the processes that the proxy has started.
fn children(proxy: &StdioProxy) -> usize {
    let own = proxy.client.program.id().to_string();
    let all = std::fs::read_dir("/proc").expect("there is a /proc").flatten();
    let stats = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let is_server = |stat: &String| {
        let Some((name, rest)) = stat.rsplit_once(')') else { return false };
        let mut rest = rest.split_whitespace();
        name.contains("(fake") && rest.next() != Some("Z") && rest.next() == Some(own.as_str())
    };
    stats.filter(is_server).count()
}

/// Waits until so many servers run.
pub async fn children_become(proxy: &StdioProxy, wanted: usize) {
    let count = async {
        while children(proxy) != wanted {
            // Another process's end is only visible by looking.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(&format!("{wanted} servers, not {}", children(proxy)), proxy.client.stderr(), count).await;
}

fn config(round: usize) -> String {
    let timeout = serde_json::json!({"timeout": format!("{}s", 60 + round % 2)});
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .server_with("other", &fake_backend(["--only", "pid"]), timeout)
        .section("sessionInit: { scriptFile: policy.star }");
    config.text()
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn a_hundred_reloads_leave_no_thread_file_or_process_behind() {
    const FIRST: usize = 20;
    let proxy = Proxy::with_config_text(&config(0)).file("policy.star", &renamed("tool_0"));
    let mut proxy = serving(proxy).await;
    let mut early = None;
    for round in 1..=100 {
        proxy.write("policy.star", &renamed(&format!("tool_{round}")));
        assert_eq!(proxy.changed_tools().await, [format!("tool_{round}")]);
        // Every fifth time a server is started again, too.
        if round % 5 == 0 {
            let before = proxy.client.stderr().text().matches("; restarted: `other`").count();
            proxy.write("proxy.yaml", &config(round / 5));
            proxy.client.stderr().times("; restarted: `other`", before + 1).await;
        }
        if round == FIRST {
            children_become(&proxy, 2).await;
            early = Some(Measure::of(proxy.client.program.id()));
        }
    }
    children_become(&proxy, 2).await;
    let growth = Measure { resident_kilobytes: 24 * 1024, files: 4, threads: 4 };
    let late = Measure::of(proxy.client.program.id());
    assert_eq!(late.exceeds(&early.expect("it was measured"), &growth), None);
}
