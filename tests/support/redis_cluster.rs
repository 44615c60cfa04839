//! A Redis Cluster of the test's own: three nodes on free ports.

use std::process::{Child, Command, Stdio};

use super::real_servers::{free_port, missing};
use super::stderr_log::StderrLog;
use super::temp_dir::TempDir;

/// The slots of a cluster.
const SLOTS: u16 = 16384;

pub struct RedisCluster {
    nodes: Vec<Node>,
}

struct Node {
    port: u16,
    child: Child,
    _directory: TempDir,
}

impl RedisCluster {
    /// None where there is no `redis-server`, which is said aloud.
    pub async fn start() -> Option<Self> {
        let works = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        if !works.is_ok_and(|status| status.success()) {
            return missing("there is no `redis-server`");
        }
        let mut nodes = Vec::new();
        for _ in 0..3 {
            nodes.push(Node::start().await);
        }
        let cluster = RedisCluster { nodes };
        cluster.join().await;
        Some(cluster)
    }

    pub fn url(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("redis-cluster://{}", nodes.join(","))
    }

    /// Shares the slots among the nodes, and waits until all know it.
    async fn join(&self) {
        let share = SLOTS / 3;
        for (number, node) in (0u16..).zip(&self.nodes) {
            let last = if number == 2 { SLOTS - 1 } else { (number + 1) * share - 1 };
            let [first, last] = [number * share, last].map(|slot| slot.to_string());
            node.ask(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]).await;
            // Nodes with the same number would quarrel about it.
            node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]).await;
        }
        let first = &self.nodes[0];
        for node in &self.nodes[1..] {
            let (port, bus) = (node.port.to_string(), node.bus().to_string());
            first.ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).await;
        }
        for node in &self.nodes {
            while !node.ask(&["CLUSTER", "INFO"]).await.contains("cluster_state:ok") {
                tokio::task::yield_now().await;
            }
        }
    }
}

impl Node {
    async fn start() -> Self {
        let (directory, port) = (TempDir::new(), free_port());
        let mut node = Command::new("redis-server");
        node.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
        node.args(["--cluster-enabled", "yes", "--cluster-port", &bus_of(port).to_string()]);
        node.arg("--dir").arg(directory.path()).current_dir(directory.path());
        node.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = node.spawn().expect("it was there just now");
        let log = StderrLog::collect(child.stdout.take().expect("stdout is piped"));
        log.line("Ready to accept connections").await;
        Node { port, child, _directory: directory }
    }

    fn bus(&self) -> u16 {
        bus_of(self.port)
    }

    async fn ask(&self, arguments: &[&str]) -> String {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).expect("the address is right");
        let mut connection = client.get_multiplexed_async_connection().await.expect("it runs");
        let mut command = redis::cmd(arguments[0]);
        command.arg(&arguments[1..]);
        let value: redis::Value = command.query_async(&mut connection).await.expect("it is a command");
        format!("{value:?}")
    }
}

/// The port on which nodes talk to each other.
fn bus_of(port: u16) -> u16 {
    if port > 55_000 { port - 10_000 } else { port + 10_000 }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
