//! A Prometheus of the test's own, on a free port, that scrapes one address.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::patience::LONG_PATIENCE;
use super::real_servers::{free_port, missing};
use super::temp_dir::TempDir;

pub struct Prometheus {
    _directory: TempDir,
    address: String,
    child: Child,
}

impl Prometheus {
    /// None where there is no `prometheus`, which is said aloud.
    pub fn scraping(target: &str, rules: &str) -> Option<Self> {
        let version = Command::new("prometheus").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !version.is_ok_and(|status| status.success()) {
            return missing("there is no `prometheus`");
        }
        let (directory, address) = (TempDir::new(), format!("127.0.0.1:{}", free_port()));
        let config = format!(
            "global: {{scrape_interval: 1s}}\nrule_files: ['{rules}']\n\
             scrape_configs: [{{job_name: mcp, static_configs: [{{targets: ['{target}']}}]}}]\n"
        );
        directory.write("prometheus.yml", &config);
        let mut command = Command::new("prometheus");
        command.arg(format!("--web.listen-address={address}")).current_dir(directory.path());
        command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Some(Prometheus { _directory: directory, address, child: child.expect("it was there just now") })
    }

    /// Asks until the answer is right.
    async fn ask<T>(&self, path: &str, right: impl Fn(&Value) -> Option<T>) -> T {
        let asking = async {
            loop {
                if let Ok(response) = reqwest::get(format!("http://{}{path}", self.address)).await {
                    let answer: Value = response.json().await.unwrap_or_default();
                    if let Some(right) = right(&answer) {
                        return right;
                    }
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        let answer = tokio::time::timeout(LONG_PATIENCE, asking).await;
        answer.unwrap_or_else(|_| panic!("Prometheus did not answer {path} as awaited"))
    }

    /// The value of a series, as soon as there is one.
    pub async fn value(&self, series: &str) -> f64 {
        let query: String = series.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let value =
            |answer: &Value| answer["data"]["result"][0]["value"][1].as_str().and_then(|text| text.parse().ok());
        self.ask(&format!("/api/v1/query?query={query}"), value).await
    }

    /// The number of alert rules that it has read.
    pub async fn rules(&self) -> usize {
        let rules = |answer: &Value| {
            let groups = answer["data"]["groups"].as_array()?;
            Some(groups.iter().map(|group| group["rules"].as_array().map_or(0, Vec::len)).sum())
        };
        self.ask("/api/v1/rules", rules).await
    }

    /// Why the last scrape failed; empty if it did not.
    pub async fn scrape_error(&self) -> String {
        let error = |answer: &Value| {
            let target = &answer["data"]["activeTargets"][0];
            (target["health"] != "unknown").then(|| target["lastError"].as_str().map(str::to_owned))?
        };
        self.ask("/api/v1/targets", error).await
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
