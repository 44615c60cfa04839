//! Four servers, in both eras and on both transports, and two proxies in front of them.

use std::time::Duration;

use serde_json::json;

use super::measure::processes_named;
use crate::support::config::Config;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy, StdioProxy};

/// How many calls a server gets at a time.
pub const TURNS: usize = 32;
pub const SERVERS: [&str; 4] = ["old_pipe", "new_pipe", "old_web", "new_web"];

/// Every tool as it is and called by a handler, and whatever else there is.
const SCRIPT: &str = r#"
sessionInit:
  script: |
    def wrap(call):
        return lambda args: call(args)

    for name, backend in backends().items():
        for meta, call in backend.tools():
            publish(meta.replace(name = name + "_" + meta.name), call)
            publish(meta.replace(name = name + "_wrapped_" + meta.name), wrap(call))

    passthrough()
"#;

pub struct World {
    /// In the command line of every server, to find its process by.
    pub name: String,
    config: Config,
}

/// A server over HTTP, which is started anew at the same place whenever it died.
pub struct Web {
    era: &'static str,
    name: String,
    address: String,
    pub program: Program,
}

impl Web {
    async fn start(name: &str, era: &'static str, address: &str) -> (Self, String) {
        let flags = ["--http", address, "--era", era, "--name", name];
        let more: &[&str] = if era == "modern" { &["--prompts"] } else { &[] };
        let (program, url) = Program::start_server(fake_backend(flags.into_iter().chain(more.iter().copied()))).await;
        let address = url.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
        (Self { era, name: name.to_owned(), address, program }, url)
    }

    pub async fn restart(&mut self) {
        (*self, _) = Self::start(&self.name, self.era, &self.address).await;
    }
}

impl World {
    pub async fn start() -> (Self, [Web; 2]) {
        let name = format!("soak-{}", std::process::id());
        let (old, old_url) = Web::start(&name, "legacy", "127.0.0.1:0").await;
        let (new, new_url) = Web::start(&name, "modern", "127.0.0.1:0").await;
        let keys = json!({
            "maxConcurrent": TURNS, "timeout": "40s",
            "restart": {"maxBackoff": "1s"}, "circuitBreaker": {"failures": 5, "cooldown": "500ms"},
        });
        let config = Config::new()
            .server_with("old_pipe", &fake_backend(["--era", "legacy", "--name", &name, "--resources"]), keys.clone())
            .server_with("new_pipe", &fake_backend(["--era", "modern", "--name", &name]), keys.clone())
            .remote_with("old_web", &old_url, keys.clone())
            .remote_with("new_web", &new_url, keys)
            .section(SCRIPT);
        (Self { name, config }, [old, new])
    }

    /// One proxy on a pipe and one over HTTP, with all servers there.
    pub async fn serve(&self) -> (StdioProxy, HttpProxy) {
        let mut pipe = Proxy::new(&self.config).stdio();
        pipe.client.program.stderr.patience = LONG_PATIENCE;
        pipe.client.initialize("2025-11-25").await.result();
        let listed = |names: &[String]| SERVERS.iter().all(|server| names.contains(&format!("{server}_echo")));
        pipe.client.tools_until(listed).await;
        let mut web = Proxy::new(&self.config).http().await;
        web.program.stderr.patience = LONG_PATIENCE;
        web.program.stderr.line("ready: ").await;
        (pipe, web)
    }

    /// Waits for the end of every server's process.
    pub async fn nobody_is_left(&self) {
        let deadline = std::time::Instant::now() + LONG_PATIENCE;
        loop {
            let left = processes_named(&self.name);
            if left.is_empty() {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "still there: {left:?}");
            // Nobody tells of the end of a process that is not one's own child.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
