//! Finds the helper programs, which are examples, and builds them where cargo did not: `cargo test NAME` and
//! `cargo test --test proxy` leave examples out, and would otherwise run old ones.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

const NAMES: [&str; 3] = ["fake-backend", "rmcp-server", "refusing"];
const SOURCES: [&str; 4] =
    ["tests/support/fake_backend", "tests/support/rmcp_server", "tests/support/refusing", "Cargo.lock"];

pub fn path(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(fresh_folder).join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// The tests run from `target/PROFILE/deps`; examples are in `target/PROFILE/examples`.
fn fresh_folder() -> PathBuf {
    let this = std::env::current_exe().expect("the test knows its own path");
    let profile = this.ancestors().nth(2).expect("the test is in deps");
    let folder = profile.join("examples");
    if !is_fresh(&folder) {
        build(profile);
    }
    folder
}

fn is_fresh(folder: &Path) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let newest_source = SOURCES.iter().filter_map(|source| newest(&root.join(source))).max();
    NAMES.iter().all(|name| {
        let built = modified(&folder.join(name).with_extension(std::env::consts::EXE_EXTENSION));
        built.is_some() && built >= newest_source
    })
}

fn build(profile: &Path) {
    let target = profile.parent().expect("a profile is in the target directory");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        // Of the test program alone: a compiler with it would build everything again.
        .env_remove("RUSTC_BOOTSTRAP")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--examples", "--target-dir"])
        .arg(target);
    command.args(["--profile", if profile.ends_with("release") { "release" } else { "test" }]);
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "cannot build the examples:\n{}", String::from_utf8_lossy(&output.stderr));
    // Cargo leaves a program alone whose inputs only look newer; the check must not ask again each time.
    for name in NAMES {
        let path = profile.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
        let touched = std::fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
        touched.expect("a built program can be touched");
    }
}

fn newest(path: &Path) -> Option<SystemTime> {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().filter_map(|entry| newest(&entry.path())).max(),
        Err(_) => modified(path),
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|data| data.modified()).ok()
}
