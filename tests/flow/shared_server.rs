//! One server behind several proxies, which tells what reached it.

use serde_json::Value;

use super::tools;
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::program::Program;
use crate::support::programs::fake_http_backend;
use crate::support::temp_dir::TempDir;

pub(super) struct SharedServer {
    _folder: TempDir,
    program: Program,
    url: String,
}

impl SharedServer {
    pub(super) async fn start() -> Self {
        let folder = TempDir::new();
        let file = folder.write("tools.json", &tools().to_string());
        let arguments = ["--era", "legacy", "--builtin", "--only", "seen", "--tools"];
        let (program, url) = fake_http_backend(&[&arguments[..], &[file.to_str().expect("a path")]].concat()).await;
        SharedServer { _folder: folder, program, url }
    }

    /// A proxy in front of it.
    pub(super) fn config(&self, sections: &[&str]) -> Config {
        let config = Config::new().remote("fake", &self.url);
        sections.iter().fold(config, |config, section| config.section(section))
    }

    /// The tools that were called with this in their text, in order.
    pub(super) async fn calls_with(&self, text: &str) -> Vec<String> {
        let mut client = HttpClient::new(&self.url, self.program.stderr.clone());
        client.initialize("2025-11-25").await.result();
        let seen = client.call("seen", "{}").await.value();
        let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
        let messages = messages.iter().filter_map(|message| serde_json::from_str(message.as_str()?).ok());
        let calls = messages.filter(|message: &Value| message["method"] == "tools/call");
        let params = calls.map(|call| call["params"].clone());
        let params =
            params.filter(|params| params["arguments"]["text"].as_str().is_some_and(|sent| sent.contains(text)));
        params.map(|params| params["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
