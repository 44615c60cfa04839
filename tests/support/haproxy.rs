//! An HAProxy of the test's own in front of several proxies, with `contrib/replicas/haproxy.cfg`.

use std::process::Command;

use super::balancer::{Balancer, Balancing, Upstream, contrib, contrib_text, first_that_works, with_upstreams};
use super::real_servers::{free_port, missing};
use super::temp_dir::TempDir;

/// The second is where Debian puts it, which is not in everybody's `PATH`.
const PATHS: [&str; 2] = ["haproxy", "/usr/sbin/haproxy"];

/// None where there is no `haproxy`, which is said aloud.
pub async fn start(upstreams: &[Upstream], balancing: Balancing) -> Option<Balancer> {
    let mut command = command()?;
    let directory = TempDir::new();
    let port = free_port();
    let config = with_upstreams(&config(port, balancing), upstreams);
    command.args(["-db", "-f"]).arg(directory.write("haproxy.cfg", &config));
    Some(Balancer::start(command, port, directory).await)
}

/// Tests the config as it is in the file.
pub fn check() -> Option<Command> {
    let mut command = command()?;
    command.args(["-c", "-f"]).arg(contrib("replicas/haproxy.cfg"));
    Some(command)
}

fn command() -> Option<Command> {
    let Some(path) = first_that_works(&PATHS) else { return missing("there is no `haproxy`") };
    Some(Command::new(path))
}

/// A proxy on loopback takes no other name for itself.
fn config(port: u16, balancing: Balancing) -> String {
    let bind = format!("bind 127.0.0.1:{port}\n    http-request set-header Host localhost");
    let config = contrib_text("replicas/haproxy.cfg").replace("bind :8080", &bind);
    match balancing {
        Balancing::BySession => config,
        Balancing::InTurn => config
            .replace("\n    balance hdr(Mcp-Session-Id)\n    hash-type consistent\n", "\n    balance roundrobin\n"),
    }
}
