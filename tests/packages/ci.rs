//! `.ci/packages` in a checkout where nothing is built: what it installs, and what it runs after a failure.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::build::executable;
use super::in_checkout;
use super::install_script::find;
use crate::support::finished::Finished;
use crate::support::temp_dir::TempDir;

/// What the script asks for.
const PROGRAMS: [&str; 18] = [
    "apparmor_parser",
    "busybox",
    "cargo",
    "curl",
    "dash",
    "deb-systemd-invoke",
    "dpkg-deb",
    "git",
    "lintian",
    "man",
    "node",
    "npm",
    "pgrep",
    "python3",
    "qemu-aarch64-static",
    "rustup",
    "systemd-analyze",
    "unshare",
];

struct Checkout {
    folder: TempDir,
}

impl Checkout {
    /// Root's checkout, with every program. Steps write down that they ran.
    fn new() -> Self {
        let checkout = Self { folder: TempDir::new() };
        let script = fs::read_to_string(in_checkout(".ci/packages")).expect("a script");
        executable(&checkout.folder, ".ci/packages", &script);
        for step in ["packages/build", "packages/try", ".ci/macos"] {
            checkout.step(step, "0");
        }
        for program in PROGRAMS {
            checkout.program(program, "");
        }
        checkout.program("id", "echo 0");
        checkout.program("ldd", "exit 1");
        checkout.program("apt-get", "echo \"apt-get $*\" >>ran");
        for program in ["date", "dirname"] {
            symlink(find(program).expect("it is here"), checkout.folder.path().join("bin").join(program))
                .expect("a link");
        }
        checkout
    }

    fn step(&self, name: &str, code: &str) {
        executable(&self.folder, name, &format!("#!/bin/sh\necho {name} >>ran\nexit {code}\n"));
    }

    fn program(&self, name: &str, text: &str) {
        executable(&self.folder, &format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
    }

    fn without(&self, program: &str) {
        fs::remove_file(self.folder.path().join("bin").join(program)).expect("it was there");
    }

    async fn run(&self) -> Finished {
        let mut command = Command::new(find("bash").expect("it is here"));
        command.arg(self.folder.path().join(".ci/packages")).env_clear();
        command.env("PATH", self.folder.path().join("bin"));
        Finished::run(command).await
    }

    /// The steps that ran, in their order.
    fn ran(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("ran")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn a_failed_trial_is_reported_after_everything_else_ran() {
    let checkout = Checkout::new();
    checkout.step("packages/try", "1");

    let failed = checkout.run().await.expect(1);

    assert_eq!(checkout.ran(), ["packages/build", "packages/try", ".ci/macos"]);
    assert_eq!(failed.stderr, "error: failed: packages/try\n");
}

#[tokio::test]
async fn without_new_packages_no_old_ones_are_tried() {
    let checkout = Checkout::new();
    checkout.step("packages/build", "1");

    let failed = checkout.run().await.expect(1);

    assert_eq!(checkout.ran(), ["packages/build", ".ci/macos"]);
    assert_eq!(failed.stderr, "error: failed: packages/build\n");
}

#[tokio::test]
async fn what_is_missing_is_installed() {
    let checkout = Checkout::new();
    checkout.without("man");
    checkout.without("busybox");

    checkout.run().await.expect(0);

    let install = "apt-get install -y -qq --no-install-recommends man-db busybox-static";
    assert_eq!(checkout.ran()[..2], ["apt-get update -qq", install]);
}

#[tokio::test]
async fn others_than_root_are_told_before_anything_is_built() {
    let checkout = Checkout::new();
    checkout.program("id", "echo 1000");

    let refused = checkout.run().await.expect(1);

    assert!(refused.stderr.starts_with("error: the trials of packages need root\nhint: "), "{}", refused.stderr);
    assert!(checkout.ran().is_empty());
}
