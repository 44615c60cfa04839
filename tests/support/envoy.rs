//! An Envoy of the test's own in front of several proxies, with `contrib/replicas/envoy.yaml`.

use std::process::Command;

use super::balancer::{ADDRESSES, Balancer, Balancing, Upstream, contrib, contrib_text};
use super::real_servers::{self, free_port};
use super::temp_dir::TempDir;

/// What begins each replica in the file. The replicas are its end.
const ENDPOINT: &str = "              - endpoint:\n";

/// None where it cannot be installed, which is said aloud.
pub async fn start(upstreams: &[Upstream], balancing: Balancing) -> Option<Balancer> {
    let mut command = real_servers::envoy()?;
    let directory = TempDir::new();
    let port = free_port();
    // Several of them on one machine need numbers of their own.
    command.args(["--use-dynamic-base-id", "--concurrency", "1", "-c"]);
    command.arg(directory.write("envoy.yaml", &config(port, upstreams, balancing)));
    Some(Balancer::start(command, port, directory).await)
}

/// Tests the config as it is in the file.
pub fn check() -> Option<Command> {
    let mut command = real_servers::envoy()?;
    command.args(["--mode", "validate", "-c"]).arg(contrib("replicas/envoy.yaml"));
    Some(command)
}

fn config(port: u16, upstreams: &[Upstream], balancing: Balancing) -> String {
    let text = contrib_text("replicas/envoy.yaml");
    let mut parts = text.split(ENDPOINT);
    let listener = format!("address: 127.0.0.1, port_value: {port}");
    let mut config = parts.next().unwrap_or_default().replace("address: 0.0.0.0, port_value: 8080", &listener);
    // A proxy on loopback takes no other name for itself.
    let cluster = "cluster: proxies\n";
    config = config.replacen(cluster, &format!("{cluster}{:28}host_rewrite_literal: localhost\n", ""), 1);
    if balancing == Balancing::InTurn {
        config = config.replace("RING_HASH", "ROUND_ROBIN");
    }
    for ((part, address), Upstream { port, diagnostics }) in parts.zip(ADDRESSES).zip(upstreams) {
        let part = part.replace(
            &format!("address: {address}, port_value: 7331"),
            &format!("address: 127.0.0.1, port_value: {port}"),
        );
        config.push_str(ENDPOINT);
        config.push_str(&part.replace("port_value: 9464", &format!("port_value: {diagnostics}")));
    }
    config
}
