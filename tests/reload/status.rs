//! `proxy status`: a running instance says how it is, to its user only.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{renamed, serving, world};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;

#[tokio::test]
async fn it_tells_of_servers_clients_and_calls() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo,crash", "--name", "fakery"]))
        .server("broken", &std::process::Command::new("/nowhere/at-all"));
    let mut proxy = serving(Proxy::new(&config)).await;
    proxy.client.call("echo", "{}").await.result();
    proxy.client.call("echo", "{}").await.result();
    proxy.client.call("crash", r#"{"code":3}"#).await;
    proxy.client.call_until_it_works("echo", "{}").await;
    let status = proxy.status().await;
    assert_eq!(status["pid"], proxy.client.program.id());
    assert_eq!((&status["config"], &status["lastReload"]), (&json!("proxy.yaml"), &json!(null)));
    assert_eq!(status["published"]["tools"], 2);
    let server = |name: &str| {
        let all = status["servers"].as_array().unwrap();
        all.iter().find(|server| server["name"] == name).unwrap().clone()
    };
    let fake = server("fake");
    assert_eq!(
        (&fake["status"], &fake["kind"], &fake["serverName"]),
        (&json!("ready"), &json!("stdio"), &json!("fakery"))
    );
    assert_eq!((&fake["restarts"], &fake["tools"]), (&json!(1), &json!(2)));
    assert!(fake["calls"].as_u64().unwrap() >= 4 && fake["failedCalls"].as_u64().unwrap() >= 1, "{fake}");
    let minute = &fake["lastMinute"];
    assert_eq!((&minute["calls"], &minute["failedCalls"]), (&fake["calls"], &fake["failedCalls"]), "{fake}");
    assert_eq!(server("broken")["lastMinute"], json!({"calls": 0, "failedCalls": 0}));
    assert!(server("broken")["error"].as_str().unwrap().contains("`at-all` was not found"), "{status}");
    assert_eq!(status["folder"], proxy.world.directory.path().display().to_string());
    assert_eq!((&status["transport"], &status["address"]), (&json!("stdio"), &json!(null)));
    let processes = fake["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 1, "{fake}");
    let process = processes[0]["pid"].as_u64().unwrap();
    let command = std::fs::read(format!("/proc/{process}/cmdline")).expect("it is running");
    assert!(String::from_utf8_lossy(&command).contains("fakery"), "{fake}");
    assert_eq!(server("broken")["processes"], json!([]));
    let client = &status["clients"][0];
    assert_eq!(client["protocolVersion"], "2025-11-25");
    let told = proxy.world.run(["status"]).await.expect(0).stdout;
    for part in [
        "config: proxy.yaml",
        "2 tools",
        "last reload: none",
        "SERVER",
        "CALLS/MIN",
        "FAILED/MIN",
        "fake",
        "CLIENT",
        "serves: stdio",
        "folder: /",
        "PROCESS",
        &process.to_string(),
        "\nbroken: ",
    ] {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
}

#[tokio::test]
async fn without_an_instance_it_says_so() {
    let proxy = world(&renamed("x"));
    for arguments in [&["status"][..], &["status", "--json"], &["status", "--pid", "1"]] {
        let finished = proxy.run(arguments.iter().copied()).await.expect(1);
        assert_eq!(finished.stdout, "");
        assert!(finished.stderr.starts_with("error: no `proxy serve` of this user "), "{}", finished.stderr);
    }
}

#[tokio::test]
async fn several_instances_each_have_their_own_socket_and_what_dead_ones_left_is_cleaned_up() {
    let mut first = serving(world(&renamed("first"))).await;
    let mut second = StdioClient::start(first.world.serve_command());
    second.initialize("2025-11-25").await.result();
    let folder = first.world.directory.path().join("runtime/starlark-mcp-proxy");
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let pids = [first.client.program.id(), second.program.id()];
    for pid in pids {
        let socket = folder.join(format!("{pid}.sock"));
        assert_eq!(std::fs::metadata(socket).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let listed = first.world.run(["status", "--json"]).await.expect(0).json();
    let mut known: Vec<u32> = pids.to_vec();
    known.sort_unstable();
    let listed: Vec<u64> = listed.as_array().unwrap().iter().map(|one| one["pid"].as_u64().unwrap()).collect();
    assert_eq!(listed, known.iter().map(|pid| u64::from(*pid)).collect::<Vec<_>>());
    let pid = pids[1].to_string();
    assert_eq!(first.world.run(["status", "--json", "--pid", &pid]).await.expect(0).json()["pid"], pids[1]);
    second.program.kill();
    second.program.exit().await;
    assert_eq!(first.status().await["pid"], pids[0]);
    assert!(!folder.join(format!("{pid}.sock")).exists());
    first.client.finish().await;
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[tokio::test]
async fn only_serve_can_be_asked() {
    let proxy = world(&renamed("x"));
    proxy.run(["list-tools"]).await.expect(0);
    proxy.run(["call", "x"]).await.expect(0);
    assert!(!proxy.directory.path().join("runtime/starlark-mcp-proxy").exists());
}

#[tokio::test]
async fn a_script_that_fails_for_one_person_only_is_shown_with_their_name() {
    let script = "if current_user().sub == 'bob':\n    fail('not for bob')\n".to_owned() + &renamed("tool");
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section("auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}");
    let proxy = Proxy::new(&config).file("policy.star", &script).http().await;
    let list = async |token: &str| {
        let mut client = proxy.client().with_header("Authorization", &format!("Bearer {token}"));
        client.modern("tools/list", "{}").await
    };
    assert_eq!(list("secret-token-of-a").await.tool_names(), ["tool"]);
    for _ in 0..2 {
        assert!(list("secret-token-of-b").await.error_message().contains("see the proxy's log"));
    }
    let status = proxy.world.run(["status", "--json"]).await.expect(0).json();
    assert_eq!((&status["transport"], &status["address"]), (&json!("http"), &json!(proxy.url)));
    assert_eq!(status["scriptErrors"], json!([]));
    let errors = status["userErrors"].as_array().unwrap();
    assert_eq!((errors.len(), &errors[0]["user"]), (1, &json!("bob")), "{errors:?}");
    let error = errors[0]["error"].as_str().unwrap();
    assert!(error.contains("not for bob") && error.contains("policy.star:2"), "{error}");
    let told = proxy.world.run(["status"]).await.expect(0).stdout;
    assert!(told.contains("the session script fails for user `bob`:\nerror: "), "{told}");
    assert!(told.contains(&format!("serves: {}\n", proxy.url)), "{told}");

    proxy.world.directory.write("policy.star", &renamed("mended"));
    proxy.program.stderr.line("reloaded policy.star").await;
    assert_eq!(list("secret-token-of-b").await.tool_names(), ["mended"]);
    assert_eq!(proxy.world.run(["status", "--json"]).await.expect(0).json()["userErrors"], json!([]));
}

#[tokio::test]
async fn nobody_in_a_folder_of_others_is_believed() {
    let proxy = world("");
    let folder = proxy.directory.directory("runtime/starlark-mcp-proxy");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).expect("it is ours");
    let _listener = std::os::unix::net::UnixListener::bind(folder.join("1.sock")).expect("a socket");
    let refused = proxy.run(["status"]).await.expect(1);
    assert!(refused.stderr.contains("other users can access the folder"), "{}", refused.stderr);
    assert!(folder.join("1.sock").exists(), "nothing of others is removed");
}
