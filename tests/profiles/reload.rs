//! Profiles that are changed, added and removed while clients use them.

use super::{RESEARCH, SCRIPT, client, config, list, modern_tools, refusal, session, tools, world};
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::patience::within;
use crate::support::proxy::HttpProxy;

const LIST_CHANGED: &str = "notifications/tools/list_changed";

fn write(proxy: &HttpProxy, profiles: &str) {
    proxy.world.directory.write("proxy.yaml", &config(profiles).text());
}

/// Asks until a path has this status: no event tells a client without a stream that the config was reloaded.
async fn until_status(proxy: &HttpProxy, path: &str, status: u16) {
    let reached = async {
        while client(proxy, path).send(&list()).await.status != status {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    within(&format!("status {status} at `{path}`"), &proxy.program.stderr, reached).await;
}

#[tokio::test]
async fn a_removed_profile_ends_its_sessions_and_streams_and_no_others() {
    let proxy = world(&config(RESEARCH)).http().await;
    let research = session(&proxy, "research").await;
    let mut sales = session(&proxy, "sales").await;
    let mut stream = research.get_stream().await;
    let listen = r#"{"notifications":{"toolsListChanged":true}}"#;
    let mut listening =
        client(&proxy, "research").send(&HttpRequest::modern("1", "subscriptions/listen", listen)).await;
    assert!(listening.next_message().await.is_some(), "the subscription is confirmed");
    write(&proxy, "  sales: { servers: ['c*'] }");
    // The streams end by themselves.
    while stream.next_event().await.is_some() {}
    while listening.next_event().await.is_some() {}
    let ping = research.legacy(&message::request("7", "ping", "{}"));
    let (status, message) = refusal(client(&proxy, "research").send(&ping).await).await;
    assert_eq!((status, message.as_str()), (404, "no profile `research`"));
    assert_eq!(tools(&mut sales).await, ["where", "crm_echo", "crm_add_tool"]);
    // A profile that comes back does not bring back its sessions.
    write(&proxy, RESEARCH);
    until_status(&proxy, "research", 200).await;
    assert_eq!(client(&proxy, "research").send(&ping).await.status, 404);
    assert_eq!(modern_tools(&mut client(&proxy, "research")).await, ["where", "papers_echo"]);
}

#[tokio::test]
async fn a_changed_profile_tells_its_clients_and_a_new_one_is_there() {
    let proxy = world(&config(RESEARCH)).http().await;
    let mut research = session(&proxy, "research").await;
    assert_eq!(tools(&mut research).await, ["where", "papers_echo"]);
    let mut told = research.get_stream().await;
    write(&proxy, "  research: { servers: ['*'] }\n  sales: { servers: ['c*'] }\n  new: { servers: [papers] }");
    let change = told.next_message().await.expect("a notification");
    assert_eq!(change.method().as_deref(), Some(LIST_CHANGED));
    assert_eq!(tools(&mut research).await, ["where", "papers_echo", "crm_echo", "crm_add_tool"]);
    until_status(&proxy, "new", 200).await;
    assert_eq!(modern_tools(&mut client(&proxy, "new")).await, ["where", "papers_echo"]);
}

#[tokio::test]
async fn the_script_of_a_profile_is_reloaded_when_its_file_changes() {
    let profiles = "  research: { servers: [papers], sessionInit: { scriptFile: own.star } }";
    let own = |name: &str| format!("publish(metadata('{name}', '', {{}}, {{}}), lambda args: 'x')\n");
    let proxy = world(&config(profiles)).file("own.star", &own("before")).http().await;
    let mut research = session(&proxy, "research").await;
    assert_eq!(tools(&mut research).await, ["before"]);
    let mut told = research.get_stream().await;
    proxy.world.directory.write("own.star", &own("after"));
    assert_eq!(told.next_message().await.expect("a notification").method().as_deref(), Some(LIST_CHANGED));
    assert_eq!(tools(&mut research).await, ["after"]);
    // The script of the top level is another one.
    proxy.world.directory.write("policy.star", &SCRIPT.replace("\"where\"", "\"place\""));
    let mut top = client(&proxy, "");
    let changed = async {
        while modern_tools(&mut top).await[0] != "place" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    within("the new script", &proxy.program.stderr, changed).await;
    assert_eq!(tools(&mut research).await, ["after"]);
}

#[tokio::test]
async fn a_profile_that_cannot_be_built_leaves_the_old_config_in_force() {
    let proxy = world(&config(RESEARCH)).http().await;
    assert_eq!(modern_tools(&mut client(&proxy, "research")).await, ["where", "papers_echo"]);
    let broken = "  research: { servers: [papers], sessionInit: { script: \"fail('no such thing')\" } }";
    write(&proxy, broken);
    proxy.program.stderr.line("was not reloaded").await;
    assert_eq!(modern_tools(&mut client(&proxy, "research")).await, ["where", "papers_echo"]);
    assert_eq!(modern_tools(&mut client(&proxy, "sales")).await, ["where", "crm_echo", "crm_add_tool"]);
}

#[tokio::test]
async fn the_bare_path_is_closed_and_opened_while_the_proxy_runs() {
    let proxy = world(&config(RESEARCH)).http().await;
    let top = session(&proxy, "").await;
    let mut stream = top.get_stream().await;
    let closed = config(RESEARCH).section("serve: { requireProfile: true }");
    proxy.world.directory.write("proxy.yaml", &closed.text());
    while stream.next_event().await.is_some() {}
    until_status(&proxy, "", 404).await;
    assert_eq!(modern_tools(&mut client(&proxy, "research")).await, ["where", "papers_echo"]);
    write(&proxy, RESEARCH);
    until_status(&proxy, "", 200).await;
}
