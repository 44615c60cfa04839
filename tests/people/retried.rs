//! Two replicas that both live: a retry that comes to the other one goes on where its call waits, and no tool runs twice.

use serde_json::{Value, json};

use super::shared::{Shared, accepted, call, stateless, stateless_with};
use crate::support::proxy::HttpProxy;

/// What a client declares that can be asked for a form, for a page and by a server for its model.
const EVERYTHING: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{}}"#;

/// A conversation that has read `echo` asks a person before a server's question reaches the model.
const RULES: &str = "flow:\n  labels:\n  - {name: echo, labels: [untrusted, secret]}\n  - {name: sample, labels: []}\n  \
    - {name: seen, labels: []}\n  rules:\n  - {when: [untrusted, secret], then: egress, do: ask}\n";
const FLAGS: [&str; 4] = ["--era", "legacy", "--only", "echo,sample,seen"];

/// How many requests for this tool a replica has logged.
fn logged(replica: &HttpProxy, tool: &str) -> usize {
    let log = replica.program.stderr.text();
    log.lines().filter(|line| line.contains(&format!("tools/call {tool}: "))).count()
}

/// How often the server was asked to run this tool.
async fn runs(shared: &Shared, replica: &HttpProxy, tool: &str) -> usize {
    let seen = shared.client(replica, "bob").modern_call("seen", "{}").await.value();
    let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
    let wanted = format!(r#""name":"{tool}""#);
    messages.iter().filter_map(Value::as_str).filter(|message| message.contains(&wanted)).count()
}

fn question(asked: &Value) -> &Value {
    let requests = asked["result"]["inputRequests"].as_object();
    requests.and_then(|all| all.values().next()).unwrap_or_else(|| panic!("no question in {asked}"))
}

#[tokio::test]
async fn a_retry_after_a_log_in_at_another_living_replica_goes_on_where_the_call_waits() {
    // given
    let Some(shared) = Shared::start().await else { return };
    let one = shared.serving().await;
    let two = shared.beside().await;
    let log_in = call("crm_log_in");
    let asked = stateless(&mut shared.client(&one, "bob"), &log_in).await;
    // when
    let retry = accepted(&log_in, &asked);
    let mut elsewhere = shared.client(&two, "bob");
    let (answer, ()) = tokio::join!(stateless(&mut elsewhere, &retry), shared.connect("bob"));
    // then
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("you are logged in at `crm`"), "{answer}");
    assert_eq!((logged(&one, "crm_log_in"), logged(&two, "crm_log_in")), (2, 0), "both rounds are at one replica");
    let again = stateless(&mut elsewhere, &retry).await;
    assert!(again["error"]["message"].as_str().is_some_and(|text| text.contains("already used")), "{again}");
}

#[tokio::test]
async fn a_consent_during_a_call_belongs_to_the_call_that_was_sent() {
    // given: a call of a server with sessions that has asked, and a rule that asks before the question
    let Some(shared) = Shared::before(&FLAGS, RULES).await else { return };
    let one = shared.serving().await;
    let two = shared.beside().await;
    shared.connect("bob").await;
    stateless_with(&mut shared.client(&one, "bob"), &call("echo"), EVERYTHING).await;
    let sample = call("sample");
    let asked = stateless_with(&mut shared.client(&one, "bob"), &sample, EVERYTHING).await;
    assert_eq!(question(&asked)["method"], "elicitation/create", "{asked}");
    // when
    let mut elsewhere = shared.client(&two, "bob");
    let mut retry = accepted(&sample, &asked);
    retry["inputResponses"] = with_content(&retry["inputResponses"]);
    let model = stateless_with(&mut elsewhere, &retry, EVERYTHING).await;
    // then
    assert_eq!(question(&model)["method"], "sampling/createMessage", "{model}");
    assert_eq!(runs(&shared, &one, "sample").await, 1, "the tool runs once");
    let mut retry = accepted(&sample, &model);
    let word = json!({"role": "assistant", "content": {"type": "text", "text": "teal"}, "model": "m"});
    let answers = retry["inputResponses"].as_object().into_iter().flatten();
    retry["inputResponses"] = answers.map(|(key, _)| (key.clone(), word.clone())).collect();
    let done = stateless_with(&mut elsewhere, &retry, EVERYTHING).await;
    assert!(done["result"]["structuredContent"].to_string().contains("teal"), "{done}");
    assert_eq!(runs(&shared, &one, "sample").await, 1, "the tool runs once");
}

/// The same answers, each with an empty form.
fn with_content(answers: &Value) -> Value {
    let answers = answers.as_object().into_iter().flatten();
    answers.map(|(key, _)| (key.clone(), json!({"action": "accept", "content": {}}))).collect()
}

#[tokio::test]
async fn who_agrees_to_a_log_in_has_not_agreed_to_what_is_asked_afterwards() {
    // given: a call that waits for a log-in, and a rule that asks before the server's question
    let Some(shared) = Shared::before(&FLAGS, RULES).await else { return };
    let serving = shared.serving().await;
    shared.connect("bob").await;
    let mut client = shared.client(&serving, "bob");
    stateless_with(&mut client, &call("echo"), EVERYTHING).await;
    shared.authorization.end_log_ins();
    shared.server.refuse_known_tokens();
    let sample = call("sample");
    let asked = stateless_with(&mut client, &sample, EVERYTHING).await;
    assert_eq!(question(&asked)["params"]["mode"], "url", "{asked}");
    // when: another replica makes the call, which nobody has sent
    let serving = shared.after(serving).await;
    shared.connect("bob").await;
    let retry = accepted(&sample, &asked);
    let consent = stateless_with(&mut shared.client(&serving, "bob"), &retry, EVERYTHING).await;
    // then: the person sees the question
    let message = question(&consent)["params"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("`echo`"), "{consent}");
    assert_eq!(runs(&shared, &serving, "sample").await, 1);
}
