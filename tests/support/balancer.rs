//! Load balancers of the test's own, with the configs of `contrib/replicas/`: what they have in common.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio::net::TcpStream;

use super::http_client::HttpClient;
use super::patience::within;
use super::program::Program;
use super::proxy::HttpProxy;
use super::temp_dir::TempDir;

/// Where the files expect the replicas.
pub const ADDRESSES: [&str; 3] = ["172.28.31.11", "172.28.31.12", "172.28.31.13"];

/// How a balancer chooses among the replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balancing {
    InTurn,
    BySession,
}

/// A replica on loopback: the ports where it serves clients, and where it says whether it is ready.
pub struct Upstream {
    pub port: u16,
    pub diagnostics: u16,
}

impl Upstream {
    /// Needs a proxy with `telemetry.metrics`.
    pub async fn of(proxy: &HttpProxy) -> Self {
        let line = proxy.program.stderr.line("metrics on ").await;
        let (_, diagnostics) = line.split_once("metrics on ").expect("the line was found by this text");
        // A balancer that asks too early leaves it out for a while.
        proxy.program.stderr.line("ready: ").await;
        Upstream { port: port_of(&proxy.url), diagnostics: port_of(diagnostics) }
    }
}

/// The port in `http://HOST:PORT/PATH`.
fn port_of(url: &str) -> u16 {
    let host = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).expect("an address");
    host.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
}

/// Fields are dropped in order: the program ends before its directory goes.
pub struct Balancer {
    url: String,
    program: Program,
    _directory: TempDir,
}

impl Balancer {
    /// Starts a program that listens on this port, with what it needs in this directory.
    pub(super) async fn start(command: Command, port: u16, directory: TempDir) -> Self {
        let (program, _, _) = Program::start(command);
        let listening = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        within("the load balancer", &program.stderr, listening).await;
        Balancer { url: format!("http://127.0.0.1:{port}/mcp"), program, _directory: directory }
    }

    pub fn client(&self) -> HttpClient {
        HttpClient::new(&self.url, self.program.stderr.clone())
    }
}

pub fn contrib(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib").join(file)
}

pub fn contrib_text(file: &str) -> String {
    fs::read_to_string(contrib(file)).unwrap_or_else(|problem| panic!("contrib/{file}: {problem}"))
}

/// The first of these programs that is there.
pub(super) fn first_that_works(paths: &[&'static str]) -> Option<&'static str> {
    let works = |path: &&&str| {
        let mut command = Command::new(path);
        command.arg("-v").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    paths.iter().find(works).copied()
}

/// A config with these replicas in place of those that it names. The lines about any more of them go.
pub(super) fn with_upstreams(config: &str, upstreams: &[Upstream]) -> String {
    let mut config = config.to_owned();
    for (address, Upstream { port, diagnostics }) in ADDRESSES.iter().zip(upstreams) {
        config = config.replace(&format!("{address}:7331 port 9464"), &format!("127.0.0.1:{port} port {diagnostics}"));
        config = config.replace(&format!("{address}:7331"), &format!("127.0.0.1:{port}"));
    }
    let names_no_other = |line: &&str| !ADDRESSES.iter().any(|address| line.contains(address));
    config.lines().filter(names_no_other).map(|line| format!("{line}\n")).collect()
}
