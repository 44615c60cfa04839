//! What a person meets whose account is not connected: who is asked and who is not, what waits, and what is told.

use serde_json::{Value, json};

use super::shared::ASKABLE;
use super::{SERVER, World, personal};
use crate::support::authorization_server::{Approval, AuthorizationServer};
use crate::support::browser::Browser;
use crate::support::config::Config;
use crate::support::http_client::HttpReply;
use crate::support::message::{self, Message};
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::protected_server::ProtectedServer;

/// Connects the account of whoever has signed in at the browser, whatever the page knows of the last log-in.
async fn connect_again(world: &World, browser: &Browser) {
    let page = browser.open(&world.page()).await;
    let label = if page.has_button("Connect") { "Connect" } else { "Connect another account" };
    let done = browser.press(&page, label).await;
    assert!(done.html.contains("connected as"), "{done:?}");
}

/// The question that a call is stopped by.
async fn question(stream: &mut HttpReply) -> Message {
    let question = stream.next_message().await.expect("a question");
    assert_eq!(question.method().as_deref(), Some("elicitation/create"), "{}", question.raw);
    question
}

#[tokio::test]
async fn calls_that_wait_for_a_log_in_hold_no_place_among_those_that_run() {
    // given: one call at a time, and a person whose log-in has ended
    let one_at_a_time = |config: Config, url: &str| {
        let mut entry = personal();
        entry["maxConcurrent"] = json!(1);
        config.remote_with(SERVER, url, entry)
    };
    let world = World::with("", one_at_a_time).await;
    let browser = Browser::of("ann");
    world.connect(&browser).await;
    assert!(world.is_connected("ann").await);
    world.authorization.end_log_ins();
    world.server.refuse_known_tokens();
    let mut client = world.client("ann");
    client.initialize_with("2025-11-25", ASKABLE).await.result();
    // when
    let mut streams = Vec::new();
    for id in ["71", "72", "73"] {
        let body = message::request(id, "tools/call", &message::call("echo", &format!(r#"{{"n":{id}}}"#)));
        let mut stream = client.send(&client.legacy(&body)).await;
        // then each is asked, although the one before it still waits
        let asked = question(&mut stream).await;
        let answer = message::result(&asked.id().expect("an id"), r#"{"action":"accept"}"#);
        assert_eq!(client.send(&client.legacy(&answer)).await.status, 202);
        streams.push(stream);
    }
    connect_again(&world, &browser).await;
    for (stream, n) in streams.into_iter().zip([71, 72, 73]) {
        assert_eq!(stream.response().await.structured(), format!(r#"{{"n":{n}}}"#));
    }
}

#[tokio::test]
async fn a_handler_that_meets_a_log_in_goes_on_after_it_and_repeats_nothing() {
    // given: a tool that does something elsewhere before it needs the log-in, and asks something afterwards
    let script = r#"
notes = {meta.name: call for meta, call in backends()["notes"].tools()}
crm = {meta.name: call for meta, call in backends()["crm"].tools()}

def both(args):
    unwrap(notes["echo"]({"n": 7}))
    answer = unwrap(crm["echo"]({"n": 1}))
    sure = elicit("Go on?", when_unavailable = "reject")
    return {"answer": answer, "sure": sure.action}

publish(metadata("both", "", {}, {}), both)
for meta, call in backends()["notes"].tools():
    if meta.name == "seen":
        publish(meta, call)
"#;
    let server = fake_backend(["--era", "legacy", "--only", "echo,seen"]);
    let section = "sessionInit: { scriptFile: policy.star }";
    let world = World::with_file_and(section, "policy.star", script, |config| config.server("notes", &server)).await;
    let mut client = world.client("ann");
    let call: Value = serde_json::from_str(&message::call("both", "{}")).expect("params");
    let browser = Browser::of("ann");
    world.connect(&browser).await;
    client.modern("tools/list", "{}").await.result();
    let first = client.modern_with("tools/call", &call.to_string(), ASKABLE).await.value();
    assert_eq!(only_question(&first)["params"]["message"], "Go on?", "{first}");
    world.authorization.end_log_ins();
    world.server.refuse_known_tokens();
    // when
    let asked = client.modern_with("tools/call", &call.to_string(), ASKABLE).await.value();
    assert_eq!(only_question(&asked)["params"]["url"], json!(world.page()), "{asked}");
    connect_again(&world, &browser).await;
    let retry = accepted(&call, &asked);
    let sure = client.modern_with("tools/call", &retry.to_string(), ASKABLE).await.value();
    assert_eq!(only_question(&sure)["params"]["message"], "Go on?", "{sure}");
    let retry = accepted(&call, &sure);
    let done = client.modern_with("tools/call", &retry.to_string(), ASKABLE).await.value();
    // then
    assert_eq!(done["result"]["structuredContent"], json!({"answer": {"n": 1}, "sure": "accept"}), "{done}");
    // Clients that can be asked have a connection to the server of their own.
    let seen = client.modern_with("tools/call", &message::call("seen", "{}"), ASKABLE).await.value();
    let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
    let noted = messages.iter().filter_map(Value::as_str).filter(|message| message.contains(r#""name":"echo""#));
    assert_eq!(noted.count(), 2, "once for each of the two calls: {seen}");
}

fn only_question(asked: &Value) -> &Value {
    let requests = asked["result"]["inputRequests"].as_object();
    requests.and_then(|all| all.values().next()).unwrap_or_else(|| panic!("no question in {asked}"))
}

fn accepted(call: &Value, asked: &Value) -> Value {
    let requests = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("no question in {asked}"));
    let mut retry = call.clone();
    retry["requestState"] = asked["result"]["requestState"].clone();
    retry["inputResponses"] =
        requests.keys().map(|key| (key.clone(), json!({"action": "accept", "content": {}}))).collect();
    retry
}

#[tokio::test]
async fn prompts_and_resources_ask_for_a_log_in_and_completions_say_that_one_is_needed() {
    // given: what the server listed last, after the log-in has ended
    let authorization = AuthorizationServer::start().await;
    let flags = ["--only", "echo", "--resources", "--prompts", "--completions", "3"];
    let server = ProtectedServer::before(&authorization, &flags, |_| ()).await;
    let world = World::before(authorization, server).await;
    world.connect(&Browser::of("ann")).await;
    assert!(world.is_connected("ann").await);
    world.authorization.end_log_ins();
    world.server.refuse_known_tokens();
    let mut client = world.client("ann");
    let greet = json!({"name": "greet", "arguments": {"who": "bob"}});
    let memo = json!({"uri": "memo://greeting"});
    // when, then
    for (method, params) in [("prompts/get", &greet), ("resources/read", &memo)] {
        let asked = client.modern_with(method, &params.to_string(), ASKABLE).await.value();
        assert_eq!(only_question(&asked)["params"]["url"], json!(world.page()), "{method}: {asked}");
        let told = client.modern(method, &params.to_string()).await;
        let text = told.value()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(text.contains("log in at `crm` first") && text.contains(&world.page()), "{method}: {}", told.raw);
    }
    let complete = json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "b"}});
    let told = client.modern_with("completion/complete", &complete.to_string(), ASKABLE).await.value();
    let text = told["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("log in at `crm` first") && told["result"].is_null(), "{told}");
}

#[tokio::test]
async fn a_session_hears_that_there_are_other_tools_after_a_log_in() {
    let world = World::start().await;
    let mut client = world.client("ann");
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["crm_log_in"]);
    let mut news = client.get_stream().await;
    world.connect(&Browser::of("ann")).await;
    let told = within("news of the tools", &world.proxy.program.stderr, news.next_message()).await.expect("news");
    assert_eq!(told.method().as_deref(), Some("notifications/tools/list_changed"), "{}", told.raw);
    let names = client.request("tools/list", "{}").await.tool_names();
    assert!(names.contains(&"echo".to_owned()) && !names.contains(&"crm_log_in".to_owned()), "{names:?}");
}

#[tokio::test]
async fn the_log_in_tool_called_once_more_says_that_the_person_is_logged_in() {
    let world = World::start().await;
    world.connect(&Browser::of("ann")).await;
    let mut ann = world.client("ann");
    let names = ann.modern("tools/list", "{}").await.tool_names();
    assert!(!names.contains(&"crm_log_in".to_owned()), "{names:?}");
    let told = ann.modern_call("crm_log_in", "{}").await.value();
    let text = told["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("you are logged in at `crm`: "), "{told}");
    let told = ann.modern_call("billing_log_in", "{}").await.value();
    assert!(told["error"]["message"].as_str().is_some_and(|text| text.contains("unknown tool")), "{told}");
}

#[tokio::test]
async fn who_may_not_log_in_at_a_server_finds_no_page_about_it() {
    let policies = "permit(principal, action, resource);\n\
        forbid(principal == Client::\"bob\", action, resource == Tool::\"crm_log_in\");\n";
    let world = World::with_file("cedar: {policies: [policies.cedar]}", "policies.cedar", policies).await;
    let [ann, bob] = ["ann", "bob"].map(Browser::of);
    assert_eq!(world.signed_in(&ann).await.status, 200);
    let page = world.signed_in(&bob).await;
    assert_eq!(page.status, 404, "{page:?}");
    let unknown = bob.open(&format!("{}/connect/nothing", world.url)).await;
    assert_eq!((unknown.status, &unknown.html), (404, &page.html), "as if there were no such server");
    let accounts = bob.open(&format!("{}/connect", world.url)).await;
    assert!(accounts.status == 200 && !accounts.html.contains("crm"), "{accounts:?}");
    assert!(world.client("bob").modern("tools/list", "{}").await.tool_names().is_empty());
}

#[tokio::test]
async fn who_may_log_in_only_under_a_profile_that_shows_the_server_finds_its_page() {
    // given: ann may use everything under `sales`, bob under `research`, which does not show the server
    let policies = "permit(principal == Client::\"ann\", action, resource) when { context.profile == \"sales\" };\n\
        permit(principal == Client::\"bob\", action, resource) when { context.profile == \"research\" };\n";
    let sections = "cedar: {policies: [policies.cedar]}\n\
        profiles: {sales: {servers: [crm]}, research: {servers: [papers]}}";
    let papers = |config: Config| config.server("papers", &fake_backend(["--only", "echo"]));
    let world = World::with_file_and(sections, "policies.cedar", policies, papers).await;
    // when, then
    let page = world.signed_in(&Browser::of("ann")).await;
    assert!(page.status == 200 && page.has_button("Connect"), "{page:?}");
    let page = world.signed_in(&Browser::of("bob")).await;
    assert_eq!(page.status, 404, "{page:?}");
}

#[tokio::test]
async fn the_status_says_how_many_people_have_to_log_in() {
    let world = World::start().await;
    let waiting = async || {
        let status = world.proxy.world.run(["status", "--json"]).await.expect(0).json();
        status["servers"][0]["peopleToLogIn"].clone()
    };
    assert_eq!(waiting().await, json!(0));
    for person in ["ann", "bob"] {
        world.client(person).modern("tools/list", "{}").await.result();
    }
    assert_eq!(waiting().await, json!(2));
    world.connect(&Browser::of("ann")).await;
    assert!(world.is_connected("ann").await);
    assert_eq!(waiting().await, json!(1));
}

#[tokio::test]
async fn what_people_do_on_the_pages_is_in_the_audit_log() {
    // given
    let world = World::with("audit: { file: audit.jsonl }", |config, _| config).await;
    let ann = Browser::of("ann");
    // when
    world.authorization.set(|settings| settings.approval = Approval::Denied);
    let page = world.connect(&ann).await;
    assert_eq!(page.status, 400, "{page:?}");
    world.authorization.set(|settings| settings.approval = Approval::Code);
    let page = ann.open(&world.page()).await;
    ann.press(&page, "Connect").await;
    let page = ann.open(&world.page()).await;
    ann.press(&page, "Disconnect").await;
    // then
    let types = ["account_refused", "account_connected", "account_disconnected"];
    let lines = super::commands::audited(&world.proxy.world, &world.proxy.program.stderr, &types, 3).await;
    for (line, wanted) in lines.iter().zip(types) {
        assert_eq!(line["type"], wanted, "{line}");
        assert_eq!((&line["subject"]["sub"], &line["target"]["server"]), (&json!("ann"), &json!(SERVER)), "{line}");
        assert_eq!(line["reason"].is_string(), wanted == "account_refused", "{line}");
    }
}
