//! What a script can do: call tools, in every way there is, and give back what it made of them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{failure, returned, run, scripted, started, world};
use crate::support::config::Config;
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::rmcp_client::{RmcpClient, legacy, modern};
use crate::support::rmcp_person::Person;

#[tokio::test]
async fn a_script_calls_tools_as_functions_and_returns_one_value() {
    let mut proxy = started(world("echo,odd-name,fail", "enabled: true")).await;
    let names = proxy.client.request("tools/list", "{}").await.tool_names();
    assert_eq!(names, ["execute_tool_script"]);
    for (script, expected) in [
        ("return echo(n = 1)", json!({"n": 1})),
        ("return echo({'n': 1}, m = 2)", json!({"n": 1, "m": 2})),
        ("return odd_name(x = [1.5, None, True])", json!({"x": [1.5, null, true]})),
        ("return call_tool('odd-name', {'from': 'here'})", json!({"from": "here"})),
        ("total = 0\nfor i in range(5):\n    total += echo(n = i)['n']\nreturn total", json!(10)),
        ("def twice(x):\n    return 2 * x\n\nreturn [twice(x) for x in [1, 2]]", json!([2, 4])),
        ("text = '''\nnot moved\n  nor this'''\nreturn text", json!("\nnot moved\n  nor this")),
        ("    return 'indented as a whole'", json!("indented as a whole")),
        ("x = 1", Value::Null),
        ("return attempt(call_tool, 'fail', {'message': 'no luck'}).error", json!("`fail`: no luck")),
        ("return [attempt(call_tool, 'none', {}).ok, unwrap({'structuredContent': {'result': 7}})]", json!([false, 7])),
        ("return json.decode('[1]') + [re.match('a+', 'aa') != None, len(digest(1))]", json!([1, true, 64])),
        ("return 123456789012345678901234567890", json!(123456789012345678901234567890_f64)),
    ] {
        let answer = run(&mut proxy, script).await;
        let value = returned(&answer);
        if !value.is_f64() && value.as_i64().is_none() && value.is_number() {
            assert!(answer.raw.contains("123456789012345678901234567890"), "{}", answer.raw);
        } else {
            assert_eq!(value, expected, "{script}");
        }
    }
}

#[tokio::test]
async fn data_comes_in_and_printed_lines_come_back() {
    let mut proxy = started(world("echo", "enabled: true")).await;
    let arguments = json!({"script": "print('got', data['x'], sep = ': ')\nreturn data['x']", "data": {"x": [1, 2]}});
    let answer = proxy.client.call("execute_tool_script", &arguments.to_string()).await;
    assert_eq!(answer.value()["result"]["structuredContent"], json!({"result": [1, 2], "printed": "got: [1, 2]\n"}));
    assert_eq!(answer.value()["result"]["content"][0]["text"], "[1,2]");
    let text = failure(&run(&mut proxy, "print('so far')\nreturn echo(1, 2)").await);
    assert!(text.starts_with("`echo` takes named arguments only (line 2 of the script)\nhint: "), "{text}");
    assert!(text.ends_with("printed before the error:\nso far\n"), "{text}");
}

#[tokio::test]
async fn what_is_wrong_with_a_script_is_told_with_its_own_line() {
    let mut proxy = started(world("echo", "enabled: true")).await;
    for (script, expected) in [
        ("x = 1\n\nreturn x +", "(line 3 of the script)"),
        ("x = 1\nreturn y", "Variable `y` not found, did you mean `x`? (line 2 of the script)"),
        ("fail('stop')", "stop (line 1 of the script)"),
        ("", "the script is empty"),
        ("return echo", "the script's return value cannot be converted to JSON: a function has no JSON representation"),
        ("while True:\n    pass", "Starlark has no `while`"),
        ("return parallel([lambda: echo(n = i) for i in range(3)])", "i"),
        ("return parallel([echo(n = 1)])", "parallel() takes functions"),
    ] {
        let text = failure(&run(&mut proxy, script).await);
        assert!(text.contains(expected), "{script}: {text}");
    }
}

#[tokio::test]
async fn a_script_reaches_what_it_was_given_and_nothing_else() {
    let mut proxy = scripted(
        "echo,env",
        "
index = [tool for tool in backends()['fake'].tools() if tool[0].name == 'echo']
publish(metadata('run', '', {'type': 'object'}, {}), lambda args: run_script(args['script'], index))
publish(metadata('secret', '', {}, {}), lambda args: 'secret')
",
    );
    proxy = proxy.environment("SECRET_OF_THE_PROXY", "s3cret");
    let mut proxy = started(proxy).await;
    for (script, expected) in [
        ("load('@proxy//lib@1.star', 'aggregate')\nreturn 1", "a script of code mode cannot load files"),
        ("return call_tool('env', {})", "there is no tool `env`"),
        ("return call_tool('secret', {})", "there is no tool `secret`"),
        ("return secret()", "Variable `secret` not found"),
        ("return backends()", "Variable `backends` not found"),
        ("return state.get('x')", "Variable `state` not found"),
        ("return shared_state.get('x')", "Variable `shared_state` not found"),
        ("return config()", "Variable `config` not found"),
        ("return current_user()", "Variable `current_user` not found"),
        ("return run_script('return 1', [])", "Variable `run_script` not found"),
        ("return time.now()", "only while a call is handled"),
        ("log('x')", "Variable `log` not found"),
    ] {
        let answer = proxy.client.call("run", &json!({"script": script}).to_string()).await;
        let text = failure(&answer);
        assert!(text.contains(expected), "{script}: {text}");
    }
    let answer = proxy.client.call("run", r#"{"script":"return echo(a = 1)"}"#).await;
    assert_eq!(returned(&answer), json!({"a": 1}));
}

#[tokio::test]
async fn inner_calls_are_checked_as_those_of_a_client() {
    let mut proxy = started(scripted(
        "echo",
        "
def add(args):
    return {'sum': args['a'] + args['b']}
number = {'type': 'integer'}
schema = {'type': 'object', 'properties': {'a': number, 'b': number}, 'required': ['a', 'b']}
tools = [
    (metadata('add', 'Adds.', schema, {}), add),
    (metadata('broken', '', {}, {}), lambda args: fail('out of order')),
    (metadata('liar', '', {}, {}, output_schema = {'type': 'object', 'required': ['x']}), lambda args: {'y': 1}),
]
for meta, call in tools + [(metadata('run', '', {'type': 'object'}, {}), lambda args: run_script(args['script'], search_index(tools)))]:
    publish(meta, call)
",
    ))
    .await;
    for (script, expected) in [
        ("return add(a = 1)", "`add`: invalid arguments for `add`"),
        ("return broken()", "`broken`: out of order"),
        ("return liar()", "`liar`: `liar` returned something its `output_schema` does not allow"),
        ("return call_tool('ad', {})", "there is no tool `ad`; did you mean `add`?"),
    ] {
        let answer = proxy.client.call("run", &json!({"script": script}).to_string()).await;
        assert!(failure(&answer).starts_with(expected) || failure(&answer).contains(expected), "{}", answer.raw);
    }
    let script = "found = search_tools('adds numbers')\nreturn [found[0]['signature'], add(a = 1, b = 2)]";
    let answer = proxy.client.call("run", &json!({"script": script}).to_string()).await;
    assert_eq!(returned(&answer), json!(["add(a: int, b: int)", {"sum": 3}]));
}

#[tokio::test]
async fn branches_wait_at_the_same_time() {
    let mut proxy = started(world("reorder,echo", "parallelMaxConcurrency: 20")).await;
    // The server answers none of these calls before all 20 have arrived, and then the last one first.
    let script = "return parallel([lambda k = k: reorder(n = 20, k = k)['k'] for k in range(20)], limit = 20)";
    assert_eq!(returned(&run(&mut proxy, script).await), json!((0..20).collect::<Vec<_>>()));
    let nested = "return parallel([lambda i = i: parallel([lambda j = j: echo(n = 10 * i + j)['n'] for j in range(2)]) for i in range(2)])";
    assert_eq!(returned(&run(&mut proxy, nested).await), json!([[0, 1], [10, 11]]));
}

#[tokio::test]
async fn the_description_says_what_can_be_called() {
    let mut proxy = started(world("slow,odd-name", "enabled: true")).await;
    let list = proxy.client.request("tools/list", "{}").await.value();
    let description = list["result"]["tools"][0]["description"].as_str().expect("it has one").to_owned();
    assert!(description.contains("slow(ms?: int)\n    Waits before it answers."), "{description}");
    assert!(description.contains("odd_name(**arguments)") || description.contains("odd_name()"), "{description}");
    let many: Vec<String> = (0..800).map(|number| format!("tool_number_{number}")).collect();
    let mut proxy = started(world(&many.join(","), "enabled: true")).await;
    let list = proxy.client.request("tools/list", "{}").await.value();
    let description = list["result"]["tools"][0]["description"].as_str().expect("it has one").to_owned();
    assert!(description.contains("There are 800 tools, by server: fake (800). search_tools("), "{description}");
    assert_eq!(returned(&run(&mut proxy, "return call_tool('tool_number_7', {'x': 1})").await), json!({"x": 1}));
}

#[tokio::test]
async fn beside_the_tools_where_the_default_preset_is_told_so() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo,execute_tool_script"]))
        .section("codeMode: { enabled: true }");
    let mut proxy = started(Proxy::new(&config)).await;
    let names = proxy.client.request("tools/list", "{}").await.tool_names();
    assert_eq!(names, ["echo", "execute_tool_script"]);
    let answer = run(&mut proxy, "return [echo(n = 1), call_tool('execute_tool_script', {'n': 2})]").await;
    assert_eq!(returned(&answer), json!([{"n": 1}, {"n": 2}]));
}

#[tokio::test]
async fn a_question_inside_of_a_tool_is_asked_and_the_script_goes_on_in_each_era() {
    let script = "
def ask(args):
    answer = elicit('Which ' + args['what'] + '?', {'type': 'object', 'properties': {'colour': {'type': 'string'}}}, when_unavailable = 'error')
    return {'result': args['what'] + ' ' + answer.action}
schema = {'type': 'object', 'properties': {'what': {'type': 'string'}}, 'required': ['what']}
tools = backends()['fake'].tools() + [(metadata('ask', '', schema, {}), ask)]
publish(metadata('run', '', {'type': 'object'}, {}), lambda args: run_script(args['script'], tools))
";
    let mut proxy = scripted("echo", script).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    let source = "
before = echo(n = 1)['n']
both = parallel([lambda: ask(what = 'a'), lambda: [echo(n = 2), ask(what = 'b')][1]])
return [before] + both + [ask(what = 'c')]
";
    for lifecycle in [legacy(), modern()] {
        let person = Arc::new(Person::present());
        let log = proxy.program.stderr.clone();
        let client = RmcpClient::http_of(&proxy.url, log, lifecycle, Arc::clone(&person)).await;
        let result = client.call("run", json!({"script": source})).await;
        assert_ne!(result.is_error, Some(true), "{result:?}");
        let expected = json!([1, "a accept", "b accept", "c accept"]);
        assert_eq!(result.structured_content.expect("it is data")["result"], expected);
        assert_eq!(person.asked().len(), 3, "each question once: {:?}", person.asked());
        client.finish().await;
    }
}

#[tokio::test]
async fn on_request_is_asked_before_every_call_of_a_script_in_the_name_of_its_client() {
    let script = "
tools = backends()['fake'].tools()
publish(metadata('run', '', {'type': 'object'}, {}), lambda args: run_script(args['script'], tools))

def on_request(request):
    if request.arguments.get('n') == 2:
        fail('not two')
    if request.arguments.get('n') == 3:
        return {'result': [request.method, request.name, request.user.sub, request.client.name]}
";
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}")
        .section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", script).http().await;
    let source = "return [echo(n = 1)['n'], attempt(echo, n = 2).error, echo(n = 3)]";
    let arguments = json!({ "script": source }).to_string();
    for (token, user) in [("secret-token-of-a", "ann"), ("secret-token-of-b", "bob")] {
        let mut client = proxy.client().with_header("Authorization", &format!("Bearer {token}"));
        client.initialize("2025-11-25").await.result();
        let value = returned(&client.call("run", &arguments).await);
        assert_eq!(value[0], 1);
        assert_eq!(value[1], "`echo`: not two (policy.star:7)");
        assert_eq!(value[2], json!(["tools/call", "echo", user, "test-client"]));
    }
}

#[tokio::test]
async fn no_call_of_a_script_takes_longer_than_it_may_whatever_the_tool_is_made_of() {
    let script = "
def slow_handler(args):
    sleep(600)

def caught(args):
    return attempt(sleep, 600).error

def branches(args):
    return parallel([lambda: sleep(600), lambda: 1])

def waits_for_a_server(args):
    return backends()['fake'].tools()[0][1]({'ms': 600000})

def computes(args):
    # Long steps: it shall exceed the time before it exceeds the number of steps.
    numbers = list(range(20000))
    for i in range(1000000000):
        max(numbers)

handlers = {'slow_handler': slow_handler, 'caught': caught, 'branches': branches, 'waits_for_a_server': waits_for_a_server, 'computes': computes}
tools = [(metadata(name, '', {}, {}), handler) for name, handler in handlers.items()]
tools += backends()['fake'].tools() + backends()['sleepy'].tools() + [(metadata('quick', '', {}, {}), lambda args: 'here')]
publish(metadata('run', '', {'type': 'object'}, {}), lambda args: run_script(args['script'], tools))

def on_request(request):
    if request.name == 'quick' and request.arguments.get('held'):
        sleep(600)
";
    let sleepy = "
def nap(params):
    sleep(600)

def describe_extension():
    return Extension(name = 'sleepy', version = '1.0.0', tools = [Tool(name = 'nap', description = '', handler = nap)])
";
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "slow"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section("extensions: { paths: [tools] }")
        .section("codeMode: { toolCallTimeout: 1s, timeout: 60s, maxCalls: 20 }");
    let mut proxy = started(Proxy::new(&config).file("policy.star", script).file("tools/sleepy.star", sleepy)).await;
    for (call, expected) in [
        ("slow_handler", "`slow_handler`: `slow_handler` did not answer within 1 s"),
        ("caught", "`caught`: `caught` did not answer within 1 s"),
        ("branches", "`branches`: `branches` did not answer within 1 s"),
        ("computes", "`computes`: `computes` did not answer within 1 s"),
        ("slow, ms = 600000", "`slow`: "),
        ("nap", "`nap`: "),
        ("quick, held = True", "`quick`: `quick` did not answer within 1 s"),
    ] {
        // The script goes on, and so does the call it is in.
        let source = format!("late = attempt({call}).error\nreturn [late, quick()]");
        let value = returned(&proxy.client.call("run", &json!({ "script": source }).to_string()).await);
        let late = value[0].as_str().expect("text");
        // What notices it first says so: the tool, the server it calls, or who called the tool.
        let noticed = ["did not answer within ", "did not respond within ", "the call's deadline has passed"];
        assert!(late.starts_with(expected) && noticed.iter().any(|text| late.contains(text)), "{call}: {value}");
        assert_eq!(value[1], "here", "{call}");
    }
    // A handler that learns of it from the server can say so itself.
    let source = "return attempt(waits_for_a_server).error";
    let value = returned(&proxy.client.call("run", &json!({ "script": source }).to_string()).await);
    assert!(value.as_str().expect("text").contains(" within "), "{value}");
}

#[tokio::test]
async fn the_timeout_of_a_server_limits_the_calls_of_a_script() {
    let config = Config::new()
        .server_with("fake", &fake_backend(["--only", "slow"]), json!({"timeout": "300ms"}))
        .section("sessionInit: { preset: code-mode }")
        .section("codeMode: { timeout: 10m, toolCallTimeout: 5m }");
    let mut proxy = started(Proxy::new(&config)).await;
    let value = returned(&run(&mut proxy, "return attempt(slow, ms = 600000).error").await);
    let text = value.as_str().expect("text");
    assert!(text.contains("server `fake` did not respond within 0."), "{text}");
    assert!(text.contains("(`mcpServers.fake.timeout`)"), "{text}");
}

#[tokio::test]
async fn a_script_that_wants_a_file_is_told_what_there_is_instead() {
    let mut proxy = started(world("echo", "enabled: true")).await;
    for (script, expected) in [
        ("import os\nreturn 1", "Starlark has no imports; `json`, `re`, `math` and `time` are built in"),
        ("from os import path\nreturn 1", "Starlark has no imports; `json`, `re`, `math` and `time` are built in"),
        ("load(\"//file.star\", \"name\")\nreturn 1", "a script of code mode cannot load files"),
        ("x = 1\nload(\"@proxy//lib@1.star\", \"aggregate\")", "a script of code mode cannot load files"),
    ] {
        let told = failure(&run(&mut proxy, script).await);
        assert!(told.contains(expected) && !told.contains("loads from a file"), "{script}: {told}");
    }
}
