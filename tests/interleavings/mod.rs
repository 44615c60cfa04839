//! Fifty clients on two shared servers, doing random things at once. Whatever reaches a client carries a mark of whoever
//! caused it, and must be that client's own: progress, log messages, questions and results.

mod actor;
mod marks;
mod session_actor;
mod stateless_actor;

use futures::future::join_all;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::random::{Random, Seed};
use actor::{Actor, World};
use marks::Tally;

const CLIENTS: usize = 50;
const ACTIONS: usize = 24;

/// Every tool of both servers, as it is and called by a handler.
const SCRIPT: &str = r#"
sessionInit:
  script: |
    def wrap(call):
        return lambda args: call(args)

    for name, backend in backends().items():
        for meta, call in backend.tools():
            publish(meta.replace(name = name + "_" + meta.name), call)
            publish(meta.replace(name = name + "_wrapped_" + meta.name), wrap(call))
"#;

/// One token for each client: each is another person.
fn tokens() -> String {
    let token = |number| format!("{{token: secret-token-of-{number}, sub: person-{number}}}");
    format!("auth: {{tokens: [{}]}}", (0..CLIENTS).map(token).collect::<Vec<_>>().join(", "))
}

fn client(proxy: &HttpProxy, number: usize, known: bool) -> HttpClient {
    let client = proxy.client();
    if known { client.with_header("Authorization", &format!("Bearer secret-token-of-{number}")) } else { client }
}

async fn interleave(web_era: &'static str, pipe_era: &'static str, known: bool) {
    let seed = Seed::take();
    let tools = "echo,progress,flood,ask,slow,stall";
    let web = fake_backend(["--http", "127.0.0.1:0", "--era", web_era, "--only", tools]);
    let (_web, url) = Program::start_server(web).await;
    let pipe = fake_backend(["--era", pipe_era, "--only", tools]);
    let config = Config::new().remote("web", &url).server("pipe", &pipe).section(SCRIPT);
    let config = if known { config.section(&tokens()) } else { config };
    let mut proxy = Proxy::new(&config).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;

    let world = World { stateless_pipe: pipe_era == "modern" };
    let actors = (0..CLIENTS).map(|number| {
        let random = Random::new(seed.0, number as u64);
        let actor = Actor::new(number, client(&proxy, number, known), random, world);
        // Half of them have sessions.
        actor.act(number.is_multiple_of(2), ACTIONS)
    });
    let heard = join_all(actors).await.into_iter().fold(Tally::default(), Tally::and);
    // Nothing reaches a stranger where nothing reaches anybody.
    let Tally { progress, logs, questions, results, cancelled, resumed } = heard;
    for (what, count) in [("progress", progress), ("logs", logs), ("questions", questions), ("results", results)] {
        assert!(count > 20, "{what}: {heard:?}");
    }
    assert!(cancelled > 5 && resumed > 5, "{heard:?}");
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn unknown_clients_of_session_based_servers_hear_only_what_is_theirs() {
    interleave("legacy", "legacy", false).await;
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn unknown_clients_of_servers_of_both_eras_hear_only_what_is_theirs() {
    interleave("modern", "legacy", false).await;
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn persons_with_tokens_hear_only_what_is_theirs() {
    interleave("legacy", "legacy", true).await;
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn persons_with_tokens_hear_only_what_is_theirs_of_stateless_servers() {
    interleave("modern", "modern", true).await;
}
