//! The tools of a whole data set, as the clients of every row get and call them:
//!
//!     TOOLS_FOLDER=FOLDER cargo test client_limits::data_set -- --ignored
//!
//! FOLDER has a `tools.jsonl` as `benches/tokens` reads it.

use std::path::Path;

use serde_json::{Value, json};

use super::{PASSTHROUGH, server, tool};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::proxy::Proxy;
use crate::support::real_servers;
use crate::support::temp_dir::TempDir;

/// Large results, such as what `seen` tells, stay whole.
const WHOLE_RESULTS: &str = "results: {maxTokens: off}";

fn tools(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("tools.jsonl")).expect("the folder has a `tools.jsonl`");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("every line is a tool"));
    lines.map(|line| as_published(&line)).collect()
}

/// The tool under a name that no other server's tool has.
fn as_published(line: &Value) -> Value {
    let text = |member: &str| line[member].as_str().unwrap_or_default();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    let name = format!("{}__{}", text("server"), text("name"));
    let name: String = name.chars().map(|it| if is_plain(it) { it } else { '_' }).collect();
    let mut tool = tool(&name, line["inputSchema"].clone());
    tool["description"] = line["description"].clone();
    tool
}

#[tokio::test]
#[ignore = "needs a folder with tools, and real validators"]
async fn every_row_takes_all_tools_of_a_data_set_and_their_servers_get_arguments_that_they_allow() {
    let Some(folder) = std::env::var_os("TOOLS_FOLDER") else {
        return real_servers::skip("`TOOLS_FOLDER` names no folder with tools");
    };
    let Some(client) = real_servers::client_of_a_data_set() else { return };
    let directory = TempDir::new();
    let tools = tools(folder.as_ref());
    let config = Config::new().server("fake", &server(&directory, &tools)).section(PASSTHROUGH).section(WHOLE_RESULTS);
    for name in ["claude-code", "cursor-vscode", "gemini-cli-mcp-client", "Visual Studio Code", "codex-mcp-client"] {
        let proxy = Proxy::new(&config).http().await;
        let mut command = client();
        command.arg(&proxy.url).arg(name).arg(directory.path().join("tools.json"));
        let report = Finished::run(command).await.expect(0).json();
        assert_eq!(report["faults"], json!([]), "{name}");
        // What is no schema is left as it is, except for a client whose row says what to do with it.
        let odd = report["odd"].as_array().map_or(0, Vec::len);
        let most = if name.starts_with("gemini") { 0 } else { tools.len() / 100 };
        assert!(odd <= most, "{name}: {}", report["odd"]);
        // One more is the server's own.
        assert_eq!(report["tools"].as_u64(), Some(tools.len() as u64 + 1), "{name}");
        let refused = report["refused"].as_array().map_or(0, Vec::len);
        let unmade = report["unmade"].as_array().map_or(0, Vec::len);
        let arrived = report["arrived"].as_u64().expect("the server told what arrived") as usize;
        assert_eq!(arrived + refused + unmade, tools.len(), "{name}: {report}");
        // What a step took away, arguments made without a thought for their meaning do not always keep.
        assert!((refused + unmade) * 20 < tools.len(), "{name}: {report}");
    }
}
