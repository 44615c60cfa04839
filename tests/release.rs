//! What a user installs: the release archive, and the container. There is no Docker where the tests run, so the commands of
//! the `Dockerfile` are run without it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::program::Program;
use crate::support::programs::{self, fake_backend};
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const DOCKERFILE: &str = include_str!("../Dockerfile");

/// A small program that behaves like the binary: packing the unoptimized binary would take half a minute.
fn stand_in(folder: &TempDir) -> std::path::PathBuf {
    let proxy = programs::proxy().get_program().to_owned();
    let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.4\0", proxy.display());
    let file = folder.write("proxy", &script);
    std::fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("it is ours");
    file
}

#[tokio::test]
async fn the_archive_has_the_binary_its_completions_and_all_licences() {
    let folder = TempDir::new();
    let mut release = Command::new("python3");
    release.arg("-B").arg(Path::new(ROOT).join(".ci/release"));
    release.arg("--binary").arg(stand_in(&folder)).arg("--out").arg(folder.path());

    let archive = Finished::run(release).await.expect(0).stdout;

    // The name says which C library the binary needs at least.
    let archive = Path::new(archive.trim());
    let name = archive.file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(name.ends_with("-linux-glibc2.34.tar.gz"), "{name}");
    let mut unpack = Command::new("tar");
    unpack.arg("xf").arg(archive).arg("-C").arg(folder.path());
    Finished::run(unpack).await.expect(0);
    let unpacked = folder.path().join(name.trim_end_matches(".tar.gz"));
    let read = |file: &str| std::fs::read_to_string(unpacked.join(file)).expect(file);
    assert!(read("LICENSE").contains("Apache License"));
    assert!(read("THIRD-PARTY-NOTICES.txt").contains("\ntokio 1."));
    assert!(read("README.md").contains("starlark-mcp-proxy"));
    for file in ["completions/proxy.bash", "completions/_proxy", "completions/proxy.fish"] {
        assert!(read(file).contains("proxy completions"), "{file}");
    }
    let version = Finished::run({
        let mut command = Command::new(unpacked.join("proxy"));
        command.arg("--version");
        command
    });
    assert!(version.await.expect(0).stdout.starts_with("proxy "));
    let mut digest = Command::new("sha256sum");
    digest.arg("--check").arg(format!("{name}.sha256")).current_dir(folder.path());
    Finished::run(digest).await.expect(0);
}

#[tokio::test]
async fn what_a_release_build_needs_is_said_before_it_begins() {
    let folder = TempDir::new();
    // A toolchain without llvm-tools.
    let version = "#!/bin/sh\necho 'host: some-triple'\n";
    std::fs::set_permissions(folder.write("rustc", version), Permissions::from_mode(0o755)).expect("it is ours");
    let path = std::env::var("PATH").expect("there are programs");
    let mut release = Command::new("python3");
    release.arg("-B").arg(Path::new(ROOT).join(".ci/release")).args(["--target", "some-triple"]);
    release.env("PATH", format!("{}:{path}", folder.path().display())).env_remove("LLVM_PROFDATA");

    let refused = Finished::run(release).await.expect(1).stderr;

    assert!(refused.starts_with("error: missing: llvm-tools"), "{refused}");
    assert!(
        refused.ends_with("hint: `.ci/profile --help` says how to install them; `.ci/release --plain` needs none\n"),
        "{refused}"
    );
}

/// The words of the instruction that is written as a JSON list.
fn words(instruction: &str) -> Vec<String> {
    let line = DOCKERFILE.lines().rfind(|line| line.starts_with(instruction)).expect(instruction);
    let list = &line[line.find('[').expect("a list")..];
    serde_json::from_str(list).expect("JSON")
}

#[tokio::test]
async fn a_container_serves_with_a_token_and_its_health_check_says_so() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("auth: { tokens: [{ token: 0123456789abcdef, sub: ann }] }");
    let world = Proxy::new(&config);
    assert_eq!(words("ENTRYPOINT"), ["proxy"]);
    // The container's own port is not to be had here.
    let is_port = |word: String| if word == "0.0.0.0:7331" { "0.0.0.0:0".to_owned() } else { word };
    let command: Vec<String> = words("CMD").into_iter().map(is_port).collect();
    let health = words("HEALTHCHECK");
    assert_eq!(health[0], "proxy");
    let health: Vec<&str> = health[1..].iter().map(String::as_str).collect();

    world.run(health.clone()).await.expect(1);
    let (serving, _) = Program::start_server(world.command(command.iter().map(String::as_str))).await;
    serving.stderr.line("ready: 1 tool").await;
    world.run(health.clone()).await.expect(0);
    drop(serving);
    world.run(health).await.expect(1);
}

/// The lines of a stage.
fn stage(name: &str) -> Vec<&'static str> {
    let end = format!(" AS {name}");
    let lines = DOCKERFILE.lines().skip_while(|line| !(line.starts_with("FROM ") && line.ends_with(&end)));
    let first_and_others = lines.enumerate().take_while(|(number, line)| *number == 0 || !line.starts_with("FROM "));
    first_and_others.map(|(_, line)| line).collect()
}

#[test]
fn both_containers_run_the_same_program_as_the_same_user() {
    // Given what both images say about the program
    let instructions = ["COPY --from=build", "USER", "WORKDIR", "EXPOSE", "ENTRYPOINT", "CMD", "LABEL"];
    let said = |name: &str| -> Vec<&str> {
        let lines = stage(name).into_iter();
        lines.filter(|line| instructions.iter().any(|instruction| line.starts_with(instruction))).collect()
    };
    let small = said("static");
    assert_eq!(small.len(), instructions.len(), "{small:?}");
    assert_eq!(small, said("full"));
    // The last one is built by default
    assert!(DOCKERFILE.rfind(" AS static\n") > DOCKERFILE.rfind(" AS full\n"));
    // And each copies from a stage that is there
    for line in DOCKERFILE.lines().filter_map(|line| line.strip_prefix("COPY --from=")) {
        let from = line.split(' ').next().expect("a stage");
        assert!(!stage(from).is_empty(), "{line}");
    }
    let build = stage("build").join("\n");
    assert!(build.contains("cargo build --release --locked --bin proxy --target ") && build.contains("&& .ci/notices"));
}

#[test]
fn the_image_is_built_with_the_oldest_compiler_and_its_target() {
    // Given the stage that compiles, line by line
    let build = stage("build");
    let place = |text: &str| build.iter().position(|line| line.contains(text));

    // Then its image has the version of Cargo.toml
    assert_eq!(build[0], concat!("FROM rust:", env!("CARGO_PKG_RUST_VERSION"), "-bookworm AS build"));
    // And no other toolchain is selected once rust-toolchain.toml is copied: only this one gets the target
    let pinned = place("ENV RUSTUP_TOOLCHAIN=$RUST_VERSION").expect("the toolchain is pinned");
    let target = place("rustup target add").expect("a target");
    assert!(pinned < target && Some(target) < place("COPY . ."), "{build:?}");
}

#[test]
fn both_containers_find_the_config_that_the_registry_of_servers_mounts() {
    let entry: serde_json::Value = serde_json::from_str(include_str!("../packages/server.json")).expect("JSON");
    let listed = entry["packages"].as_array().expect("packages");
    let image = listed.iter().find(|package| package["registryType"] == "oci").expect("an image");
    let mount = image["runtimeArguments"][0]["value"].as_str().expect("a mount");
    let target = mount.split(',').find_map(|part| part.strip_prefix("target=")).expect("a file in the container");
    for name in ["static", "full"] {
        let variables = stage(name).into_iter().filter_map(|line| line.strip_prefix("ENV "));
        let mut values =
            variables.flat_map(|line| line.split(' ')).filter_map(|pair| pair.strip_prefix("PROXY_CONFIG="));
        assert_eq!(values.next(), Some(target), "{name}");
    }
}

#[test]
fn the_registry_of_servers_knows_the_container_by_its_label() {
    let names: serde_json::Value = serde_json::from_str(include_str!("../packages/names.json")).expect("JSON");
    let label = format!("LABEL io.modelcontextprotocol.server.name={}\n", names["mcp_name"]);
    assert_eq!(DOCKERFILE.matches(&label).count(), 2, "{label}");
}
