//! Calls that are under way when something changes.

use super::{renamed, serving};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// A handler that calls two tools, the first of which takes its time, and says which version it is.
fn waiting(version: &str, first: &str) -> String {
    format!(
        "
tools = {{meta.name: (meta, call) for meta, call in backends()['fake'].tools()}}

def handler(args):
    {first}
    return '{version} ' + json.encode(tools['echo'][1]({{'n': 1}})['structuredContent'])

publish(tools['slow'][0].replace(name = 'wait_{version}'), handler)
publish(*tools['echo'])
"
    )
}

const UNTIL_TOLD: &str = "tools['seen'][1]({'wait_for': 'go on'})";
const LONG: &str = "tools['slow'][1]({'ms': 3000})";

fn world(script: &str) -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "seen,echo,slow"]))
        .server("other", &fake_backend(["--only", "raw"]))
        .section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", script)
}

#[tokio::test]
async fn a_call_finishes_with_the_handler_it_began_with() {
    let mut proxy = serving(world(&waiting("old", UNTIL_TOLD))).await;
    let call = proxy.client.begin("tools/call", r#"{"name":"wait_old","arguments":{}}"#).await;
    proxy.write("policy.star", &waiting("new", UNTIL_TOLD));
    assert_eq!(proxy.changed_tools().await, ["wait_new", "echo"]);
    proxy.client.call("echo", r#"{"word":"go on"}"#).await.result();
    assert_eq!(proxy.client.response(&call).await.text(), r#"old {"n":1}"#);
}

#[tokio::test]
async fn a_server_that_was_taken_out_serves_the_calls_that_began_with_it_and_ends_then() {
    let mut proxy = serving(world(&waiting("old", LONG))).await;
    let call = proxy.client.begin("tools/call", r#"{"name":"wait_old","arguments":{}}"#).await;
    let config =
        Config::new().server("other", &fake_backend(["--only", "raw"])).section("sessionInit: { preset: default }");
    proxy.write("proxy.yaml", &config.text());
    assert_eq!(proxy.changed_tools().await, ["raw"]);
    let status = proxy.status().await;
    assert_eq!(status["servers"].as_array().unwrap().len(), 1, "{status}");
    assert!(proxy.client.unclaimed().all(|message| !message.is_response()), "the call is still under way");
    assert_eq!(proxy.client.response(&call).await.text(), r#"old {"n":1}"#);
    super::leaks::children_become(&proxy, 1).await;
}

#[tokio::test]
async fn a_broken_script_loses_no_call_of_a_busy_client() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("sessionInit: { scriptFile: policy.star }");
    let mut proxy = serving(Proxy::new(&config).file("policy.star", &renamed("echo"))).await;
    let mut number = 0;
    let mut round = async |proxy: &mut crate::support::proxy::StdioProxy| {
        let mut ids = Vec::new();
        for _ in 0..50 {
            number += 1;
            let params = format!(r#"{{"name":"echo","arguments":{{"n":{number}}}}}"#);
            ids.push((proxy.client.begin("tools/call", &params).await, number));
        }
        for (id, number) in ids {
            assert_eq!(proxy.client.response(&id).await.structured(), format!(r#"{{"n":{number}}}"#));
        }
    };
    for text in ["publish(", "fail('no')", "load('//none.star', 'x')"] {
        proxy.write("policy.star", text);
        let log = proxy.client.stderr().clone();
        let word = if text == "publish(" {
            "error: "
        } else if text.starts_with("fail") {
            "no"
        } else {
            "none.star"
        };
        let told = log.line(word);
        tokio::pin!(told);
        loop {
            round(&mut proxy).await;
            if futures::poll!(&mut told).is_ready() {
                break;
            }
        }
        round(&mut proxy).await;
    }
    proxy.write("policy.star", &(renamed("echo") + &renamed("again")));
    assert_eq!(proxy.changed_tools().await, ["echo", "again"]);
    round(&mut proxy).await;
}
