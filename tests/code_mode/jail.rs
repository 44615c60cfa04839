//! A system that does not let the proxy confine scripts: it says so, and runs none if the config requires a jail.
#![cfg(target_os = "linux")]

use serde_json::json;

use super::{failure, returned, run, started, world};
use crate::support::programs;
use crate::support::proxy::Proxy;

const WARNING: &str = "code mode: the system refuses";
const SECCOMP: &str = "the system call filter (seccomp)";

/// The proxy on a system that refuses these layers.
fn refused(layers: &str, proxy: Proxy) -> Proxy {
    let refusing = programs::refusing([]).get_program().display().to_string();
    let program = programs::proxy().get_program().display().to_string();
    proxy.stand_in(&format!("exec '{refusing}' '{layers}' '{program}' \"$@\"\n"))
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn what_is_refused_is_told_at_the_start_and_scripts_run() {
    for (layers, told) in [
        ("seccomp", SECCOMP.to_owned()),
        ("landlock", "Landlock".to_owned()),
        ("seccomp,landlock", format!("{SECCOMP} and Landlock")),
    ] {
        // Before any client has asked for anything.
        let mut proxy = refused(layers, world("echo", "enabled: true")).stdio();
        proxy.client.stderr().line(&format!("{WARNING} {told}, so models' scripts are less confined")).await;
        proxy.client.initialize("2025-11-25").await.result();
        assert_eq!(returned(&run(&mut proxy, "return 1").await), json!(1));
        let status = proxy.status().await;
        assert_eq!(status["jail"]["missing"], told);
        assert_eq!(status["jail"]["seccomp"], !layers.contains("seccomp"));
        let shown = proxy.world.run(["status"]).await.expect(0).stdout;
        assert!(shown.contains(&format!("warning: {WARNING} {told}; let the container")), "{shown}");
        let checked = proxy.world.run(["check"]).await.expect(0).stderr;
        assert!(checked.contains(&format!("warning: {WARNING} {told}")), "{checked}");
    }
}

#[tokio::test]
async fn where_a_jail_is_required_no_script_runs_without_it() {
    for layers in ["seccomp", "landlock"] {
        let world = refused(layers, world("echo", "enabled: true, requireJail: true"));
        let checked = world.run(["check"]).await.expect(1).stderr;
        assert!(checked.contains("error: code mode cannot run: the system refuses"), "{checked}");
        let mut proxy = started(world).await;
        let text = failure(&run(&mut proxy, "return echo(n = 1)").await);
        let expected = "scripts are disabled: this system cannot confine them as `codeMode.requireJail` demands";
        assert_eq!(text.trim_end(), expected, "{layers}");
        proxy.client.stderr().line(WARNING).await;
    }
}

#[tokio::test]
async fn a_whole_jail_satisfies_the_requirement_and_nothing_is_said() {
    let mut proxy = started(world("echo", "enabled: true, requireJail: true")).await;
    assert_eq!(returned(&run(&mut proxy, "return echo(n = 1)").await), json!({"n": 1}));
    assert_eq!(proxy.status().await["jail"], json!({"seccomp": true, "landlock": true, "missing": ""}));
    assert!(!proxy.client.stderr().text().contains(WARNING));
    let checked = proxy.world.run(["check"]).await.expect(0);
    assert!(!checked.stderr.contains(WARNING), "{}", checked.stderr);
}
