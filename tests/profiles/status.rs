//! What operators see of profiles: `proxy status` and metrics.

use serde_json::json;

use super::{RESEARCH, config, session, tools, world};
use crate::support::patience::within;
use crate::support::stdio_client::StdioClient;

#[tokio::test]
async fn the_status_shows_each_profile_with_its_path_its_items_and_its_sessions() {
    // given
    let profiles = format!("{RESEARCH}\n  idle: {{ servers: ['*'] }}");
    let proxy = world(&config(&profiles)).http().await;
    let mut research = session(&proxy, "research").await;
    assert_eq!(tools(&mut research).await, ["where", "papers_echo"]);
    let other = session(&proxy, "research").await;
    let top = session(&proxy, "").await;
    // when
    let status = proxy.world.run(["status", "--json"]).await.expect(0).json();
    // then
    let names: Vec<&str> =
        status["profiles"].as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["idle", "research", "sales"]);
    let counts = json!({"tools": 2, "resources": 0, "resourceTemplates": 0, "prompts": 0});
    let expected = json!({
        "name": "research", "path": "/mcp/research", "script": "policy.star", "published": counts, "sessions": 2,
        "scriptErrors": [], "userErrors": [],
    });
    assert_eq!(status["profiles"][1], expected);
    assert_eq!((&status["profiles"][0]["published"], &status["profiles"][0]["sessions"]), (&json!(null), &json!(0)));
    let of_clients: Vec<_> =
        status["clients"].as_array().expect("a list").iter().map(|one| one["profile"].clone()).collect();
    assert_eq!(of_clients, [json!("research"), json!("research"), json!("")]);
    assert_eq!((&status["published"]["tools"], &status["profile"]), (&json!(4), &json!(null)));
    let text = proxy.world.run(["status"]).await.expect(0).stdout;
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(words).collect();
    for line in ["PROFILE PATH PUBLISHED SESSIONS", "idle /mcp/idle not used yet 0", "research /mcp/research 2 tools 2"]
    {
        assert!(lines.iter().any(|shown| shown == line), "{line}: {text}");
    }
    drop((other, top));
}

#[tokio::test]
async fn a_profile_whose_script_fails_is_told_apart_from_the_top_level() {
    // given
    let profiles = "  research: { servers: [papers], sessionInit: { scriptFile: own.star } }";
    let config = config(profiles).section("telemetry: { metrics: '127.0.0.1:0' }");
    let good = "publish(metadata('before', '', {}, {}), lambda args: 'x')\n";
    let proxy = world(&config).file("own.star", good).http().await;
    let line = proxy.program.stderr.line("metrics on ").await;
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
    let metrics = async || {
        let answer = reqwest::get(format!("http://{address}/metrics")).await.expect("an answer");
        answer.text().await.expect("text")
    };
    let mut research = session(&proxy, "research").await;
    assert_eq!(tools(&mut research).await, ["before"]);
    assert!(metrics().await.contains("proxy_reload_failed 0\n"));
    // when
    proxy.world.directory.write("own.star", "fail('no such thing')\n");
    proxy.program.stderr.line("no such thing").await;
    // then
    let shown = async {
        loop {
            let status = proxy.world.run(["status", "--json"]).await.expect(0).json();
            if status["profiles"][0]["scriptErrors"] != json!([]) {
                return status;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let status = within("the error in the status", &proxy.program.stderr, shown).await;
    let profile = &status["profiles"][0];
    assert!(profile["scriptErrors"][0].as_str().is_some_and(|error| error.contains("own.star:1")), "{profile}");
    assert_eq!((&profile["published"]["tools"], &profile["script"]), (&json!(1), &json!("own.star")));
    assert_eq!(status["scriptErrors"], json!([]));
    let text = proxy.world.run(["status"]).await.expect(0).stdout;
    assert!(text.contains("the session script of the profile `research` fails:\n"), "{text}");
    assert!(text.contains("no such thing"), "{text}");
    assert_eq!(tools(&mut research).await, ["before"]);
    let metrics = metrics().await;
    for line in [
        "proxy_reload_failed 1",
        "proxy_profile_published{profile=\"research\",kind=\"tool\"} 1",
        "proxy_profile_sessions{profile=\"research\"} 1",
    ] {
        assert!(metrics.contains(&format!("{line}\n")), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn the_status_of_a_proxy_on_stdio_names_the_profile_of_its_command_line() {
    let world = world(&config(RESEARCH));
    let mut command = world.serve_command();
    command.args(["--profile", "research"]);
    let mut client = StdioClient::start(command);
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["where", "papers_echo"]);
    let status = world.run(["status", "--json"]).await.expect(0).json();
    assert_eq!((&status["profile"], &status["profiles"]), (&json!("research"), &json!([])));
    assert_eq!(status["published"]["tools"], 2);
    let text = world.run(["status"]).await.expect(0).stdout;
    assert!(text.contains("serves: stdio, profile `research`\n"), "{text}");
}
