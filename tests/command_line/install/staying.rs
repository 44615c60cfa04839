//! Servers that `--import` leaves in the client, because only there they have all their values.

use super::{exists, read, world};
use crate::support::proxy::Proxy;

const CONFIG: &str = "home/.config/starlark-mcp-proxy/proxy.yaml";
const USER: &str = "home/.config/Code/User/mcp.json";

const VS_CODE: &str = r#"{
  "inputs": [{"id": "tok", "type": "promptString", "password": true}, {"id": "region", "default": "eu"}],
  "servers": {
    "git": {"command": "git-mcp", "args": ["--repository", "${workspaceFolder}/repo"]},
    "gh": {"command": "gh-mcp", "env": {"TOKEN": "${input:tok}"}},
    "aws": {"command": "aws-mcp", "env": {"REGION": "${input:region}"}}
  }
}
"#;

fn with_servers(place: &str) -> Proxy {
    world().file(place, VS_CODE)
}

#[tokio::test]
async fn a_server_of_the_workspace_and_one_with_a_prompt_stay_in_the_client() {
    let proxy = with_servers(USER);
    let shown = proxy.run(["install", "vscode", "--import", "--dry-run"]).await.expect(0);
    for told in [
        "warning: `git` stays in VS Code: `${workspaceFolder}` differs for each workspace\n",
        "warning: `gh` stays in VS Code: it needs the environment variable TOK, VS Code prompts for it\n",
        "1 server for the new file",
        "  aws: aws-mcp  (sets REGION)\n",
    ] {
        assert!(shown.stderr.contains(told), "{told} is not in {}", shown.stderr);
    }
    assert!(!shown.stderr.contains("git-mcp") && !exists(&proxy, CONFIG), "{}", shown.stderr);
    proxy.run(["install", "vscode", "--import", "--yes"]).await.expect(0);
    let client = read(&proxy, USER);
    assert!(client.contains("${workspaceFolder}/repo") && client.contains("${input:tok}"), "{client}");
    assert!(!client.contains("aws-mcp"), "{client}");
    let config = read(&proxy, CONFIG);
    assert!(config.contains("REGION:-eu") && !config.contains("git") && !config.contains("TOK"), "{config}");
    proxy.run(["check", "--config", CONFIG]).await.expect(0);
    proxy.run(["uninstall", "vscode", "--yes"]).await.expect(0);
    assert_eq!((read(&proxy, USER).as_str(), exists(&proxy, CONFIG)), (VS_CODE, false));
}

#[tokio::test]
async fn a_prompt_moves_when_its_variable_is_set() {
    let proxy = with_servers(USER).environment("TOK", "x");
    proxy.run(["install", "vscode", "--import", "--yes"]).await.expect(0);
    let config = read(&proxy, CONFIG);
    assert!(config.contains("TOKEN: \"${TOK}\""), "{config}");
}

#[tokio::test]
async fn a_server_of_a_project_moves_with_the_projects_folder() {
    let proxy = with_servers(".vscode/mcp.json").environment("TOK", "x");
    let said = proxy.run(["install", "vscode", "--scope", "project", "--import", "--yes"]).await.expect(0).stderr;
    let here = proxy.directory.path().canonicalize().expect("it is there").display().to_string();
    assert!(
        said.contains(&format!("`git` is the same for every workspace now: `${{workspaceFolder}}` is {here}\n")),
        "{said}"
    );
    assert!(said.contains(&format!("  git: git-mcp --repository {here}/repo  (in {here})\n")), "{said}");
    assert!(read(&proxy, "proxy.yaml").contains(&format!("{here}/repo")));
}
