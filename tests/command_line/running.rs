//! Commands ask the running `proxy serve` of their config.

use std::os::unix::net::UnixListener;

use serde_json::json;

use super::last_known::Counted;
use crate::support::config::Config;
use crate::support::programs::{fake_backend, proxy as program};
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::stdio_client::StdioClient;
use crate::support::terminal::typed;

pub async fn serving(world: Proxy) -> StdioProxy {
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.tools().await;
    proxy
}

#[tokio::test]
async fn a_running_proxy_answers_and_no_server_is_started() {
    let servers = Counted::new();
    let proxy = serving(servers.two().file("work.star", "return echo(a = 7)['a']\n")).await;
    assert_eq!(servers.started(), ["one", "two"]);
    let run = async |command: &str| proxy.world.run(command.split(' ')).await.expect(0);
    assert_eq!(run("list-tools").await.column(), ["echo", "read"]);
    assert_eq!(run("list-tools two --all").await.column(), ["read"]);
    let tools = run("list-tools --json").await;
    assert_eq!(tools.json()[0]["tool"]["name"], "echo");
    assert!(run("find echo").await.stdout.contains("echo"));
    assert!(run("types").await.stdout.contains("echo"));
    assert_eq!(run("list-servers --json").await.json()[1]["status"], "ready");
    assert_eq!(run("exec work.star").await.stdout, "7\n");
    let called = run("call echo a=1.10 --json").await;
    assert!(called.stdout.contains("1.10"), "numbers stay as they are: {}", called.stdout);
    let unknown = proxy.world.run(["call", "ecko"]).await.expect(1);
    assert_eq!(unknown.stderr, "error: unknown tool `ecko`\n |\n = hint: did you mean `echo`?\n");
    let late = proxy.world.run(["call", "echo", "--timeout", "0ms"]).await.expect(1);
    assert!(late.stderr.contains("did not answer within 0 s"), "{}", late.stderr);
    assert_eq!(servers.started(), [""; 0]);
    // Whoever can be asked has a connection of their own to the server that is called, and to no other.
    typed(proxy.world.command(["call", "echo"]), "").await.expect(0);
    assert!(!servers.started().contains(&"two".to_owned()));
    let line = typed(proxy.world.command(["list-tools"]), "").await.expect(0);
    let expected = format!("from the running `proxy serve`, process {}", proxy.client.program.id());
    assert!(line.stderr.contains(&expected), "{}", line.stderr);
}

#[tokio::test]
async fn it_is_not_asked_about_anything_but_its_own_config() {
    let servers = Counted::new();
    let proxy = serving(servers.two()).await;
    let world = &proxy.world;
    servers.started();
    world.run(["list-tools", "--live"]).await.expect(0);
    assert_eq!(servers.started(), ["one", "two"]);
    // The same servers by another file.
    let text = std::fs::read_to_string(world.directory.path().join("proxy.yaml")).expect("it is there");
    world.directory.write("other.yaml", &text);
    world.run(["call", "echo", "--config", "other.yaml"]).await.expect(0);
    assert_eq!(servers.started(), ["one"]);
    world.directory.write("mine.star", "for meta, call in backends()['two'].tools():\n    publish(meta, call)\n");
    world.run(["call", "read", "--script", "mine.star"]).await.expect(0);
    assert_eq!(servers.started(), ["two"]);
}

#[tokio::test]
async fn a_script_that_the_running_proxy_refused_is_tried_by_the_command() {
    let config =
        Config::new().server("one", &fake_backend(["--only", "echo"])).section("sessionInit: { scriptFile: p.star }");
    let proxy = serving(Proxy::new(&config).file("p.star", "passthrough()\n")).await;
    proxy.world.run(["list-tools"]).await.expect(0);
    proxy.world.directory.write("p.star", "fail('not like this')\n");
    let failed = proxy.world.run(["list-tools"]).await.expect(1);
    assert!(failed.stderr.contains("error: not like this\n --> p.star:1:1"), "{}", failed.stderr);
}

const POLICY: &str = r#"
FORM = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}

def on_request(request):
    if request.user.sub == "bob":
        fail("not for bob")

def order(args):
    answer = elicit("Order it?", FORM, when_unavailable = "reject")
    return {"action": answer.action, "content": answer.content}

def wait(args):
    print("somebody waits")
    return unwrap(backends()["fake"].tools()[1][1]({"ms": 60000}))

publish(metadata("order", "", {}, {}), order)
publish(metadata("wait", "", {}, {}), wait)
for meta, call in backends()["fake"].tools():
    publish(meta, call)
"#;

fn asking() -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy", "--only", "ask,slow"]))
        .section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", POLICY)
}

#[tokio::test]
async fn questions_of_the_running_proxy_are_asked_on_this_terminal() {
    let proxy = serving(asking()).await;
    let ordered = typed(proxy.world.command(["call", "order"]), "yes\nbecause\n").await.expect(0);
    assert!(ordered.stderr.contains("process ") && ordered.stderr.contains("Order it?"), "{}", ordered.stderr);
    assert!(ordered.stdout.contains("because"), "{}", ordered.stdout);
    let asked = typed(proxy.world.command(["call", "ask", "message=Which?"]), "yes\nteal\n").await.expect(0);
    assert!(asked.stdout.contains("teal"), "{}\n{}", asked.stdout, asked.stderr);
    // Without a terminal nobody is asked.
    assert!(proxy.world.run(["call", "order"]).await.expect(0).stdout.contains("decline"));
}

#[tokio::test]
async fn the_policy_of_the_running_proxy_applies_to_the_named_user() {
    let proxy = serving(asking()).await;
    let refused = proxy.world.run(["call", "slow", "--as-user", "bob"]).await.expect(1);
    assert!((refused.stdout + &refused.stderr).contains("not for bob"));
}

#[tokio::test]
async fn a_proxy_that_dies_during_a_call_is_told() {
    let mut proxy = serving(asking()).await;
    let stderr = proxy.client.program.stderr.clone();
    let die = async {
        stderr.line("somebody waits").await;
        proxy.client.program.kill();
    };
    let (called, ()) = tokio::join!(proxy.world.run(["call", "wait"]), die);
    let called = called.expect(1);
    let expected = format!("error: process {} (`proxy serve`) exited before it answered", proxy.client.program.id());
    assert!(called.stderr.starts_with(&expected), "{}", called.stderr);
    // Its socket is still there, and nobody listens.
    proxy.client.program.exit().await;
    proxy.world.run(["list-tools"]).await.expect(0);
    let folder = proxy.world.directory.path().join("runtime/starlark-mcp-proxy");
    assert_eq!(std::fs::read_dir(folder).expect("it is there").count(), 0, "the stale socket is removed");
}

#[tokio::test]
async fn of_several_the_newest_is_asked() {
    let servers = Counted::new();
    let first = serving(servers.two()).await;
    let mut second = StdioClient::start(first.world.serve_command());
    second.initialize("2025-11-25").await.result();
    for tool in ["echo", "read"] {
        second.call(tool, "{}").await.result();
    }
    servers.started();
    // Somebody else's socket that is newer and speaks no HTTP.
    let folder = first.world.directory.path().join("runtime/starlark-mcp-proxy");
    let stranger = UnixListener::bind(folder.join("4194304.sock")).expect("a socket");
    let hang_up = std::thread::spawn(move || {
        for stream in stranger.incoming().flatten().take(2) {
            drop(stream);
        }
    });
    let asked = typed(first.world.command(["list-tools"]), "").await.expect(0);
    assert!(asked.stderr.contains(&format!("process {}", second.program.id())), "{}", asked.stderr);
    hang_up.join().expect("it was asked");
    second.finish().await;
    let asked = typed(first.world.command(["list-tools"]), "").await.expect(0);
    assert!(asked.stderr.contains(&format!("process {}", first.client.program.id())), "{}", asked.stderr);
    assert_eq!(servers.started(), [""; 0]);
}

#[tokio::test]
async fn a_server_cannot_use_the_proxy_that_started_it() {
    let proxy = Proxy::with_config_text("");
    let (path, fake) = (proxy.directory.path().display().to_string(), fake_backend([]));
    // The server has to know the folder from elsewhere.
    let line = format!(
        "(printenv XDG_RUNTIME_DIR || echo none) > '{path}/runtime.txt'; export XDG_RUNTIME_DIR='{path}/runtime'; \
         (until '{}' status > '{path}/out' 2> '{path}/err' || grep -q refused '{path}/err'; do sleep 0.05; done; \
         mv '{path}/err' '{path}/refused.txt') & exec \"$0\" --only echo",
        program().get_program().to_string_lossy()
    );
    let mut spy = std::process::Command::new("sh");
    spy.args(["-c", &line]).arg(fake.get_program());
    proxy.directory.write("proxy.yaml", &Config::new().server("spy", &spy).text());
    let proxy = serving(proxy).await;
    let refused = proxy.world.directory.appearing("refused.txt", &proxy.client.program.stderr).await;
    assert!(refused.contains("processes that a proxy has started may not use its control socket"), "{refused}");
    let told = proxy.world.directory.appearing("runtime.txt", &proxy.client.program.stderr).await;
    assert_eq!(told, "none\n");
    assert_eq!(proxy.world.run(["status", "--json"]).await.expect(0).json()["servers"][0]["name"], json!("spy"));
}
