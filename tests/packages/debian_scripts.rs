//! The scripts of the Debian package: what systemd refuses is said, and leaves no package half-configured.

use std::fs;
use std::process::Command;

use super::build::executable;
use super::in_checkout;
use crate::support::finished::Finished;
use crate::support::temp_dir::TempDir;

/// A machine with systemd. Its programs write down how they were called.
struct Machine {
    folder: TempDir,
}

impl Machine {
    /// All programs of systemd fail, and there are no others.
    fn where_nothing_works() -> Self {
        let folder = TempDir::new();
        for program in ["systemctl", "deb-systemd-invoke"] {
            executable(&folder, &format!("bin/{program}"), "#!/bin/sh\necho \"${0##*/} $*\" >>called\nexit 1\n");
        }
        Self { folder }
    }

    async fn run(&self, script: &str, arguments: &[&str]) -> Finished {
        let text = fs::read_to_string(in_checkout("packages/deb").join(script)).expect(script);
        assert!(text.contains("[ -d /run/systemd/system ]"), "{text}");
        let here = self.folder.path().display().to_string();
        let text = text.replace("/run/systemd/system", &here).replace("/etc/apparmor.d", &here);
        let file = self.folder.write(script, &text);
        let mut command = Command::new("/bin/sh");
        command.arg(file).args(arguments).current_dir(self.folder.path());
        command.env_clear().env("PATH", self.folder.path().join("bin"));
        Finished::run(command).await
    }

    fn called(&self) -> String {
        fs::read_to_string(self.folder.path().join("called")).expect("systemd was called")
    }
}

#[tokio::test]
async fn an_update_is_complete_although_the_service_does_not_restart() {
    let machine = Machine::where_nothing_works();

    let done = machine.run("postinst", &["configure", "0.0.1"]).await.expect(0);

    assert_eq!(machine.called(), "systemctl daemon-reload\ndeb-systemd-invoke try-restart mcp-proxy.service\n");
    let said: Vec<&str> = done.stderr.lines().collect();
    assert_eq!(
        said,
        [
            "warning: systemd has not read the new unit: run systemctl daemon-reload",
            "warning: mcp-proxy did not restart: see systemctl status mcp-proxy and sudo mcp-proxy check",
        ]
    );
}

#[tokio::test]
async fn the_first_installation_starts_nothing() {
    let machine = Machine::where_nothing_works();

    machine.run("postinst", &["configure", ""]).await.expect(0);

    assert_eq!(machine.called(), "systemctl daemon-reload\n");
}

#[tokio::test]
async fn a_package_can_be_removed_although_systemd_refuses() {
    let machine = Machine::where_nothing_works();

    let before = machine.run("prerm", &["remove"]).await.expect(0);
    let after = machine.run("postrm", &["remove"]).await.expect(0);

    assert_eq!(machine.called(), "systemctl disable --now mcp-proxy.service\nsystemctl daemon-reload\n");
    assert_eq!(before.stderr, "warning: mcp-proxy could not be stopped: see systemctl status mcp-proxy\n");
    assert_eq!(after.stderr, "warning: systemd still knows mcp-proxy: run systemctl daemon-reload\n");
}
