//! The units of systemd: systemd accepts them, they restrict what they can, and the guide shows what they are.

use std::fs;
use std::process::Command;

use super::in_checkout;
use crate::support::finished::Finished;
use crate::support::real_servers::missing;
use crate::support::temp_dir::TempDir;

/// Of 10: at most this much of the system is exposed to the service.
const EXPOSURE: f32 = 2.5;

/// The service, with a program that is there.
fn service(file: &str, folder: &TempDir) -> String {
    let text = fs::read_to_string(in_checkout(file)).expect(file);
    let text = text.replace("/usr/local/bin/proxy", "/bin/true").replace("%h/.local/bin/proxy", "/bin/true");
    assert!(text.contains("ExecStart=/bin/true serve --http "), "{text}");
    folder.write("mcp-proxy.service", &text).to_str().expect("a path").to_owned()
}

fn systemd_analyze() -> Option<Command> {
    match Command::new("systemd-analyze").arg("--version").output() {
        Ok(_) => Some(Command::new("systemd-analyze")),
        Err(_) => missing("there is no `systemd-analyze`"),
    }
}

#[tokio::test]
async fn systemd_accepts_the_units() {
    for (file, scope) in
        [("packages/systemd/mcp-proxy.service", "--system"), ("packages/systemd/user/mcp-proxy.service", "--user")]
    {
        let Some(mut verify) = systemd_analyze() else { return };
        let folder = TempDir::new();
        verify.args([scope, "verify", "--man=no", &service(file, &folder)]);
        // A user's manager has its sockets there.
        verify.env("XDG_RUNTIME_DIR", folder.path());
        let done = Finished::run(verify).await.expect(0);
        assert!(!done.stderr.contains("mcp-proxy"), "{}", done.stderr);
    }
}

#[tokio::test]
async fn the_service_exposes_little_of_the_system() {
    let Some(mut security) = systemd_analyze() else { return };
    let folder = TempDir::new();
    let unit = service("packages/systemd/mcp-proxy.service", &folder);
    security.args(["security", "--offline=yes", "--no-pager", &unit]);

    let said = Finished::run(security).await.expect(0).stdout;

    let level = said.split("exposure level for mcp-proxy.service: ").nth(1).and_then(|rest| rest.split(' ').next());
    let level: f32 = level.and_then(|level| level.parse().ok()).expect("a number");
    assert!(level <= EXPOSURE, "{said}");
}

#[test]
fn the_guide_shows_the_command_for_the_service() {
    let guide = include_str!("../../docs/guides/operations.md");
    let script = fs::read_to_string(in_checkout("packages/systemd/mcp-proxy")).expect("it is there");
    let shown = guide.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a script");
    let without_comments: String =
        script.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
    assert_eq!(shown, without_comments);
}

#[test]
fn the_service_and_its_command_have_the_same_folders() {
    let unit = fs::read_to_string(in_checkout("packages/systemd/mcp-proxy.service")).expect("it is there");
    let script = fs::read_to_string(in_checkout("packages/systemd/mcp-proxy")).expect("it is there");
    let variables = unit.lines().filter_map(|line| line.strip_prefix("Environment="));
    let mut count = 0;
    for variable in variables {
        assert!(script.contains(&format!("--setenv={variable} ")), "{variable}");
        count += 1;
    }
    assert_eq!(count, script.matches("--setenv=").count() - 1, "only PROXY_CONFIG is an argument of the service");
    for property in ["DynamicUser=yes", "User=mcp-proxy", "StateDirectory=mcp-proxy", "CacheDirectory=mcp-proxy"] {
        assert!(unit.contains(&format!("\n{property}\n")) && script.contains(&format!("--property={property} ")));
    }
}
