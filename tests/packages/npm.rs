//! The npm package: it starts the binary of its platform, and says what to do where there is none.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::build::{VERSION, built, unpack};
use crate::support::finished::Finished;
use crate::support::program::Program;
use crate::support::real_servers::missing;
use crate::support::temp_dir::TempDir;

/// A folder in which npm has installed the package.
struct Installed {
    folder: TempDir,
}

impl Installed {
    async fn new() -> Option<Self> {
        if Command::new("node").arg("--version").output().is_err() {
            return missing("there is no `node`");
        }
        let installed = Self { folder: TempDir::new() };
        for name in ["starlark-mcp-proxy".to_owned(), installed.platform_package()] {
            let unpacked = installed.folder.path().join("unpacked");
            unpack(&built().await.join(format!("{name}-{VERSION}.tgz")), &unpacked).await;
            fs::create_dir_all(installed.folder.path().join("node_modules")).expect("a folder");
            fs::rename(unpacked.join("package"), installed.package(&name)).expect("it is unpacked");
        }
        Some(installed)
    }

    fn platform_package(&self) -> String {
        let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        format!("starlark-mcp-proxy-linux-{processor}")
    }

    fn package(&self, name: &str) -> PathBuf {
        self.folder.path().join("node_modules").join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("node");
        command.arg(self.package("starlark-mcp-proxy").join("start.js")).args(arguments);
        command.current_dir(self.folder.path()).env("HOME", self.folder.path());
        command
    }
}

#[tokio::test]
async fn the_binary_gets_the_arguments_and_its_exit_code_returns() {
    let Some(installed) = Installed::new().await else { return };

    let version = Finished::run(installed.command(&["--version"])).await.expect(0);
    let refused = Finished::run(installed.command(&["check", "--config", "no such file.yaml"])).await.expect(2);

    assert_eq!(version.stdout, format!("proxy {VERSION}\n"));
    assert!(refused.stderr.contains("no such file.yaml"), "{}", refused.stderr);
}

#[tokio::test]
async fn a_signal_reaches_the_binary() {
    let Some(installed) = Installed::new().await else { return };
    installed.folder.write("proxy.yaml", "mcpServers: {}\n");
    let mut command = installed.command(&["serve", "--http", "127.0.0.1:0", "--config", "proxy.yaml"]);
    command.env("XDG_RUNTIME_DIR", installed.folder.path()).env("XDG_CACHE_HOME", installed.folder.path());
    let (mut serving, _) = Program::start_server(command).await;

    serving.terminate();

    assert_eq!(serving.exit().await.code(), Some(0), "it drained and ended by itself");
}

#[tokio::test]
async fn without_optional_packages_the_error_says_how_to_get_the_binary() {
    let Some(installed) = Installed::new().await else { return };
    fs::remove_dir_all(installed.package(&installed.platform_package())).expect("it was installed");

    let refused = Finished::run(installed.command(&["--version"])).await.expect(1);

    let platform = installed.platform_package();
    assert_eq!(
        refused.stderr,
        format!(
            "error: the package {platform} is missing: npm was told to leave out optional packages\n\
             hint: install it with `npm install --include=optional starlark-mcp-proxy`; for npx, set npm_config_omit= in \
             its environment\n"
        )
    );
}

#[tokio::test]
async fn on_a_platform_without_a_binary_the_error_says_what_to_do_instead() {
    let Some(installed) = Installed::new().await else { return };
    let other = installed.folder.write("other.js", "Object.defineProperty(process, 'platform', { value: 'win32' });\n");
    let mut command = installed.command(&["--version"]);
    command.env("NODE_OPTIONS", format!("--require {}", other.display()));

    let refused = Finished::run(command).await.expect(1);

    assert!(refused.stderr.starts_with("error: starlark-mcp-proxy has no binary for win32 on "), "{}", refused.stderr);
    assert!(refused.stderr.contains("\nhint: on Windows use WSL; "), "{}", refused.stderr);
}

#[tokio::test]
async fn a_binary_that_an_older_version_left_behind_is_not_started() {
    let Some(installed) = Installed::new().await else { return };
    let manifest = installed.package(&installed.platform_package()).join("package.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace(VERSION, "0.0.1")).expect("it is ours");

    let refused = Finished::run(installed.command(&["--version"])).await.expect(1);

    assert!(refused.stderr.contains(&format!("has version 0.0.1, but starlark-mcp-proxy has version {VERSION}")));
}
