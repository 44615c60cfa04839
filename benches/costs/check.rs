//! `proxy check` of the default preset over a thousand tools that the servers offered last.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use proxy_config as config;
use proxy_mcp_client::Cache;
use proxy_model::{ClientProfile, ViewVariant};

use crate::surface;

/// Milliseconds for the whole command; the best of several.
pub fn cost(proxy: &str, folder: &Path) -> f64 {
    let servers = surface::servers();
    let entries: String = servers.iter().map(|server| format!("  {}: {{ command: nobody }}\n", server.name)).collect();
    let file = folder.join("check.yaml");
    fs::write(&file, format!("mcpServers:\n{entries}")).unwrap();
    let (config, _) = config::load(&file, &|_: &str| None).unwrap();
    let cache = Cache::at(Some(folder.join("cache/starlark-mcp-proxy")));
    for server in &servers {
        let (info, lists) = (server.info.clone(), server.lists.clone());
        let seen = ViewVariant { profile: ClientProfile::TERMINAL, info, lists, lock: None };
        cache.save(&server.name, &config.servers[server.name.as_ref()], seen).unwrap();
    }
    let run = || {
        let started = Instant::now();
        let mut command = Command::new(proxy);
        command.arg("check").arg("--config").arg(&file).env("XDG_CACHE_HOME", folder.join("cache"));
        let done = command.stderr(Stdio::inherit()).output().unwrap();
        assert!(done.status.success());
        assert!(String::from_utf8_lossy(&done.stdout).contains("1000 tools published"));
        started.elapsed().as_secs_f64() * 1e3
    };
    (0..10).map(|_| run()).fold(f64::INFINITY, f64::min)
}
