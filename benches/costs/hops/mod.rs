//! The proxy as one hop between a client and a server, beside a direct connection and an nginx in its place: how much
//! longer a call takes, and how much CPU the hop spends. The servers answer packet by packet as those of the SDKs do.

mod caller;
mod nginx;
pub mod server;
mod table;

use tokio::process::Child;

use crate::cpu;
use caller::Era;
use nginx::Nginx;
use server::{Answer, Sdk};
use table::Row;

/// Of which the middle one counts.
const ROUNDS: usize = 3;
/// One at a time.
const LATENCY_CALLS: usize = 2_000;
/// So many at once.
const CONNECTIONS: usize = 32;
const CPU_CALLS: usize = 8_000;

/// A program that listens.
pub struct Hop {
    pub process: Child,
    pub address: String,
}

impl Hop {
    /// How long a call takes, one at a time: half of them took no longer. In microseconds.
    async fn latency(&self, era: Era) -> f64 {
        caller::latency(&self.address, era, LATENCY_CALLS).await
    }

    /// CPU microseconds per call.
    async fn cpu(&self, era: Era) -> f64 {
        let pid = self.process.id().unwrap();
        caller::drive(&self.address, era, CONNECTIONS, CPU_CALLS / 8).await;
        let before = cpu::seconds(pid);
        caller::drive(&self.address, era, CONNECTIONS, CPU_CALLS).await;
        (cpu::seconds(pid) - before) * 1e6 / CPU_CALLS as f64
    }
}

/// Starts what is measured.
pub trait Starts {
    /// The server that answers in this way.
    fn server(&self, arguments: [&str; 3]) -> impl Future<Output = Hop>;
    /// The proxy before a server; wrapped: with one decorator around each tool.
    fn proxy(&self, server: &str, wrapped: bool) -> impl Future<Output = Hop>;
    /// A server on a pipe, as a line of the config.
    fn on_a_pipe(&self) -> String;
}

/// Prints the table: all of it, or the rows of the SDKs that are wanted by name.
pub async fn measure(starts: &impl Starts, folder: &std::path::Path, wanted: &[String]) {
    let is_wanted = |sdk: &Sdk| wanted.iter().any(|name| name == sdk.name());
    let all = !Sdk::ALL.iter().any(is_wanted);
    table::head();
    for era in [Era::Stateless, Era::Session] {
        for sdk in Sdk::ALL.into_iter().filter(|sdk| all || is_wanted(sdk)) {
            for answer in [Answer::Json, Answer::Events] {
                let server = starts.server([sdk.name(), answer.name(), era.name()]).await;
                let config = format!("{{ url: \"http://{}/mcp\" }}", server.address);
                let nginx = Nginx::start(&server.address, folder).await.map(Nginx::into_hop);
                let hops = Hops {
                    era,
                    server: Some(server),
                    nginx,
                    plain: starts.proxy(&config, false).await,
                    wrapped: starts.proxy(&config, true).await,
                };
                hops.row(&format!("{}, {}", sdk.name(), answer.name())).await.print();
            }
        }
        let config = starts.on_a_pipe();
        let (plain, wrapped) = (starts.proxy(&config, false).await, starts.proxy(&config, true).await);
        Hops { era, server: None, nginx: None, plain, wrapped }.row("a server on a pipe").await.print();
    }
}

struct Hops {
    era: Era,
    server: Option<Hop>,
    nginx: Option<Hop>,
    plain: Hop,
    wrapped: Hop,
}

impl Hops {
    async fn row(&self, what: &str) -> Row {
        let mut row = Row::new(&format!("{what}, {}", self.era.name()));
        // In turns: the machine is faster at one time than at another.
        for _ in 0..ROUNDS {
            for (hop, latencies) in [
                (self.server.as_ref(), &mut row.direct),
                (self.nginx.as_ref(), &mut row.nginx),
                (Some(&self.plain), &mut row.plain),
                (Some(&self.wrapped), &mut row.wrapped),
            ] {
                if let Some(hop) = hop {
                    latencies.push(hop.latency(self.era).await);
                }
            }
            for (hop, spent) in [
                (self.nginx.as_ref(), &mut row.nginx_cpu),
                (Some(&self.plain), &mut row.plain_cpu),
                (Some(&self.wrapped), &mut row.wrapped_cpu),
            ] {
                if let Some(hop) = hop {
                    spent.push(hop.cpu(self.era).await);
                }
            }
        }
        row
    }
}
