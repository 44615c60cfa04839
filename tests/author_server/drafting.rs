//! From the catalog to a tested script.

use serde_json::json;

use super::{Author, POLICY, TEST, world, world_with_script};
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::real_servers;

#[tokio::test]
async fn the_catalog_comes_from_the_lock_and_starts_nothing() {
    let mut author = Author::start(world().await).await;
    let catalog = author.data("catalog", json!({})).await;
    let names: Vec<&str> =
        catalog["items"].as_array().unwrap().iter().filter_map(|item| item["name"].as_str()).collect();
    assert!(names.contains(&"echo") && names.contains(&"notify"), "{catalog:#}");
    assert_eq!(catalog["servers"][0]["state"], "as last seen", "{catalog:#}");
    let named = author.data("catalog", json!({"server": "fake", "name": "ech*"})).await;
    assert_eq!(named["items"][0]["definition"]["inputSchema"]["type"], "object", "{named:#}");
    assert_eq!(named["items"].as_array().map(Vec::len), Some(1));
    let unknown = author.failure("catalog", json!({"server": "other"})).await;
    assert!(unknown.contains("unknown server `other`") && unknown.contains("known servers: fake"), "{unknown}");
}

#[tokio::test]
async fn a_server_that_was_only_seen_is_in_the_catalog_too() {
    let world = world().await;
    std::fs::remove_file(world.directory.path().join("proxy.lock")).unwrap();
    let mut author = Author::start(world).await;
    let never = author.data("catalog", json!({})).await;
    assert_eq!(never["items"], json!([]), "{never:#}");
    // A person looks once.
    author.world.run(["list-tools"]).await.expect(0);
    let seen = author.data("catalog", json!({})).await;
    assert!(seen["items"].as_array().is_some_and(|items| items.len() >= 2), "{seen:#}");
}

#[tokio::test]
async fn the_reference_explains_the_built_ins_and_has_an_example() {
    let mut author = Author::start(world().await).await;
    let overview = author.call("reference", json!({})).await.text();
    assert!(overview.contains("- `publish(") && overview.contains("def test_"), "{overview}");
    let publish = author.call("reference", json!({"name": "publish"})).await.text();
    assert!(publish.starts_with("```python\npublish("), "{publish}");
    let module = author.call("reference", json!({"name": "testing"})).await.text();
    assert!(module.contains("testing.session("), "{module}");
    let wrong = author.failure("reference", json!({"name": "publsh"})).await;
    assert!(wrong.contains("did you mean `publish`?"), "{wrong}");
}

#[tokio::test]
async fn a_draft_is_checked_tested_and_explained_without_being_saved() {
    let mut author = Author::start(world().await).await;
    let wrong = author.data("check", json!({"files": {"policy.star": "publish(nothing)\n"}})).await;
    assert_eq!(wrong["ok"], false);
    assert_eq!(wrong["problems"][0]["file"], "policy.star", "{wrong:#}");
    assert_eq!(wrong["problems"][0]["line"], 1, "{wrong:#}");
    let files = json!({"policy.star": POLICY, "policy_test.star": TEST});
    let right = author.data("check", json!({"files": files})).await;
    assert_eq!(right["ok"], true, "{right:#}");
    assert_eq!(right["published"]["tools"]["names"], json!(["echo"]), "{right:#}");
    let failing = TEST.replace("[\"echo\"]", "[]");
    let failed = author.data("test", json!({"files": {"policy.star": POLICY, "policy_test.star": failing}})).await;
    assert_eq!((&failed["failed"], &failed["tests"][0]["error"]["line"]), (&json!(1), &json!(7)), "{failed:#}");
    let passed = author.data("test", json!({"files": files})).await;
    assert_eq!((&passed["passed"], &passed["failed"]), (&json!(1), &json!(0)), "{passed:#}");
    let why = json!({"files": files, "script": "policy.star", "name": "fake/notify"});
    let explained = author.data("explain", why).await;
    assert_eq!(explained["items"][0]["why"], "nobody needs it", "{explained:#}");
    assert!(!author.has("policy.star") && !author.has("policy_test.star"));
}

#[tokio::test]
async fn scripts_are_written_for_the_profile_that_the_command_names() {
    let config = super::config()
        .server("other", &fake_backend(["--only", "add_tool"]))
        .section("profiles: { team: { servers: [fake] } }");
    let world = super::locked(Proxy::new(&config)).await;
    let unknown = world.run(["author", "--profile", "tean"]).await.expect(2);
    for part in ["no profile `tean`", "did you mean `team`?"] {
        assert!(unknown.stderr.contains(part), "{}", unknown.stderr);
    }
    let mut author = Author::with(world, &["--profile", "team"]).await;
    let told = author.client.request("tools/list", "{}").await;
    assert!(told.raw.contains("catalog"), "{}", told.raw);
    let catalog = author.data("catalog", json!({})).await;
    assert!(!catalog["items"].to_string().contains("\"other\""), "{catalog:#}");
    let draft = "publish(metadata('of_' + profile(), '', {}, {}), lambda args: 'x')\n";
    let checked = author.data("check", json!({"files": {"own.star": draft}, "script": "own.star"})).await;
    assert_eq!(checked["published"]["tools"]["names"], json!(["of_team"]), "{checked:#}");
}

#[tokio::test]
async fn what_a_draft_changes_for_clients_is_told() {
    let passing = POLICY.replace("skip(meta, \"nobody needs it\")", "publish(meta, call)");
    let mut author = Author::start(world_with_script(&passing).await).await;
    let diff = author.data("diff", json!({"files": {"policy.star": POLICY}})).await;
    assert_eq!(diff["published"]["removed"], json!(["tools: notify"]), "{diff:#}");
    assert_eq!(diff["published"]["added"], json!([]), "{diff:#}");
    assert_eq!(diff["published"]["changed"][0]["is"]["why"], "nobody needs it", "{diff:#}");
    let text = diff["texts"][0]["text"].as_str().unwrap();
    assert!(text.contains("\n+            skip(meta, \"nobody needs it\")\n"), "{text}");
    assert_eq!(diff["texts"][0]["new"], false);
}

#[tokio::test]
async fn recorded_calls_run_through_a_draft() {
    let passing = POLICY.replace("skip(meta, \"nobody needs it\")", "publish(meta, call)");
    let world = world_with_script(&passing).await.file("calls.jsonl", &recording());
    let mut author = Author::start(world).await;
    let files = json!({"policy.star": POLICY});
    let report = author.data("backtest", json!({"recording": "calls.jsonl", "files": files})).await;
    assert_eq!((&report["same"], &report["differences"][0]["name"]), (&json!(0), &json!("notify")), "{report:#}");
    let same = author.data("backtest", json!({"recording": "calls.jsonl"})).await;
    assert_eq!(same["same"], 1, "{same:#}");
    for (name, told) in
        [("proxy.yaml", "is no recording"), ("../calls.jsonl", "is not below"), ("no.jsonl", "cannot read")]
    {
        let refused = author.failure("backtest", json!({"recording": name})).await;
        assert!(refused.contains(told), "{refused}");
    }
    std::os::unix::fs::symlink("/etc/passwd", author.world.directory.path().join("link.jsonl")).unwrap();
    let refused = author.failure("backtest", json!({"recording": "link.jsonl"})).await;
    assert!(refused.contains("cannot read `link.jsonl`") && !refused.contains("root:"), "{refused}");
    std::os::unix::fs::symlink("/etc", author.world.directory.path().join("linked")).unwrap();
    let refused = author.failure("backtest", json!({"recording": "linked/calls.jsonl"})).await;
    assert!(refused.contains("a link leads out of the folder"), "{refused}");
}

#[tokio::test]
#[ignore = "installs the TypeScript SDK"]
async fn a_client_of_others_goes_from_the_catalog_to_a_saved_policy() {
    for (era, revision) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let world = world_with_script(&POLICY.replace("skip(meta, \"nobody needs it\")", "publish(meta, call)")).await;
        let Some(report) = drafted(&world, era).await else { return };
        assert_eq!(report["revision"], revision, "{report:#}");
        assert_eq!(report["removed"], json!(["tools: notify"]), "{report:#}");
        assert_eq!(report["first"]["failed"], 1, "{report:#}");
        assert_eq!(report["second"], json!({"passed": 1, "failed": 0}), "{report:#}");
        assert_eq!(report["saved"]["replaced"], true, "{report:#}");
        // What was saved is what a person would run.
        world.run(["test"]).await.expect(0);
        let listed = world.run(["list-tools", "--json"]).await.expect(0).stdout;
        assert!(!listed.contains("\"notify\"") && listed.contains("\"echo\""), "{listed}");
    }
}

/// What the client reports of its work.
async fn drafted(world: &Proxy, era: &str) -> Option<serde_json::Value> {
    let mut client = real_servers::author_client()?;
    let author = world.command(["author"]);
    let environment: serde_json::Map<String, serde_json::Value> = author
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.into())))
        .collect();
    let started = json!({
        "command": author.get_program().to_str(),
        "args": ["author"],
        "cwd": world.directory.path(),
        "env": environment,
    });
    client.args([era, &started.to_string()]);
    Some(Finished::run(client).await.expect(0).json())
}

/// One call of `notify`, as `proxy calls --record` writes it.
fn recording() -> String {
    let tools = json!([{"name": "notify", "inputSchema": {"type": "object"}}]);
    let server = json!({"name": "fake", "kind": "stdio", "status": "ready", "offer": {"tools": tools}});
    let catalog = json!({"at": "2026-01-01T00:00:00Z", "script": null, "servers": [server]});
    let start = json!({"start": {"version": 1, "proxy": "1.0.0", "catalog": catalog}});
    let params = json!({"name": "notify", "arguments": {}});
    let result = json!({"content": [{"type": "text", "text": "ok"}]});
    let call = json!({
        "id": "call-1", "at": "2026-01-01T12:00:00Z", "ms": 1.5, "method": "tools/call", "name": "notify",
        "published": true, "origin": ["fake", "notify"],
        "user": {"sub": "ann", "email": "", "name": "", "groups": [], "claims": {}, "anonymous": false, "local": false},
        "client": {"protocolVersion": "2025-11-25", "info": null, "capabilities": {}},
        "source": "http", "session": 1, "script": null, "params": params, "outcome": "ok", "refusal": null,
        "result": result, "ended": true,
        "serverCalls": [{"server": "fake", "method": "tools/call", "params": params, "outcome": "ok", "result": result}],
    });
    format!("{start}\n{}\n", json!({"call": call}))
}
