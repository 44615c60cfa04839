//! The box itself: a command of the proxy that runs as those of `proxy author` do, and tries what no script can ask for.
#![cfg(target_os = "linux")]

use std::net::TcpListener;
use std::process::Command;

use serde_json::json;

use super::{Author, world};
use crate::support::finished::Finished;
use crate::support::programs;
use crate::support::proxy::Proxy;

/// A command in the box, over this folder.
fn confined(world: &Proxy, command: &[&str]) -> Command {
    let own = std::process::id().to_string();
    let mut arguments = vec!["__reader", own.as_str(), "100", "1073741824", "1"];
    arguments.extend(command);
    world.command(arguments)
}

#[tokio::test]
async fn a_confined_command_reads_its_folder_and_nothing_else() {
    let world = world().await.file("policy.star", "passthrough()\n");
    Finished::run(confined(&world, &["check", "policy.star"])).await.expect(0);
    let outside = Finished::run(confined(&world, &["check", "--config", "/etc/passwd"])).await.expect(2);
    assert!(outside.stderr.contains("Permission denied"), "{}", outside.stderr);
    let open = world.run(["check", "--config", "/etc/passwd"]).await;
    assert!(!open.stderr.contains("Permission denied"), "without the box it is read: {}", open.stderr);
}

#[tokio::test]
async fn a_confined_command_writes_no_file() {
    let test = "def test_it():\n    pass\n";
    let world = world().await.file("a_test.star", test);
    let written = Finished::run(confined(&world, &["test", "a_test.star", "--junit", "report.xml"])).await.expect(2);
    assert!(written.stderr.contains("cannot write the report"), "{}", written.stderr);
    assert!(!world.directory.path().join("report.xml").exists());
    Finished::run(confined(&world, &["test", "a_test.star"])).await.expect(0);
    let scaffolded = Finished::run(confined(&world, &["new", "policy", "x"])).await;
    assert_ne!(scaffolded.code, 0);
    assert!(!world.directory.path().join("scripts").exists());
}

#[tokio::test]
async fn a_confined_command_starts_no_program_and_connects_to_nothing() {
    let world = world().await;
    let marker = world.directory.path().join("started");
    let server = format!("x=touch {}", marker.display());
    let started = Finished::run(confined(&world, &["list-tools", "--server", &server])).await;
    assert_ne!(started.code, 0, "{}", started.stdout);
    assert!(!marker.exists());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("x=http://{}/mcp", listener.local_addr().unwrap());
    let connected = Finished::run(confined(&world, &["list-tools", "--server", &server])).await;
    assert_ne!(connected.code, 0, "{}", connected.stdout);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody has connected");
}

#[tokio::test]
async fn where_the_system_confines_nothing_tests_of_a_model_do_not_run() {
    for layers in ["landlock", "seccomp"] {
        let world = world().await;
        let refusing = programs::refusing([]).get_program().display().to_string();
        let program = programs::proxy().get_program().display().to_string();
        let world = world.stand_in(&format!("exec '{refusing}' '{layers}' '{program}' \"$@\"\n"));
        let mut author = Author::start(world).await;
        let files = json!({"a_test.star": "def test_it():\n    pass\n"});
        let refused = author.failure("test", json!({"files": files})).await;
        assert!(refused.contains("the system cannot confine"), "{refused}");
        std::fs::write(author.world.directory.path().join("calls.jsonl"), "").unwrap();
        let refused = author.failure("backtest", json!({"recording": "calls.jsonl"})).await;
        assert!(refused.contains("the system cannot confine"), "{refused}");
        author.data("catalog", json!({})).await;
        author.data("check", json!({"files": files})).await;
    }
}
