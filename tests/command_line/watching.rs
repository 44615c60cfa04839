//! `proxy calls` and `proxy restart`: looking at a running proxy, and restarting one of its servers.

use std::process::Command;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};

use crate::support::config::Config;
use crate::support::message;
use crate::support::patience::within;
use crate::support::program::{Program, is_gone};
use crate::support::programs::{fake_backend, fake_http_backend};
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::stdio_client::StdioClient;

async fn serving(world: Proxy) -> StdioProxy {
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.tools().await;
    proxy
}

/// A running `proxy calls --follow`.
struct Follower {
    program: Program,
    lines: Lines<BufReader<ChildStdout>>,
    _stdin: ChildStdin,
}

impl Follower {
    /// Calls are recorded when this returns.
    async fn start(world: &Proxy, arguments: &str) -> Self {
        let command = world.command(["calls", "--follow"].into_iter().chain(arguments.split_whitespace()));
        let (program, stdin, stdout) = Program::start(command);
        program.stderr.line("following the calls of process").await;
        Follower { program, lines: BufReader::new(stdout).lines(), _stdin: stdin }
    }

    async fn line(&mut self) -> String {
        let line = within("the next call", &self.program.stderr, self.lines.next_line()).await;
        line.expect("it is text").expect("it goes on")
    }

    async fn json(&mut self) -> Value {
        serde_json::from_str(&self.line().await).expect("JSON")
    }

    /// Presses Ctrl-C.
    async fn end(mut self) {
        self.program.interrupt();
        assert!(self.program.exit().await.success());
    }
}

const POLICY: &str = r#"
def on_request(request):
    if request.name == "fail":
        fail("not today")

for meta, call in backends()["fake"].tools():
    publish(meta, call)
"#;

fn with_policy() -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo,fail"]))
        .section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", POLICY)
}

#[tokio::test]
async fn calls_are_shown_as_they_happen_and_one_of_them_in_detail() {
    let mut proxy = serving(with_policy()).await;
    let nothing = proxy.world.run(["calls"]).await.expect(0);
    assert!(nothing.stdout.is_empty() && nothing.stderr.contains("`proxy calls --follow`"), "{}", nothing.stderr);
    let mut people = Follower::start(&proxy.world, "--filter method=tools/call").await;
    let mut program = Follower::start(&proxy.world, "--json --filter outcome=refused --filter tool=f*").await;

    proxy.client.call("echo", r#"{"password":"hunter2","mail":"ann@example.com","n":1}"#).await.result();
    proxy.client.call("fail", "{}").await;

    let (echoed, refused) = (people.line().await, people.line().await);
    assert!(
        echoed.contains(" ok ") && echoed.contains(" ms  ") && echoed.contains("tools/call echo (fake) "),
        "{echoed}"
    );
    assert!(refused.contains(" refused ") && refused.ends_with(": policy.star:4: not today"), "{refused}");
    let call = program.json().await;
    assert_eq!((&call["name"], &call["refusal"]["at"]), (&json!("fail"), &json!("policy.star:4")));
    assert_eq!((&call["refusal"]["reason"], &call["serverCalls"]), (&json!("on_request"), &json!([])));
    people.end().await;
    program.end().await;

    // Nobody looks now, and nothing more is recorded. What was seen can be looked at for a while.
    proxy.client.call("echo", "{}").await.result();
    let listed =
        proxy.world.run(["calls", "--json", "--filter", "server=fake", "--filter", "name=echo"]).await.expect(0);
    let [call] = listed.stdout.lines().collect::<Vec<_>>()[..] else { panic!("{}", listed.stdout) };
    let call: Value = serde_json::from_str(call).expect("JSON");
    assert_eq!((&call["outcome"], &call["source"]), (&json!("ok"), &json!("stdio")));
    assert_eq!((&call["serverCalls"][0]["server"], &call["serverCalls"][0]["outcome"]), (&json!("fake"), &json!("ok")));
    let id = echoed.split_whitespace().find(|word| call["id"].as_str().is_some_and(|id| id.ends_with(word)));
    let id = id.unwrap_or_else(|| panic!("{echoed} has the end of {}", call["id"]));
    let shown = proxy.world.run(["calls", id]).await.expect(0);
    assert!(shown.stdout.contains("\n-> fake tools/call: ok in "), "{}", shown.stdout);
    assert!(shown.stdout.contains(r#""password": "[secret]""#) && shown.stdout.contains("[email]"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("hunter2") && !shown.stdout.contains("ann@example.com"), "{}", shown.stdout);
    assert!(shown.stderr.contains("`--show-secrets` shows them"), "{}", shown.stderr);
    let whole = proxy.world.run(["calls", id, "--show-secrets", "--json"]).await.expect(0).json();
    assert_eq!(whole["params"]["json"]["arguments"]["password"], "hunter2");
    assert_eq!(whole["serverCalls"][0]["params"]["json"]["arguments"]["mail"], "ann@example.com");
}

#[tokio::test]
async fn a_call_without_a_response_says_why_although_its_client_gets_a_result() {
    // Given a server that has little time
    let slow = fake_backend(["--only", "slow"]);
    let config = Config::new().server_with("fake", &slow, json!({"timeout": "300ms"}));
    let mut proxy = serving(Proxy::new(&config)).await;
    let mut follower = Follower::start(&proxy.world, "--filter outcome=timeout").await;
    // When a call takes longer
    let answer = proxy.client.call("slow", r#"{"ms":60000}"#).await;
    assert!(answer.text().contains("did not respond within 0.3"), "{}", answer.raw);
    // Then it is shown as what it was
    let line = follower.line().await;
    assert!(line.contains(" timeout ") && line.contains("(`mcpServers.fake.timeout`)"), "{line}");
    follower.end().await;
}

#[tokio::test]
async fn what_cannot_be_shown_is_said() {
    let none = with_policy().run(["calls", "--follow"]).await.expect(1);
    assert!(none.stderr.starts_with("error: no `proxy serve` of this user is running\n"), "{}", none.stderr);
    let wrong = with_policy().run(["calls", "--filter", "sever=fake"]).await.expect(2);
    assert!(wrong.stderr.contains("did you mean `server`?"), "{}", wrong.stderr);
    let mut proxy = serving(with_policy()).await;
    let unknown = proxy.world.run(["calls", "deadbeef"]).await.expect(1);
    assert!(unknown.stderr.starts_with("error: no such call is kept"), "{}", unknown.stderr);
    // A proxy that ends while somebody follows it.
    let mut follower = Follower::start(&proxy.world, "").await;
    proxy.client.program.terminate();
    proxy.client.program.exit().await;
    assert_eq!(follower.program.exit().await.code(), Some(1));
    let log = follower.program.stderr.whole().await;
    assert!(log.contains("(`proxy serve`) exited before it answered"), "{log}");
}

async fn process_id(proxy: &mut StdioProxy) -> u32 {
    let told = proxy.client.call("pid", "{}").await.value();
    let pid = told["result"]["structuredContent"]["pid"].as_u64();
    pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or_else(|| panic!("{told}"))
}

/// Begins a call that is never answered, and waits until it has reached the server.
async fn stalled(proxy: &mut StdioProxy) -> String {
    let id = proxy.client.begin("tools/call", &message::call("stall", r#"{"mark":"on its way"}"#)).await;
    proxy.client.call("seen", r#"{"wait_for":"on its way"}"#).await.result();
    id
}

#[tokio::test]
async fn a_process_is_restarted_and_clients_keep_their_tools() {
    let fragile = json!({"circuitBreaker": {"failures": 1, "cooldown": "10m"}});
    let config = Config::new().server_with("fake", &fake_backend(["--only", "pid,stall,seen"]), fragile);
    let mut proxy = serving(Proxy::new(&config)).await;
    let before = process_id(&mut proxy).await;
    let unanswered = stalled(&mut proxy).await;

    let restarted = proxy.world.run(["restart", "fake"]).await.expect(0);

    let (line, log) = (&restarted.stdout, proxy.client.stderr().clone());
    assert!(line.starts_with("`fake` is ready again after ") && line.ends_with(" s: 3 tools\n"), "{line}");
    let failed = proxy.client.response(&unanswered).await;
    assert!(failed.text().contains("it was restarted before it responded; call it again"), "{}", failed.raw);
    is_gone(before, &log).await;
    assert_ne!(process_id(&mut proxy).await, before, "and the call that was lost does not disable the server");
    assert_eq!(proxy.tools().await.len(), 3);
    let status = proxy.world.run(["status", "--json"]).await.expect(0).json();
    assert_eq!((&status["servers"][0]["restarts"], &status["servers"][0]["status"]), (&json!(1), &json!("ready")));
    let unknown = proxy.world.run(["restart", "fakir"]).await.expect(1);
    assert_eq!(unknown.stderr, "error: there is no server `fakir`\n |\n = hint: did you mean `fake`?\n");
}

#[tokio::test]
async fn a_server_behind_a_url_is_connected_anew() {
    let (_server, url) = fake_http_backend(&["--era", "legacy", "--only", "stall,seen"]).await;
    let mut proxy = serving(Proxy::new(&Config::new().remote("fake", &url))).await;
    let unanswered = stalled(&mut proxy).await;
    proxy.world.run(["restart", "fake"]).await.expect(0);
    let failed = proxy.client.response(&unanswered).await;
    assert!(failed.text().contains("it was restarted before it responded"), "{}", failed.raw);
    proxy.client.call("seen", "{}").await.result();
    let status = proxy.world.run(["status", "--json"]).await.expect(0).json();
    assert_eq!((&status["servers"][0]["restarts"], &status["servers"][0]["status"]), (&json!(1), &json!("ready")));
}

#[tokio::test]
async fn a_server_that_does_not_start_again_is_told_with_its_error() {
    let fake = fake_backend(["--only", "echo"]);
    let mut moody = Command::new("sh");
    moody.args(["-c", "[ -e broken ] && { echo no licence >&2; exit 3; }; exec \"$0\" \"$@\""]);
    moody.arg(fake.get_program()).args(fake.get_args());
    let mut proxy = serving(Proxy::new(&Config::new().server("moody", &moody))).await;
    let broken = proxy.world.directory.write("broken", "");
    let failed = proxy.world.run(["restart", "moody"]).await.expect(1);
    assert!(failed.stderr.starts_with("error: `moody` did not start ("), "{}", failed.stderr);
    assert!(failed.stderr.contains("no licence") && failed.stderr.contains("`proxy logs moody`"), "{}", failed.stderr);
    std::fs::remove_file(broken).expect("it is there");
    let restarted = proxy.world.run(["restart", "moody", "--json"]).await.expect(0).json();
    assert_eq!((&restarted["status"], &restarted["tools"]), (&json!("ready"), &json!(1)));
    proxy.client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn of_several_proxies_the_one_of_this_folder_is_meant() {
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"]));
    let mut proxy = serving(Proxy::new(&config).file("elsewhere/proxy.yaml", &config.text())).await;
    let start = async |file: &str| {
        let mut other = StdioClient::start(proxy.world.command(["serve", "--config", file]));
        other.initialize("2025-11-25").await.result();
        other.request("tools/list", "{}").await.result();
        other
    };
    let restarts = async |pid: u32| {
        let status = proxy.world.run(["status", "--json", "--pid", &pid.to_string()]).await.expect(0).json();
        status["servers"][0]["restarts"].clone()
    };
    let elsewhere = start("elsewhere/proxy.yaml").await;

    proxy.world.run(["restart", "fake"]).await.expect(0);
    proxy.world.run(["logs", "fake"]).await.expect(0);
    proxy.world.run(["calls"]).await.expect(0);

    let pids = [proxy.client.program.id(), elsewhere.program.id()];
    assert_eq!((restarts(pids[0]).await, restarts(pids[1]).await), (json!(1), json!(0)));
    let twin = start("proxy.yaml").await;
    let mut twins = [pids[0], twin.program.id()];
    twins.sort_unstable();
    let [first, second] = twins;
    for (command, problem) in [
        (&["restart", "fake"][..], "several running proxies have a server `fake`"),
        (&["logs", "fake"], "several running proxies have a server `fake`"),
        (&["calls"], "several proxies are running"),
    ] {
        let refused = proxy.world.run(command.iter().copied()).await.expect(2);
        let expected = format!("error: {problem}: {first}, {second}\n");
        assert!(refused.stderr.starts_with(&expected), "{}", refused.stderr);
    }
    proxy.client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn a_command_for_the_config_of_this_folder_leaves_other_proxies_alone() {
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"]));
    let world = Proxy::new(&config).file("elsewhere/proxy.yaml", &config.text());
    let mut elsewhere = StdioClient::start(world.command(["serve", "--config", "elsewhere/proxy.yaml"]));
    elsewhere.initialize("2025-11-25").await.result();
    elsewhere.request("tools/list", "{}").await.result();
    let pid = elsewhere.program.id().to_string();
    for command in [&["restart", "fake"][..], &["logs", "fake"], &["calls"], &["sessions", "end", "--as-user", "ann"]] {
        let refused = world.run(command.iter().copied()).await.expect(1);
        for told in ["error: no running proxy serves `", &format!("process {pid} serves `"), "--pid PID"] {
            assert!(refused.stderr.contains(told), "{command:?}: {}", refused.stderr);
        }
    }
    world.run(["restart", "fake", "--pid", &pid]).await.expect(0);
}
