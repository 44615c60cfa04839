//! What a handler can do, and what the client sees of it.

use serde_json::json;

use super::{is_error, serving, started, world};
use crate::support::config::Config;
use crate::support::in_process::Proxy;
use crate::support::programs::fake_backend;

#[tokio::test]
async fn a_wrapped_handler_changes_arguments_and_result() {
    let script = "
def wrap(call):
    def handler(args):
        result = call(args | {'limit': 10})
        return {'content': [{'type': 'text', 'text': 'wrapped: ' + json.encode(result['structuredContent'])}]}
    return handler

for meta, call in backends()['fake'].tools():
    publish(meta, wrap(call))
";
    let mut proxy = serving("echo", script).await;
    let answer = proxy.client.call("echo", r#"{"q":"x","n":12345678901234567890123}"#).await;
    assert_eq!(answer.text(), r#"wrapped: {"q":"x","n":12345678901234567890123,"limit":10}"#);
    let answer = proxy.client.modern_call("echo", "{}").await;
    assert_eq!(answer.text(), r#"wrapped: {"limit":10}"#);
}

#[tokio::test]
async fn replace_changes_what_it_names_and_keeps_the_rest() {
    let script = "
for meta, call in backends()['fake'].tools():
    publish(meta.replace(
        name = 'say',
        title = 'Say',
        description = meta.description + ' Twice.',
        annotations = meta.annotations | {'readOnlyHint': True},
        meta = {'team': meta.backend_id},
    ), call)
";
    let mut proxy = serving("echo", script).await;
    let list = proxy.client.request("tools/list", "{}").await.value();
    assert_eq!(
        list["result"]["tools"],
        json!([{
            "name": "say", "description": "Returns its arguments. Twice.",
            "inputSchema": {"type": "object", "properties": {}},
            "title": "Say", "annotations": {"readOnlyHint": true}, "_meta": {"team": "fake"},
        }])
    );
    // Published unwrapped: the bytes go through, under the backend's own name.
    assert_eq!(proxy.client.call("say", r#"{"n":1.10}"#).await.structured(), r#"{"n":1.10}"#);
    let unknown = proxy.client.call("echo", "{}").await;
    assert_eq!((unknown.error_code(), unknown.error_message().as_str()), (-32602, "unknown tool: echo"));
}

#[tokio::test]
async fn bind_fills_a_parameter_in_and_takes_it_off_the_schema() {
    let script = "
for tool in backends()['fake'].tools():
    publish(*bind(tool, ms = 0))
";
    let mut proxy = serving("slow", script).await;
    let list = proxy.client.request("tools/list", "{}").await.value();
    assert_eq!(list["result"]["tools"][0]["inputSchema"], json!({"type": "object", "properties": {}}));
    let answer = proxy.client.call("slow", r#"{"a":1,"ms":600000}"#).await;
    assert_eq!(answer.value()["result"]["structuredContent"], json!({"a": 1, "ms": 0}));
}

#[tokio::test]
async fn attempt_and_unwrap_turn_errors_into_values() {
    let script = "
def call_of(name):
    return [call for meta, call in backends()['fake'].tools() if meta.name == name][0]

echo, bad = call_of('echo'), call_of('fail')

def both(args):
    good = attempt(unwrap, echo({'result': 41}))
    wrong = attempt(lambda: unwrap(bad({'message': 'no luck'})))
    return {'good': good.value + 1, 'wrong': [wrong.ok, wrong.value, wrong.error]}

publish(metadata('both', '', {}, {}), both)
publish(metadata('raise', '', {}, {}), lambda args: unwrap(bad({'message': 'no luck'})))
";
    let mut proxy = serving("echo,fail", script).await;
    let answer = proxy.client.call("both", "{}").await;
    assert_eq!(answer.value()["result"]["structuredContent"], json!({"good": 42, "wrong": [false, null, "no luck"]}));
    assert_eq!(proxy.error_of("raise", "{}").await, "no luck (policy.star:13)");
}

#[tokio::test]
async fn error_is_returned_and_fail_stops() {
    let script = "
def stop(args):
    fail('no access')

publish(metadata('returned', '', {}, {}), lambda args: error('not today'))
publish(metadata('stopped', '', {}, {}), stop)
";
    let mut proxy = serving("echo", script).await;
    assert_eq!(proxy.error_of("returned", "{}").await, "not today");
    assert_eq!(proxy.error_of("stopped", "{}").await, "no access (policy.star:3)");
    // The log has the place and the line for the one who runs the proxy.
    proxy.client.stderr().line("fail('no access')").await;
}

#[tokio::test]
async fn a_timeout_of_the_script_is_an_error_value() {
    let script = "
meta, call = backends()['fake'].tools()[0]
def impatient(args):
    result = call(args, timeout = 0.05 if args['ms'] else 60)
    return 'gave up: ' + result['content'][0]['text'] if result.get('isError') else 'in time'
publish(meta, impatient)
";
    let mut proxy = serving("slow", script).await;
    let answer = proxy.client.call("slow", r#"{"ms":600000}"#).await;
    assert!(!is_error(&answer), "{}", answer.raw);
    // What it took is told, which on a busy machine is a little more than what was asked for.
    assert!(answer.text().starts_with("gave up: server `fake` did not respond within 0."), "{}", answer.text());
    assert_eq!(proxy.client.call("slow", r#"{"ms":0}"#).await.text(), "in time");
}

#[tokio::test]
async fn a_timeout_of_the_script_does_not_extend_that_of_the_server() {
    let script = "
meta, call = backends()['fake'].tools()[0]
publish(meta, lambda args: call(args, timeout = 600)['content'][0]['text'])
";
    let config = Config::new()
        .server_with("fake", &fake_backend(["--only", "slow"]), json!({"timeout": "300ms"}))
        .section("sessionInit: { scriptFile: policy.star }");
    let mut proxy = started(Proxy::new(&config).file("policy.star", script)).await;
    let text = proxy.client.call("slow", r#"{"ms":600000}"#).await.text();
    assert!(text.starts_with("server `fake` did not respond within 0."), "{text}");
    assert!(text.contains("(`mcpServers.fake.timeout`)"), "{text}");
}

#[tokio::test]
async fn the_next_call_after_the_server_died_waits_for_it_to_be_back() {
    let script = "
tools = {meta.name: call for meta, call in backends()['fake'].tools()}
def again(args):
    died = tools['crash']({})
    back = tools['echo']({'n': 1})
    return '%s, then %s' % (died['content'][0]['text'], json.encode(back.get('structuredContent', back)))
publish(metadata('again', '', {}, {}), again)
";
    let mut proxy = serving("crash,echo", script).await;
    for _ in 0..3 {
        let answer = proxy.client.call("again", "{}").await.text();
        assert!(answer.starts_with("server `fake` failed before it responded"), "{answer}");
        assert!(answer.ends_with(r#", then {"n":1}"#), "{answer}");
    }
}

#[tokio::test]
async fn arguments_are_checked_before_a_handler_and_results_after_it() {
    let script = "
number = {'type': 'object', 'properties': {'n': {'type': 'integer'}}, 'required': ['n']}
publish(metadata('same', '', number, {}, output_schema = number), lambda args: {'n': args['n']})
publish(metadata('wrong', '', {}, {}, output_schema = number), lambda args: {'n': 'many'})
publish(metadata('none', '', {}, {}, output_schema = number), lambda args: 'text')
publish(metadata('sorry', '', {}, {}, output_schema = number), lambda args: error('no number today'))
publish(metadata('dict', '', {}, {}, output_schema = number), lambda args: {'error': 'none left'})
publish(metadata('both', '', {}, {}, output_schema = number), lambda args: {'error': 'none left', 'n': 'x'})
";
    let mut proxy = serving("echo", script).await;
    assert_eq!(proxy.client.call("same", r#"{"n":7}"#).await.structured(), r#"{"n":7}"#);
    let text = proxy.error_of("same", r#"{"n":"seven"}"#).await;
    assert!(text.starts_with("invalid arguments for `same`: ") && text.contains("`n`"), "{text}");
    let text = proxy.error_of("same", "{}").await;
    assert!(text.starts_with("invalid arguments for `same`: ") && text.contains('n'), "{text}");
    let text = proxy.error_of("wrong", "{}").await;
    assert!(text.starts_with("`wrong` returned something its `output_schema` does not allow: "), "{text}");
    assert!(text.contains("`n`"), "{text}");
    assert_eq!(
        proxy.error_of("none", "{}").await,
        "`none` promises structured output (`output_schema`) but returned none"
    );
    // An error need not keep the promise.
    assert_eq!(proxy.error_of("sorry", "{}").await, "no number today");
    assert_eq!(proxy.error_of("dict", "{}").await, "none left");
    assert!(proxy.error_of("both", "{}").await.contains("does not allow"));
}

#[tokio::test]
async fn returned_values_become_results() {
    let script = "
for name, value in {'text': 'hi', 'nothing': None, 'number': 3, 'items': [1, 2], 'data': {'a': 1}}.items():
    publish(metadata(name, '', {}, {}), (lambda value: lambda args: value)(value))
";
    let mut proxy = serving("echo", script).await;
    for (tool, expected) in [
        ("text", json!({"content": [{"type": "text", "text": "hi"}]})),
        ("nothing", json!({"content": []})),
        ("number", json!({"content": [{"type": "text", "text": "3"}], "structuredContent": {"result": 3}})),
        ("items", json!({"content": [{"type": "text", "text": "[1,2]"}], "structuredContent": {"result": [1, 2]}})),
        ("data", json!({"content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": {"a": 1}})),
    ] {
        assert_eq!(proxy.client.call(tool, "{}").await.value()["result"], expected, "{tool}");
    }
    // The newer era has structured content of any kind.
    let items = proxy.client.modern_call("items", "{}").await.value();
    assert_eq!(items["result"]["structuredContent"], json!([1, 2]));
}

#[tokio::test]
async fn an_error_of_the_backend_stays_one_unless_a_script_looks() {
    let script = "
meta, call = backends()['fake'].tools()[0]
publish(meta, call)
publish(meta.replace(name = 'looked'), lambda args: call(args))
";
    let mut proxy = serving("rpc_error", script).await;
    let arguments = r#"{"code":-32050,"message":"mine","data":{"x":1.10}}"#;
    let answer = proxy.client.call("rpc_error", arguments).await;
    assert_eq!((answer.error_code(), answer.error_message().as_str()), (-32050, "mine"));
    assert_eq!(proxy.error_of("looked", arguments).await, "mine");
}

#[tokio::test]
async fn instructions_reach_the_client() {
    let script = "instructions('be kind')\npublish(metadata('a', '', {}, {}), lambda args: None)\n";
    let mut proxy = world("echo", script).stdio();
    // The list waits for the script; what comes after it knows what the script said.
    proxy.client.modern("tools/list", "{}").await.result();
    let discovered = proxy.client.modern("server/discover", "{}").await.value();
    assert_eq!(discovered["result"]["instructions"], "be kind");
}

#[tokio::test]
async fn what_a_handler_logs_goes_to_the_log_with_its_tool() {
    let script = "
def noisy(args):
    log('looked it up', level = 'warning', key = args['key'], tool = 'somebody else')
    print('and', 'printed')
publish(metadata('noisy', '', {}, {}), noisy)
";
    let mut proxy = serving("echo", script).await;
    proxy.client.call("noisy", r#"{"key":"k1"}"#).await.result();
    let line = proxy.client.stderr().line("looked it up").await;
    assert!(line.contains("k1") && line.contains("noisy") && !line.contains("somebody else"), "{line}");
    proxy.client.stderr().line("and printed").await;
}

#[tokio::test]
async fn what_is_for_the_audit_is_logged_whatever_the_level_of_the_log() {
    let script = r#"
def handler(args):
    log("an error line", level = "error")
    log("who did what", level = "audit", user = "somebody else", tool = "another", kept = 1)

publish(metadata("x", "", {}, {}), handler)
"#;
    let proxy = world("echo", script).argument("--log").argument("off").environment("USER", "tess");
    let mut proxy = started(proxy).await;
    proxy.client.call("x", "{}").await.result();
    let line = proxy.client.stderr().line("AUDIT who did what").await;
    // Who it was is the proxy's to say, not the script's.
    assert!(line.contains(" tool=x") && line.contains(" user=tess") && line.contains(" kept=1"), "{line}");
    assert!(!proxy.client.stderr().text().contains("an error line"));
}
