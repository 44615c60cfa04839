//! Commands without a value: the start ends with exit code 2 and tells the key, the program and its last line, never its output.

use std::time::{Duration, Instant};

use super::{with_program, with_value};
use crate::support::proxy::Proxy;
use crate::support::terminal::typed;

/// What `serve` tells, without a value.
async fn told(proxy: &Proxy) -> String {
    let told = proxy.run(["serve"]).await.expect(2).stderr;
    assert!(told.contains("error: `mcpServers.fake.env.KEY`: "), "{told}");
    assert!(!told.contains("s3cret"), "{told}");
    told
}

#[tokio::test]
async fn a_command_that_fails_is_told_with_its_exit_status_and_last_line() {
    let script = "echo s3cret-output; echo first >&2; echo 'not signed in; not s3cret-output' >&2; exit 3";
    let failed = told(&with_program(script)).await;
    assert!(failed.contains("/get` ended with exit status 3: not signed in; not •••\n"), "{failed}");
    assert!(failed.contains("proxy.yaml:1:") && failed.contains("its standard output has to be the value"), "{failed}");
    let killed = told(&with_program("kill -9 $$")).await;
    assert!(killed.contains("/get` was ended by signal 9\n"), "{killed}");
    let key = told(&with_program("echo 'refused: token=s3cret-99' >&2; exit 1")).await;
    assert!(key.contains("exit status 1: refused: token=[secret]\n"), "{key}");
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_told() {
    let missing = told(&Proxy::new(&with_value("${exec:no-such-program read}"))).await;
    assert!(missing.contains("the command `no-such-program` was not found in `PATH`"), "{missing}");
    let not_executable = Proxy::new(&with_value("${exec:./get}")).file("get", "#!/bin/sh\n");
    let refused = told(&not_executable).await;
    assert!(refused.contains("/get` cannot be started: Permission denied"), "{refused}");
    for (value, expected) in [("${exec:}", "names no program"), ("${exec:op 'x}", "a quote that is not closed")] {
        let wrong = Proxy::new(&with_value(value)).run(["check"]).await.expect(2).stderr;
        assert!(wrong.contains(expected), "{wrong}");
    }
}

#[tokio::test]
async fn a_command_that_prints_no_value_is_told() {
    for (script, expected) in [
        ("true", "printed nothing"),
        ("echo", "printed nothing"),
        ("printf 's3cret\\377'", "printed something that is not UTF-8"),
        ("head -c 65537 /dev/zero | tr '\\0' x", "printed more than 64 KiB"),
    ] {
        let told = told(&with_program(script)).await;
        assert!(told.contains(&format!("/get` {expected}\n")), "{told}");
    }
}

#[tokio::test]
async fn a_command_that_prints_a_gigabyte_is_stopped_at_once() {
    let before = Instant::now();
    let told = told(&with_program("yes s3cret | head -c 1000000000; sleep 100")).await;
    assert!(told.contains("printed more than 64 KiB"), "{told}");
    assert!(before.elapsed() < Duration::from_secs(60), "{:?}", before.elapsed());
}

#[tokio::test]
async fn a_command_that_hangs_is_ended_with_what_it_started() {
    let proxy = with_program("sleep 1000 & echo $! > child\necho waiting >&2\nwait");
    let told = told(&proxy).await;
    assert!(told.contains("did not end within 10 s; it gets no input and no terminal: waiting\n"), "{told}");
    let child: u32 = std::fs::read_to_string(proxy.directory.path().join("child")).unwrap().trim().parse().unwrap();
    assert!(!crate::support::program::is_alive(child));
}

#[tokio::test]
async fn a_command_that_asks_on_the_terminal_finds_none() {
    let proxy = with_program("printf 'password: ' > /dev/tty && read answer < /dev/tty && echo $answer");
    let told = typed(proxy.command(["serve"]), "s3cret\n").await.expect(2).stderr;
    assert!(told.contains("/get` ended with exit status"), "{told}");
    assert!(!told.contains("password:"), "{told}");
}

#[tokio::test]
async fn a_daemon_that_a_command_leaves_behind_does_not_hold_up_the_start() {
    let proxy = with_program("setsid sh -c 'echo $$ > daemon; exec sleep 1000' & echo value-of-get");
    let before = Instant::now();
    let env = proxy.run(["call", "env"]).await.expect(0).stdout;
    assert!(env.contains("value-of-get"), "{env}");
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
    if let Ok(id) = std::fs::read_to_string(proxy.directory.path().join("daemon")) {
        let id = rustix::process::Pid::from_raw(id.trim().parse().unwrap()).unwrap();
        let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
    }
}

#[tokio::test]
async fn no_command_runs_for_a_config_with_other_errors() {
    let config = with_value("${exec:./get}").section("serve: { pth: /x }");
    let proxy = Proxy::new(&config).executable("get", "#!/bin/sh\ntouch ran\necho x\n");
    proxy.run(["serve"]).await.expect(2);
    assert!(!proxy.directory.path().join("ran").exists());
}
