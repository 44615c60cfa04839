//! `proxy install` and `proxy uninstall`: the proxy in the configs of other clients, as people have them.

mod claude_program;
mod coming_and_going;
mod launching;
mod moved_folders;
mod moving;
mod real_clients;
mod refusing;
mod several_clients;
mod staying;

use std::path::PathBuf;
use std::process::Command;

use super::empty;
use crate::support::finished::Finished;
use crate::support::proxy::Proxy;

/// A client, its file for the user, and a file of that kind in the corpus.
struct Client {
    name: &'static str,
    place: &'static str,
    fixture: &'static str,
    /// The section with the servers.
    section: &'static str,
}

const CLIENTS: [Client; 9] = [
    Client {
        name: "claude-desktop",
        place: "home/.config/Claude/claude_desktop_config.json",
        fixture: "claude-desktop/claude_desktop_config.json",
        section: "mcpServers",
    },
    Client {
        name: "claude-code",
        place: "home/.claude.json",
        fixture: "claude-code/claude.json",
        section: "mcpServers",
    },
    Client { name: "cursor", place: "home/.cursor/mcp.json", fixture: "cursor/mcp.json", section: "mcpServers" },
    Client { name: "vscode", place: "home/.config/Code/User/mcp.json", fixture: "vscode/mcp.json", section: "servers" },
    Client {
        name: "windsurf",
        place: "home/.codeium/windsurf/mcp_config.json",
        fixture: "windsurf/mcp_config.json",
        section: "mcpServers",
    },
    Client {
        name: "zed",
        place: "home/.config/zed/settings.json",
        fixture: "zed/settings.json",
        section: "context_servers",
    },
    Client { name: "codex", place: "home/.codex/config.toml", fixture: "codex/config.toml", section: "mcp_servers" },
    Client {
        name: "gemini",
        place: "home/.gemini/settings.json",
        fixture: "gemini/settings.json",
        section: "mcpServers",
    },
    Client {
        name: "opencode",
        place: "home/.config/opencode/opencode.json",
        fixture: "opencode/opencode.jsonc",
        section: "mcp",
    },
];

impl Client {
    fn text(&self) -> String {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/clients").join(self.fixture);
        std::fs::read_to_string(path).expect("the fixture is there")
    }
}

/// A home without a config of the proxy, and without the program of Claude Code.
fn world() -> Proxy {
    let bin = std::env::join_paths(["/usr/bin", "/bin"]).expect("they are plain");
    empty().environment("PATH", &bin.to_string_lossy())
}

fn read(proxy: &Proxy, place: &str) -> String {
    std::fs::read_to_string(proxy.directory.path().join(place)).expect("the file is there")
}

fn exists(proxy: &Proxy, place: &str) -> bool {
    proxy.directory.path().join(place).exists()
}

/// What the proxy keeps to undo an installation.
fn records(proxy: &Proxy) -> usize {
    let folder = proxy.directory.path().join("home/.local/state/starlark-mcp-proxy/installed");
    folder.read_dir().map_or(0, Iterator::count)
}

/// Runs a command on a disk that is so full that no file grows beyond this many blocks.
async fn run_on_full_disk(proxy: &Proxy, blocks: usize, arguments: &[&str]) -> Finished {
    let command = proxy.command(arguments.iter().copied());
    // A shell in between sets the limit.
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
    limited.arg(command.get_program()).args(command.get_args());
    limited.current_dir(proxy.directory.path());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    Finished::run(limited).await
}
