//! `cached()`: a result that is there is not asked for again.

use super::{TOKENS, client_of};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const SCRIPT: &str = r#"
def counted(args):
    return {"n": shared_state.incr("counted"), "args": args}

def failing(args):
    return error("failure %d" % shared_state.incr("failing"))

publish(metadata("counted", "", {}, {}), cached(counted, 600))
publish(metadata("failing", "", {}, {}), cached(failing, 600))
publish(metadata("keyed", "", {}, {}), cached(counted, 600, key = lambda args: args["id"]))
publish(metadata("brief", "", {}, {}), cached(counted, ttl = 0.05))
for meta, call in backends()["fake"].tools():
    publish(meta, cached(call, 600) if meta.name == "echo" else call)
"#;

fn world() -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo,seen"]))
        .section(TOKENS)
        .section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", SCRIPT)
}

#[tokio::test]
async fn equal_arguments_of_one_person_reach_the_server_once() {
    let proxy = world().http().await;
    let mut ann = client_of(&proxy, "secret-token-of-a");
    let first = ann.modern_call("echo", r#"{"mark":"m-1","b":[1]}"#).await;
    assert_eq!(first.structured(), r#"{"mark":"m-1","b":[1]}"#);
    let again = ann.modern_call("echo", r#"{"b":[1],"mark":"m-1"}"#).await;
    assert_eq!(again.structured(), first.structured());
    ann.modern_call("echo", r#"{"mark":"m-2"}"#).await.result();
    client_of(&proxy, "secret-token-of-b").modern_call("echo", r#"{"mark":"m-1","b":[1]}"#).await.result();
    let seen = ann.modern_call("seen", "{}").await.value();
    let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
    let count = |mark: &str| messages.iter().filter(|message| message.to_string().contains(mark)).count();
    assert_eq!((count("m-1"), count("m-2")), (2, 1), "once for each of two people, once for other arguments");
}

#[tokio::test]
async fn errors_are_not_remembered_and_results_end() {
    let proxy = world().http().await;
    let mut ann = client_of(&proxy, "secret-token-of-a");
    assert_eq!(ann.modern_call("failing", "{}").await.text(), "failure 1");
    assert_eq!(ann.modern_call("failing", "{}").await.text(), "failure 2");
    assert_eq!(ann.modern_call("counted", "{}").await.structured(), r#"{"n":1,"args":{}}"#);
    assert_eq!(ann.modern_call("counted", "{}").await.structured(), r#"{"n":1,"args":{}}"#);
    assert_eq!(ann.modern_call("keyed", r#"{"id":7,"x":1}"#).await.structured(), r#"{"n":2,"args":{"id":7,"x":1}}"#);
    assert_eq!(ann.modern_call("keyed", r#"{"id":7,"x":2}"#).await.structured(), r#"{"n":2,"args":{"id":7,"x":1}}"#);
    let first = ann.modern_call("brief", "{}").await.structured();
    // The clock is the proxy's; asking again and again ends with the test's patience.
    while ann.modern_call("brief", "{}").await.structured() == first {}
}
