//! What a server says in the middle of a call that a handler makes: progress, log messages, and the completion of
//! wrapped prompts and templates reach the client as they do without a handler.

use serde_json::{Value, json};

use super::started;
use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::modern::{VERSION, meta_members, with_meta};
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

const ERAS: [&str; 2] = ["legacy", "modern"];

const WRAPPED: &str = "
def wrap(call):
    return lambda args: call(args)

for meta, call in backends()['fake'].tools():
    publish(meta, wrap(call))
";

/// A proxy before a server of this era, with this session script.
fn world(era: &str, script: &str) -> Proxy {
    let capabilities = ["--capabilities", r#""logging":{}"#];
    let command = fake_backend(["--era", era, "--only", "progress,flood,echo"].into_iter().chain(capabilities));
    let config = Config::new().server("fake", &command).section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", script)
}

/// The `_meta` of a stateless client that wants progress and log messages.
fn modern_meta() -> String {
    let level = r#""io.modelcontextprotocol/logLevel":"info""#;
    format!(r#"{{"progressToken":"t",{level},{}}}"#, meta_members(VERSION, "{}"))
}

/// Calls a tool, and returns the params of every notification before the answer.
async fn told(proxy: &mut StdioProxy, meta: &str, tool: &str, arguments: &str) -> Vec<Value> {
    let params = with_meta(&message::call(tool, arguments), meta);
    let id = proxy.client.begin("tools/call", &params).await;
    let mut told = Vec::new();
    loop {
        let message = proxy.client.next().await;
        if message.id().as_deref() == Some(&id) {
            assert_ne!(message.value()["result"]["isError"], true, "{}", message.raw);
            return told;
        }
        told.push(message.value()["params"].clone());
    }
}

/// The same for a client of each era, before servers of both.
async fn told_to_both(script: &str, tool: &str, arguments: &str, expected: &[Value]) {
    for era in ERAS {
        let mut proxy = started(world(era, script)).await;
        proxy.client.request("logging/setLevel", r#"{"level":"info"}"#).await.result();
        for meta in [r#"{"progressToken":"t"}"#, &modern_meta()] {
            assert_eq!(told(&mut proxy, meta, tool, arguments).await, expected, "{era} {meta}");
        }
    }
}

fn step(number: u32, total: u32) -> Value {
    json!({"progressToken": "t", "progress": number, "total": total, "message": format!("step {number}")})
}

fn bare(progress: &Value, message: &str) -> Value {
    json!({"progressToken": "t", "progress": progress, "message": message})
}

fn log(data: &Value) -> Value {
    json!({"level": "info", "logger": "flood", "data": data})
}

#[tokio::test]
async fn progress_of_a_wrapped_tool_is_as_it_is_without_a_handler() {
    told_to_both(WRAPPED, "progress", r#"{"n":2}"#, &[step(1, 2), step(2, 2)]).await;
    let values = [1.0, 2.0, 2.5].map(|value| json!({"progressToken": "t", "progress": value}));
    told_to_both(WRAPPED, "progress", r#"{"values":[1.0,1,0.5,2.0,2,-3,2.5]}"#, &values).await;
}

#[tokio::test]
async fn log_messages_of_a_wrapped_tool_are_as_they_are_without_a_handler() {
    told_to_both(WRAPPED, "flood", r#"{"n":2}"#, &[log(&json!(1)), log(&json!(2))]).await;
}

#[tokio::test]
async fn over_http_both_are_on_the_stream_of_the_call() {
    let params = |messages: &[Message]| -> Vec<Value> {
        let (answer, told) = messages.split_last().expect("at least the answer");
        answer.result();
        told.iter().map(|message| message.value()["params"].clone()).collect()
    };
    for era in ERAS {
        let proxy = world(era, WRAPPED).http().await;
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        let level = client.legacy(&message::request("1", "logging/setLevel", r#"{"level":"info"}"#));
        client.send(&level).await.messages().await;
        for (call, expected) in [
            (message::call("progress", r#"{"n":2}"#), vec![step(1, 2), step(2, 2)]),
            (message::call("flood", r#"{"n":1}"#), vec![log(&json!(1))]),
        ] {
            let body = with_meta(&call, r#"{"progressToken":"t"}"#);
            let asked = client.legacy(&message::request("70", "tools/call", &body));
            assert_eq!(params(&client.send(&asked).await.messages().await), expected, "{era}");
            let asked = HttpRequest::modern_with_meta("71", "tools/call", &call, &modern_meta());
            assert_eq!(params(&client.send(&asked).await.messages().await), expected, "{era}");
        }
    }
}

#[tokio::test]
async fn from_the_second_call_on_progress_counts_up_without_a_total() {
    let script = "
calls = {meta.name: call for meta, call in backends()['fake'].tools()}

def twice(args):
    calls['progress']({'n': 2})
    calls['progress']({'values': [0.5, 0.5, 0.75]})
    return 'done'

def between(args):
    progress(10, 20, 'own')
    calls['echo']({})
    calls['progress']({'n': 2})
    progress(11, 20, 'own again')
    return 'done'

def late(args):
    calls['progress']({'n': 2})
    progress(1, 3, 'own')
    progress(1, 3, 'nothing new')
    calls['progress']({'n': 2})
    progress(2, 3, 'own again')
    return 'done'

publish(metadata('twice', '', {}, {}), twice)
publish(metadata('between', '', {}, {}), between)
publish(metadata('late', '', {}, {}), late)
";
    let up = |value: u32| json!({"progressToken": "t", "progress": value});
    told_to_both(script, "twice", "{}", &[step(1, 2), step(2, 2), up(3), up(4)]).await;
    let own =
        |value: f64, message: &str| json!({"progressToken": "t", "progress": value, "total": 20.0, "message": message});
    told_to_both(script, "between", "{}", &[own(10.0, "own"), own(11.0, "own again")]).await;
    let late = [step(1, 2), step(2, 2), bare(&json!(3), "own"), bare(&json!(4), "own again")];
    told_to_both(script, "late", "{}", &late).await;
}

#[tokio::test]
async fn the_wrappers_of_the_library_pass_named_arguments_on() {
    let script = "
load('@proxy//lib@1.star', 'with_approval', 'with_fallback', 'with_retry')

calls = {meta.name: call for meta, call in backends()['fake'].tools()}
wrapped = with_retry(with_fallback(with_approval(calls['progress'], 'May it?', when_unavailable = 'accept')))

def quiet(args):
    wrapped({'n': 2}, relay = False, timeout = 30)
    return 'done'

publish(metadata('quiet', '', {}, {}), quiet)
";
    told_to_both(script, "quiet", "{}", &[]).await;
}

#[tokio::test]
async fn parallel_calls_count_up_together() {
    let script = "
calls = {meta.name: call for meta, call in backends()['fake'].tools()}

def both(args):
    parallel([lambda: calls['progress']({'n': 3}), lambda: calls['progress']({'n': 3})])
    return 'done'

publish(metadata('both', '', {}, {}), both)
";
    let mut proxy = started(world("legacy", script)).await;
    let told = told(&mut proxy, r#"{"progressToken":"t"}"#, "both", "{}").await;
    let values: Vec<f64> = told.iter().filter_map(|params| params["progress"].as_f64()).collect();
    assert!(values.len() >= 4 && values.is_sorted_by(|one, next| one < next), "{told:?}");
}

#[tokio::test]
async fn a_handler_can_keep_progress_and_log_messages_back() {
    let script = "
def wrap(call):
    return lambda args: call(args, relay = False)

for meta, call in backends()['fake'].tools():
    publish(meta, wrap(call))
";
    told_to_both(script, "progress", r#"{"n":2}"#, &[]).await;
    told_to_both(script, "flood", r#"{"n":2}"#, &[]).await;
    // A call that is kept back takes no part in the counting.
    let script = "
calls = {meta.name: call for meta, call in backends()['fake'].tools()}

def first(args):
    calls['progress']({'n': 5}, relay = False)
    return calls['progress']({'n': 2}, relay = True)

publish(metadata('first', '', {}, {}), first)
";
    told_to_both(script, "first", "{}", &[step(1, 2), step(2, 2)]).await;
}

#[tokio::test]
async fn a_wrong_relay_is_an_error_that_says_what_it_takes() {
    let script = "
calls = {meta.name: call for meta, call in backends()['fake'].tools()}
publish(metadata('wrong', '', {}, {}), lambda args: calls['echo']({}, relay = 'no'))
publish(metadata('unknown', '', {}, {}), lambda args: calls['echo']({}, quiet = True))
";
    let mut proxy = started(world("legacy", script)).await;
    let text = proxy.error_of("wrong", "{}").await;
    assert!(text.contains("`relay` must be True or False, not a `string`"), "{text}");
    let text = proxy.error_of("unknown", "{}").await;
    assert!(text.contains("a tool takes no argument named `quiet`"), "{text}");
}

/// Over stdio a log message does not say to which call it belongs.
#[tokio::test]
async fn while_a_call_is_kept_back_no_log_message_of_its_connection_is_passed_on() {
    let script = "
calls = {meta.name: call for meta, call in backends()['fake'].tools()}

def both(args):
    parallel([
        lambda: calls['progress']({'n': 1, 'ms': 2000}, relay = False),
        lambda: calls['flood']({'n': 3}),
    ])
    return calls['flood']({'n': 1})

publish(metadata('both', '', {}, {}), both)
";
    let mut proxy = started(world("legacy", script)).await;
    proxy.client.request("logging/setLevel", r#"{"level":"info"}"#).await.result();
    assert_eq!(told(&mut proxy, "{}", "both", "{}").await, [log(&json!(1))]);
}

#[tokio::test]
async fn call_tool_passes_both_on_and_code_mode_progress_only() {
    let script = "
index = search_index(backends()['fake'].tools())
publish(metadata('call_tool', '', {}, {}), lambda args: index.call(args['name'], args['parameters']))
publish(metadata('code', '', {}, {}), lambda args: run_script(args['script'], index))
";
    told_to_both(script, "call_tool", r#"{"name":"progress","parameters":{"n":2}}"#, &[step(1, 2), step(2, 2)]).await;
    told_to_both(script, "call_tool", r#"{"name":"flood","parameters":{"n":1}}"#, &[log(&json!(1))]).await;
    let code = json!({"script": "flood(n = 2)\ncall_tool('progress', {'n': 2})\nreturn 1"}).to_string();
    let expected = [bare(&json!(1), "step 1"), bare(&json!(2), "step 2")];
    told_to_both(script, "code", &code, &expected).await;
}

#[tokio::test]
async fn wrapped_prompts_and_templates_are_completed_by_their_server() {
    let script = "
def wrap(call):
    return lambda args: call(args)

for meta, call in backends()['fake'].prompts():
    publish_prompt(meta.replace(name = 'my_' + meta.name), wrap(call))
for meta, call in backends()['fake'].resource_templates():
    publish_resource_template(meta, wrap(call))
publish_prompt(prompt_metadata('mine', '', []), lambda args: 'hello')
";
    for era in ERAS {
        let flags = ["--era", era, "--prompts", "--resources", "--completions", "2"];
        let config =
            Config::new().server("fake", &fake_backend(flags)).section("sessionInit: { scriptFile: policy.star }");
        let mut proxy = started(Proxy::new(&config).file("policy.star", script)).await;
        let templates = proxy.client.request("resources/templates/list", "{}").await.value();
        let uri = templates["result"]["resourceTemplates"][0]["uriTemplate"].clone();
        let complete = |reference: Value, argument: &str| {
            json!({"ref": reference, "argument": {"name": argument, "value": ""}}).to_string()
        };
        let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
        for (params, count) in [
            (complete(prompt("my_greet"), "who"), 2),
            (complete(json!({"type": "ref/resource", "uri": uri}), "id"), 2),
            // An argument that is not published, and a prompt of the script itself.
            (complete(prompt("my_greet"), "hidden"), 0),
            (complete(prompt("mine"), "who"), 0),
        ] {
            let answer = proxy.client.request("completion/complete", &params).await;
            let values = answer.value()["result"]["completion"]["values"].clone();
            assert_eq!(values.as_array().map(Vec::len), Some(count), "{era} {params}: {}", answer.raw);
            let answer = proxy.client.modern("completion/complete", &params).await;
            let values = answer.value()["result"]["completion"]["values"].clone();
            assert_eq!(values.as_array().map(Vec::len), Some(count), "{era} {params}: {}", answer.raw);
        }
    }
}

#[tokio::test]
async fn a_wrapped_resource_has_no_members_of_the_other_era() {
    let script = "
def wrap(call):
    return lambda args: call(args)

for meta, call in backends()['fake'].resources():
    publish_resource(meta, wrap(call))
";
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "modern", "--resources", "--ttl", "60000"]))
        .section("sessionInit: { scriptFile: policy.star }");
    let mut proxy = started(Proxy::new(&config).file("policy.star", script)).await;
    let listed = proxy.client.request("resources/list", "{}").await.value();
    let read = json!({"uri": listed["result"]["resources"][0]["uri"]}).to_string();
    let result = proxy.client.request("resources/read", &read).await.value()["result"].clone();
    let members: Vec<&String> = result.as_object().expect("a result").keys().collect();
    assert_eq!(members, ["contents"]);
    let result = proxy.client.modern("resources/read", &read).await.value()["result"].clone();
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
}
