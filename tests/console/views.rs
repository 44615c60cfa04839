//! What the views of the page show: numbers of servers and tools, what each definition costs, the script and its problems.

use serde_json::{Value, json};

use super::{Console, get, serving, with_token};
use crate::support::config::Config;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const POLICY: &str = r#"load("names.star", "rename")
for meta, call in backends()["fake"].tools():
    if meta.name == "fail":
        publish(meta, call)
    else:
        publish(rename(meta), call)
"#;

const NAMES: &str = r#"def rename(meta):
    unused = 1
    return meta.replace(name = "my_" + meta.name)
"#;

async fn read(console: &Console, token: &str, path: &str) -> Value {
    let answer = console.ask(&with_token(get(), token), path).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.json()
}

#[tokio::test]
async fn the_views_have_what_they_show() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo,fail"]))
        .section("sessionInit: { scriptFile: policy.star }");
    let mut proxy = serving(Proxy::new(&config).file("policy.star", POLICY).file("names.star", NAMES)).await;
    proxy.client.call("my_echo", "{}").await.result();
    proxy.client.call("fail", "{}").await.result();
    let console = Console::start(&proxy.world).await;
    let token = console.log_in().await;

    let status = read(&console, &token, "/api/status").await;
    let server = &status["servers"][0];
    assert_eq!(
        (&server["calls"], &server["errors"], &server["running"]),
        (&json!(2), &json!(1), &json!(0)),
        "{server}"
    );
    assert!(server["p95Ms"].as_f64() >= server["p50Ms"].as_f64() && server["p50Ms"].is_f64(), "{server}");
    assert_eq!((&server["waiting"], &server["breakerOpen"]), (&json!(0), &json!(false)), "{server}");

    let operations = read(&console, &token, "/api/operations").await;
    let operations = operations["operations"].as_array().expect("a list");
    let of = |name: &str| operations.iter().find(|operation| operation["name"] == name).expect("it was called");
    assert_eq!((&of("my_echo")["calls"], &of("my_echo")["errors"]), (&json!(1), &json!(0)));
    assert_eq!((&of("fail")["method"], &of("fail")["errors"]), (&json!("tools/call"), &json!(1)));

    let surface = read(&console, &token, "/api/surface?histories=true&tokens=true").await;
    let history = &surface["histories"][0];
    assert_eq!((&history["name"], &history["publishedAs"]), (&json!("echo"), &json!("my_echo")), "{history}");
    let tokens = |list: &str| surface[list][0]["tokens"].as_u64().unwrap_or_else(|| panic!("{surface}"));
    assert!(tokens("published") >= tokens("offered") && tokens("offered") > 10, "{surface}");

    let script = read(&console, &token, "/api/script").await;
    let names: Vec<&str> =
        script["files"].as_array().expect("files").iter().filter_map(|file| file["name"].as_str()).collect();
    assert!(names[0].ends_with("policy.star") && names[1].ends_with("names.star"), "{names:?}");
    assert_eq!((&script["files"][0]["text"], &script["errors"]), (&json!(POLICY), &json!([])));
    assert_eq!((&script["rejected"], &script["lints"][0]["line"]), (&Value::Null, &json!(2)), "{script}");
    assert!(script["lints"][0]["file"].as_str().is_some_and(|file| file.ends_with("names.star")), "{script}");
}

#[tokio::test]
async fn a_version_of_the_script_that_fails_is_shown_beside_the_one_in_use() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("sessionInit: { scriptFile: policy.star }");
    let proxy = serving(Proxy::new(&config).file("policy.star", "passthrough()\n")).await;
    let console = Console::start(&proxy.world).await;
    let token = console.log_in().await;
    proxy.world.directory.write("policy.star", "passthrough()\nfail('not yet')\n");
    let rejected = async {
        loop {
            let script = read(&console, &token, "/api/script").await;
            if script["errors"] != json!([]) {
                return script;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let script = within("the failed version", &proxy.client.program.stderr, rejected).await;
    assert_eq!(script["files"][0]["text"], "passthrough()\n");
    assert_eq!(script["rejected"]["files"][0]["text"], "passthrough()\nfail('not yet')\n");
    assert!(script["errors"][0].as_str().is_some_and(|error| error.contains("not yet")), "{script}");
}
