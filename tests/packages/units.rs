//! The units of systemd: systemd accepts them, and they restrict what they can.

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
fn the_guide_shows_the_profile_of_the_package() {
    let profile = fs::read_to_string(in_checkout("packages/deb/apparmor")).expect("a profile");
    let guide = include_str!("../../docs/getting-started/installation.md");
    let shown =
        guide.split("```text\n").find(|block| block.starts_with("abi ")).and_then(|block| block.split("```").next());
    // Without what is only for the package's: comments, its path, and the file for changes.
    let rules = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.contains("include if exists") && !line.is_empty());
        lines.map(|line| line.replace("/home/ann/.local/bin/", "/usr/bin/")).collect()
    };
    assert_eq!(rules(shown.expect("a profile")), rules(&profile));
}
