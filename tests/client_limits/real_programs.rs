//! The client programs of other people, with a model that is played: each lists all tools, offers them to the model, and makes
//! the calls that the model wants.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::real::{calls, calls_text, proxy};
use crate::support::finished::Finished;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::proxy::HttpProxy;
use crate::support::real_servers;
use crate::support::temp_dir::TempDir;

/// Where the client finds the proxy and the model.
struct Places<'a> {
    programs: &'a Path,
    home: &'a TempDir,
    proxy: &'a str,
    model: &'a str,
}

impl Places<'_> {
    /// The client with these arguments, in a home of its own and without an account.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        // Some wait for the end of their standard input.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" < /dev/null"]).arg(self.programs.join(program)).args(arguments);
        command.current_dir(self.home.directory("work")).env("HOME", self.home.path());
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "CODEX_HOME"] {
            command.env_remove(name);
        }
        command
    }
}

fn gemini(places: &Places<'_>) -> Command {
    let settings = json!({
        "mcpServers": {"proxy": {"httpUrl": places.proxy, "trust": true}},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "general": {"disableAutoUpdate": true, "disableUpdateNag": true},
    });
    places.home.write(".gemini/settings.json", &settings.to_string());
    let arguments = ["-p", "call", "--approval-mode", "yolo", "-m", "gemini-2.5-flash"];
    let mut command = places.command("gemini", &arguments);
    command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", places.model);
    command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    command
}

fn codex(places: &Places<'_>) -> Command {
    let config = format!(
        "model = \"any\"\nmodel_provider = \"local\"\n\
         [model_providers.local]\nname = \"local\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\
         [mcp_servers.proxy]\nurl = \"{}\"\nrequired = true\n",
        places.model, places.proxy
    );
    places.home.write(".codex/config.toml", &config);
    let arguments = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "call"];
    places.command("codex", &arguments)
}

fn opencode(places: &Places<'_>) -> Command {
    let config = json!({
        "model": "local/any", "small_model": "local/any", "autoupdate": false, "share": "disabled", "permission": "allow",
        "provider": {"local": {
            "npm": "@ai-sdk/openai-compatible", "name": "local",
            "options": {"baseURL": format!("{}/v1", places.model), "apiKey": "none"},
            "models": {"any": {"name": "any", "tool_call": true}},
        }},
        "mcp": {"proxy": {"type": "remote", "url": places.proxy, "enabled": true}},
    });
    places.home.write(".config/opencode/opencode.json", &config.to_string());
    places.command("opencode", &["run", "call"])
}

/// The names of all published tools, as clients may write them.
async fn published(proxy: &HttpProxy) -> Vec<String> {
    let mut client = proxy.client();
    client.initialize_as("2025-11-25", "somebody").await.result();
    client.request("tools/list", "{}").await.tool_names().iter().map(|name| plain(name)).collect()
}

/// Codex writes `_` for other characters.
fn plain(name: &str) -> String {
    name.replace('-', "_")
}

/// A client that is started in these places.
type StartedIn = fn(&Places<'_>) -> Command;

/// Lets a client make all calls, and returns what the model was sent at last.
async fn run(proxy: &HttpProxy, programs: &Path, client: StartedIn) -> Value {
    let home = TempDir::new();
    let (mut model, address) = Program::start_patiently(real_servers::model_api(&calls_text())).await;
    model.stderr.patience = LONG_PATIENCE;
    let command = client(&Places { programs, home: &home, proxy: &proxy.url, model: &address });
    let done = Finished::run(command).await.expect(0);
    assert!(done.stdout.contains("done"), "{}\n{}", done.stdout, done.stderr);
    let report = reqwest::get(format!("{address}/report")).await.expect("the model answers");
    serde_json::from_str(&report.text().await.expect("it is text")).expect("the report is JSON")
}

#[tokio::test]
#[ignore = "real clients and servers of other people, which are installed first"]
async fn client_programs_offer_every_tool_to_their_model_and_make_its_calls() {
    let directory = TempDir::new();
    let Some(programs) = real_servers::mcp_clients() else { return };
    let Some(proxy) = proxy(&directory).await else { return };
    let published = published(&proxy).await;
    assert!(published.len() > 100, "{published:?}");
    let clients: [(&str, StartedIn); 3] = [("gemini", gemini), ("codex", codex), ("opencode", opencode)];
    for (name, client) in clients {
        let report = run(&proxy, &programs, client).await;
        assert_eq!(report["error"], Value::Null, "{name}");
        let tools = report["tools"].as_array().expect("the model was sent tools");
        let offered: Vec<String> = tools.iter().filter_map(|tool| tool["name"].as_str().map(plain)).collect();
        for tool in &published {
            // A long name is cut off.
            let beginning = tool.get(..30).unwrap_or(tool);
            assert!(offered.iter().any(|name| name.contains(beginning)), "{name} does not offer {tool}: {offered:?}");
        }
        let results = report["results"].as_array().expect("the model was sent results");
        assert_eq!(results.len(), calls().len(), "{name}: {results:?}");
        for (result, (call, told)) in results.iter().zip(calls()) {
            assert!(result.as_str().is_some_and(|text| text.contains(told)), "{name}, {call}: {result}");
        }
    }
}
