//! The command of the entry: what the client starts.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{read, world};
use crate::support::finished::Finished;
use crate::support::programs;
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;

fn entry(proxy: &Proxy) -> Value {
    let text = read(proxy, "home/.cursor/mcp.json");
    serde_json::from_str::<Value>(&text).expect("it is JSON")["mcpServers"]["proxy"].clone()
}

#[tokio::test]
async fn the_client_can_start_what_is_written() {
    let proxy = world().file("proxy.yaml", "mcpServers: {}\n");
    proxy.run(["install", "cursor", "--yes"]).await.expect(0);
    let entry = entry(&proxy);
    let config = proxy.directory.path().join("proxy.yaml");
    assert_eq!(entry["args"], json!(["serve", "--config", config]), "a client starts it in another folder");
    let mut command = Command::new(entry["command"].as_str().expect("it is a path"));
    command.args(entry["args"].as_array().expect("there are arguments").iter().filter_map(Value::as_str));
    let mut client = StdioClient::start(command);
    client.initialize("2025-11-25").await;
    assert!(client.request("tools/list", "{}").await.tool_names().is_empty());
}

#[tokio::test]
async fn an_entry_serves_a_profile_that_the_config_has() {
    // given
    let config = "mcpServers: {}\nprofiles: { research: { servers: ['*'] }, sales: { servers: ['*'] } }\n";
    let proxy = world().file("proxy.yaml", config);
    // when
    proxy.run(["install", "cursor", "--profile", "research", "--yes"]).await.expect(0);
    // then
    let path = proxy.directory.path().join("proxy.yaml");
    assert_eq!(entry(&proxy)["args"], json!(["serve", "--config", path, "--profile", "research"]));
    let mut command = Command::new(entry(&proxy)["command"].as_str().expect("it is a path"));
    command.args(["serve", "--profile", "research", "--config"]).arg(&path);
    StdioClient::start(command).initialize("2025-11-25").await.result();
    // Another profile is another set of tools, so nothing appears twice.
    let second = ["install", "cursor", "--name", "sales", "--profile", "sales", "--yes"];
    let second = proxy.run(second).await.expect(0);
    assert!(!second.stderr.contains("twice"), "{}", second.stderr);
    let unknown = proxy.run(["install", "cursor", "--profile", "reserch", "--yes"]).await.expect(2);
    for part in ["no profile `reserch`", "did you mean `research`?"] {
        assert!(unknown.stderr.contains(part), "{}", unknown.stderr);
    }
    assert_eq!(entry(&proxy)["args"][4], "research");
    let link = proxy.run(["install", "--link", "vscode", "--profile", "sales"]).await.expect(0).stdout;
    assert!(link.contains("%22--profile%22%2C%22sales%22"), "{link}");
}

#[tokio::test]
async fn the_config_of_the_user_needs_no_option() {
    let proxy = world().file("home/.config/starlark-mcp-proxy/proxy.yaml", "mcpServers: {}\n");
    proxy.run(["install", "cursor", "--yes"]).await.expect(0);
    assert_eq!(entry(&proxy)["args"], json!(["serve"]));
    let other = world();
    let warned = other.run(["install", "cursor", "--yes"]).await.expect(0).stderr;
    assert!(warned.contains("there is no config") && warned.contains("`--import`"), "{warned}");
}

/// The program at another place, as a package manager puts it there.
fn program_at(proxy: &Proxy, place: &str) -> std::path::PathBuf {
    let path = proxy.directory.path().join(place);
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
    let own = programs::proxy();
    let own = Path::new(own.get_program());
    if std::fs::hard_link(own, &path).is_err() {
        std::fs::copy(own, &path).expect("the program can be copied");
    }
    path
}

async fn install_by(proxy: &Proxy, program: &Path, path: Option<&Path>, arguments: &[&str]) {
    let template = proxy.command(["install", "cursor", "--yes"]);
    let mut command = Command::new(program);
    command.args(template.get_args()).args(arguments).current_dir(proxy.directory.path());
    for (name, value) in template.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(path) = path {
        command.env("PATH", path);
    }
    Finished::run(command).await.expect(0);
}

#[tokio::test]
async fn a_program_of_npx_or_uvx_is_started_by_them_again() {
    let proxy = world();
    let version = env!("CARGO_PKG_VERSION");
    let npx = program_at(&proxy, "home/.npm/_npx/1f/node_modules/proxy-linux-x64/bin/proxy");
    install_by(&proxy, &npx, None, &[]).await;
    let package = format!("starlark-mcp-proxy@{version}");
    assert_eq!(entry(&proxy), json!({"command": "npx", "args": ["-y", package, "serve"]}));
    let uvx = program_at(&proxy, "home/.cache/uv/archive-v0/x1/bin/starlark-mcp-proxy");
    install_by(&proxy, &uvx, None, &[]).await;
    assert_eq!(entry(&proxy), json!({"command": "uvx", "args": [package, "serve"]}));
}

#[tokio::test]
async fn a_program_on_the_path_is_named_as_it_is_found_there() {
    let proxy = world();
    let program = program_at(&proxy, "cellar/1.0/proxy");
    let bin = proxy.directory.directory("bin");
    std::os::unix::fs::symlink(&program, bin.join("proxy")).expect("a link can be made");
    install_by(&proxy, &program, Some(&bin), &[]).await;
    assert_eq!(entry(&proxy)["command"], json!(bin.join("proxy")));
    install_by(&proxy, &program, Some(&bin), &["--scope", "project"]).await;
    let text = read(&proxy, ".cursor/mcp.json");
    assert!(text.contains("\"command\": \"proxy\""), "others have it elsewhere: {text}");
}

#[tokio::test]
async fn links_carry_the_same_command() {
    let proxy = world().file("a b.yaml", "mcpServers: {}\n");
    let config = proxy.directory.path().join("a b.yaml");
    let link = proxy.run(["install", "--link", "vscode", "--config", "a b.yaml"]).await.expect(0).stdout;
    let escaped = link.trim().strip_prefix("vscode:mcp/install?").expect("it is a link");
    let entry: Value = serde_json::from_str(&decoded(escaped)).expect("it is JSON");
    assert_eq!((&entry["name"], &entry["type"]), (&json!("proxy"), &json!("stdio")));
    assert_eq!(entry["args"], json!(["serve", "--config", config]));
    let link = proxy.run(["install", "--link", "cursor", "--name", "my proxy"]).await.expect(0).stdout;
    let query = link.trim().strip_prefix("cursor://anysphere.cursor-deeplink/mcp/install?").expect("it is a link");
    let (name, config) = query.split_once("&config=").expect("it has both");
    assert_eq!(name, "name=my%20proxy");
    let text = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, decoded(config)).expect("base64");
    let entry: Value = serde_json::from_slice(&text).expect("it is JSON");
    assert_eq!(entry["args"], json!(["serve"]));
}

fn decoded(escaped: &str) -> String {
    let url = url::Url::parse(&format!("http://h/?x={escaped}")).expect("it is a URL");
    url.query_pairs().next().expect("it has a value").1.into_owned()
}
