//! `packages/build` with a stand-in for the binaries: everything is packed, but nothing is built.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tokio::sync::OnceCell;

use super::in_checkout;
use crate::support::finished::Finished;
use crate::support::programs;
use crate::support::temp_dir::TempDir;

/// The version that everything has to have.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folder that the script makes of the stand-in, once for all tests.
pub(super) async fn built() -> &'static Path {
    static BUILT: OnceCell<PathBuf> = OnceCell::const_new();
    BUILT.get_or_init(|| async { build("packages").await.1 }).await
}

/// Runs the script. Returns what it said and the folder.
async fn build(folder: &str) -> (Finished, PathBuf) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let stand_in = TempDir::new();
    let file = executable(&stand_in, "proxy", &format!("#!/bin/sh\nexec '{}' \"$@\"\n", proxy().display()));
    let mut command = Command::new("python3");
    command.arg("-B").arg(in_checkout("packages/build")).arg("--out").arg(&out);
    for machine in ["x86_64", "aarch64"] {
        command.arg("--binary").arg(format!("{machine}={}", file.display()));
    }
    let done = Finished::run(command).await.expect(0);
    (done, out)
}

fn proxy() -> PathBuf {
    programs::proxy().get_program().into()
}

/// A program in the folder.
pub(super) fn executable(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let file = folder.write(name, text);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it is ours");
    file
}

/// Unpacks one of the packages into the folder.
pub(super) async fn unpack(package: &Path, folder: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    let name = package.to_str().expect("a path");
    let command = if name.ends_with("gz") {
        command(&["tar", "xzf", name, "-C"], folder)
    } else if name.ends_with(".deb") {
        command(&["dpkg-deb", "--raw-extract", name], folder)
    } else {
        command(&["python3", "-m", "zipfile", "-e", name], folder)
    };
    Finished::run(command).await.expect(0);
}

fn command(words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(folder);
    command
}

#[tokio::test]
async fn the_same_commit_makes_the_same_bytes() {
    let (said, first) = build("packages-first").await;
    let (_, second) = build("packages-second").await;

    let sums = |folder: &Path| fs::read_to_string(folder.join("SHA256SUMS")).expect("it is written");
    assert_eq!(sums(&first), sums(&second));
    // The list names every file beside itself, and its sums are right.
    let files = fs::read_dir(&first).expect("a folder").count();
    assert_eq!(sums(&first).lines().count(), files - 1);
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(&first);
    Finished::run(check).await.expect(0);
    // And nobody publishes packages of nobody.
    assert!(said.stderr.contains("packages/names.json has placeholders"), "{}", said.stderr);
    for folder in [first, second] {
        fs::remove_dir_all(folder).expect("it is ours");
    }
}

#[tokio::test]
async fn a_binary_of_another_version_is_refused() {
    let folder = TempDir::new();
    let old = executable(&folder, "old", "#!/bin/sh\necho proxy 0.0.1\n");
    let mut command = Command::new("python3");
    command.arg("-B").arg(in_checkout("packages/build")).args(["--machine", "x86_64", "--binary"]);
    command.arg(format!("x86_64={}", old.display())).arg("--out").arg(folder.path().join("dist"));

    let refused = Finished::run(command).await.expect(1);

    assert!(refused.stderr.ends_with(&format!("error: no binary is a proxy {VERSION} that runs here\n")));
    assert!(!folder.path().join("dist").exists());
}
