use serde_json::json;

use super::{empty, two_servers, world};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::terminal::on_a_terminal;

#[tokio::test]
async fn a_tool_is_called_with_pairs_with_json_or_with_both() {
    let proxy = world();
    let called = proxy.run(["call", "echo", "n=1.10", "word=two words", "list=[1, 2]", "quoted=\"3\""]).await.expect(0);
    assert_eq!(called.stdout, "{\"n\":1.10,\"word\":\"two words\",\"list\":[1,2],\"quoted\":\"3\"}\n");
    let called = proxy.run(["call", "echo", "b=2", "--args", r#"{"a": 1, "b": 1}"#]).await.expect(0);
    assert_eq!(called.stdout, "{\"a\":1,\"b\":2}\n");
    let called = proxy.run(["call", "two_search", "q=x", "--json"]).await.expect(0);
    assert_eq!(called.json()["structuredContent"], json!({"q": "x"}));
}

#[tokio::test]
async fn a_value_stays_text_where_the_tool_wants_text() {
    let called = empty().run(["call", "greet", "name=007"]).await.expect(0);
    assert_eq!(called.stdout, "Hello, 007!\n");
    assert_eq!(empty().run(["call", "greet"]).await.expect(0).stdout, "Hello, World!\n");
}

#[tokio::test]
async fn a_misspelt_argument_is_a_warning() {
    let called = empty().run(["call", "greet", "nmae=Ann"]).await.expect(0);
    assert_eq!(called.stdout, "Hello, World!\n");
    assert_eq!(called.stderr, "warning: `greet` has no parameter `nmae`\n |\n = hint: did you mean `name`?\n");
}

#[tokio::test]
async fn a_tool_that_fails_is_exit_1_and_its_words_are_shown() {
    let proxy = world();
    let failed = proxy.run(["call", "fail", "message=no luck"]).await.expect(1);
    assert_eq!((failed.stdout.as_str(), failed.stderr.as_str()), ("no luck\n", ""));
    let failed = proxy.run(["call", "fail", "message=no luck", "--json"]).await.expect(1);
    assert_eq!(failed.json()["isError"], true);
    let failed = proxy.run(["call", "rpc_error", "message=mine"]).await.expect(1);
    assert!(failed.stderr.starts_with("error: ") && failed.stderr.contains("mine"), "{}", failed.stderr);
    let failed = empty().run(["call", "greet", "--args", r#"{"name": 7}"#]).await.expect(1);
    assert!(failed.stdout.contains("name"), "{}", failed.stdout);
}

#[tokio::test]
async fn an_unknown_tool_gets_the_nearest_name() {
    let proxy = world();
    let unknown = proxy.run(["call", "serach"]).await.expect(1);
    assert_eq!(unknown.stderr, "error: unknown tool `serach`\n |\n = hint: did you mean `search`?\n");
    let unknown = proxy.run(["call", "zebra", "--live"]).await.expect(1);
    assert_eq!(
        unknown.stderr,
        "error: unknown tool `zebra`\n |\n = hint: `proxy list-tools` lists the published tools; `proxy explain zebra` says why \
         one is not published\n"
    );
}

#[tokio::test]
async fn wrong_arguments_are_usage_errors() {
    let proxy = empty();
    for (arguments, expected) in [
        (vec!["greet", "name"], "error: invalid argument `name`: write it as NAME=VALUE\n"),
        (vec!["greet", "--args", "[1]"], "error: --args must be a JSON object\n"),
        (vec!["greet", "--timeout", "soon"], "error: invalid duration `soon`: write it as 10s, 500ms or 2m\n"),
    ] {
        let wrong = proxy.run(["call"].into_iter().chain(arguments)).await.expect(2);
        assert_eq!(wrong.stderr, expected);
    }
    let wrong = proxy.run(["call", "greet", "--args", "{"]).await.expect(2);
    assert!(wrong.stderr.starts_with("error: --args is not valid JSON: "), "{}", wrong.stderr);
}

#[tokio::test]
async fn patience_has_an_end() {
    let late = world().run(["call", "slow", "ms=600000", "--timeout", "100ms"]).await.expect(1);
    assert_eq!(late.stderr, "error: `slow` did not answer within 0.1 s\n");
}

#[tokio::test]
async fn a_tool_of_a_server_that_is_not_there_says_so() {
    let config = two_servers().server("gone", &std::process::Command::new("no-such-program"));
    let unknown = Proxy::new(&config).run(["call", "zebra"]).await.expect(1);
    assert!(
        unknown.stderr.contains("= note: server `gone` is not available: the command `no-such-program` was not found"),
        "{}",
        unknown.stderr
    );
}

#[tokio::test]
async fn a_tool_behind_call_tool_is_shown_the_way() {
    let proxy = Proxy::new(&two_servers().section("sessionInit: { preset: optimizer }"));
    let hidden = proxy.run(["call", "echo"]).await.expect(1);
    assert_eq!(
        hidden.stderr,
        "error: unknown tool `echo`\n |\n = hint: call it through `call_tool`: `proxy call call_tool tool_name=echo parameters='{...}'`\n"
    );
}

#[tokio::test]
async fn a_person_at_a_terminal_sees_how_far_a_tool_is_and_a_pipe_does_not() {
    let proxy = Proxy::new(&Config::new().server("fake", &fake_backend(["--only", "progress"])));
    let command = proxy.command(["call", "progress", "values=[1,2.5]"]);
    let piped = Finished::run(proxy.command(["call", "progress", "values=[1,2.5]"])).await.expect(0);
    assert_eq!(piped.stderr, "");
    let Some(terminal) = on_a_terminal(&command, 80) else { return };
    let seen = Finished::run(terminal).await.expect(0).stdout;
    let end = "\r\x1b[2K";
    let shown = seen.split_once(&format!("{end}1{end}2.5{end}")).unwrap_or_else(|| panic!("{seen:?}")).1;
    let laid_out = shown.replace("\r\n", "\n");
    assert_eq!(laid_out, "{\n  \"values\": [\n    1,\n    2.5\n  ]\n}\n");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&laid_out).expect("JSON"), piped.json());
}
