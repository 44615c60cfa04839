//! `install.sh` in dash and bash, with archives from a server on this machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::build::{VERSION, built, executable};
use crate::support::finished::Finished;
use crate::support::real_servers::missing;
use crate::support::temp_dir::TempDir;

mod downloads;

use downloads::Downloads;

/// The programs that the script uses, without those that download.
const TOOLS: [&str; 18] = [
    "sh",
    "cat",
    "chmod",
    "cp",
    "cut",
    "dirname",
    "gzip",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "sed",
    "sha256sum",
    "tar",
    "uname",
    "env",
    "dash",
    "bash",
];

/// The shells that are here.
fn shells() -> Vec<&'static str> {
    let found = |shell: &&str| Command::new(shell).args(["-c", "exit"]).output().is_ok();
    let shells: Vec<&str> = ["dash", "bash"].into_iter().filter(found).collect();
    if shells.len() < 2 {
        let _: Option<()> = missing("there is no `dash` or no `bash`");
    }
    shells
}

/// A machine on which nothing is installed.
struct Machine {
    home: TempDir,
    programs: TempDir,
}

impl Machine {
    fn new(downloader: &[&str]) -> Self {
        let machine = Self { home: TempDir::new(), programs: TempDir::new() };
        for tool in TOOLS.iter().chain(downloader) {
            if let Some(place) = find(tool) {
                symlink(place, machine.programs.path().join(tool)).expect("a link");
            }
        }
        machine
    }

    /// The script from a pipe, as the first lines of the script show it.
    fn command(&self, shell: &str, script: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(find(shell).expect("the shell is here"));
        command.arg("-c").arg("shell=$1 script=$2; shift 2; cat \"$script\" | \"$shell\" -s -- \"$@\"");
        command.arg("sh").arg(shell).arg(script).args(arguments);
        command.env_clear().env("PATH", self.programs.path()).env("HOME", self.home.path());
        command.current_dir(self.home.path());
        command
    }

    fn has_nothing(&self) {
        let files: Vec<_> = fs::read_dir(self.home.path()).expect("a folder").flatten().collect();
        assert!(files.is_empty(), "{files:?}");
    }
}

pub(super) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

async fn script() -> PathBuf {
    built().await.join("install.sh")
}

#[tokio::test]
async fn the_script_installs_below_the_home_folder_with_curl_and_with_wget() {
    let downloads = Downloads::of_release().await;
    for (shell, downloader) in shells().into_iter().zip(["curl", "wget"]) {
        if find(downloader).is_none() {
            let _: Option<()> = missing(&format!("there is no `{downloader}`"));
            continue;
        }
        let machine = Machine::new(&[downloader]);

        let done = Finished::run(machine.command(shell, &script().await, &["--from", &downloads.url])).await.expect(0);

        let local = machine.home.path().join(".local");
        let bin = local.join("bin");
        let hint = format!("add it to your PATH: export PATH=\"{0}:$PATH\"\n", bin.display());
        assert_eq!(done.stdout, format!("proxy {VERSION} is in {}\n{hint}", bin.display()));
        let mut version = Command::new(bin.join("proxy"));
        version.arg("--version");
        assert_eq!(Finished::run(version).await.expect(0).stdout, format!("proxy {VERSION}\n"));
        for file in ["man/man1/proxy-serve.1", "bash-completion/completions/proxy", "zsh/site-functions/_proxy"] {
            assert!(local.join("share").join(file).is_file(), "{file}");
        }
        // No piece of the download is left.
        let left = fs::read_dir(&bin).expect("a folder").count();
        assert_eq!(left, 1);
    }
}

#[tokio::test]
async fn an_older_version_is_replaced_while_it_runs() {
    let downloads = Downloads::of_release().await;
    let machine = Machine::new(&["curl"]);
    let old = machine.home.write("tools/bin/proxy", "#!/bin/sh\necho old; exec sleep 60\n");
    fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let mut running = Command::new(&old).stdout(Stdio::null()).spawn().expect("it starts");

    for shell in shells() {
        let arguments = ["--prefix", "tools", "--from", &downloads.url];
        let done = Finished::run(machine.command(shell, &script().await, &arguments)).await.expect(0);
        assert!(done.stdout.starts_with(&format!("proxy {VERSION} is in ")), "{}", done.stdout);
    }

    assert!(running.try_wait().expect("it is ours").is_none(), "the old one still runs");
    running.kill().expect("it runs");
    running.wait().expect("it is ours");
}

#[tokio::test]
async fn a_damaged_archive_is_refused_and_nothing_is_installed() {
    for shell in shells() {
        for damage in [Downloads::with_a_changed_byte().await, Downloads::with_half_of_the_archive().await] {
            let machine = Machine::new(&["curl"]);
            let command = machine.command(shell, &script().await, &["--from", &damage.url]);

            let refused = Finished::run(command).await.expect(1);

            assert!(refused.stderr.starts_with("error: the archive is damaged: its SHA-256 is "), "{}", refused.stderr);
            assert!(refused.stderr.ends_with("hint: download it again; nothing was installed\n"), "{}", refused.stderr);
            machine.has_nothing();
        }
    }
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let downloads = Downloads::of_release().await;
    for shell in shells() {
        let machine = Machine::new(&[]);
        let from = ["--from", &downloads.url];
        let refused = Finished::run(machine.command(shell, &script().await, &from)).await.expect(1);
        assert!(refused.stderr.starts_with("error: there is neither curl nor wget\nhint: "), "{}", refused.stderr);

        let machine = Machine::new(&["curl"]);
        let elsewhere = ["--from", &format!("{}/elsewhere", downloads.url)];
        let refused = Finished::run(machine.command(shell, &script().await, &elsewhere)).await.expect(1);
        assert!(refused.stderr.contains("error: cannot download http://127.0.0.1:"), "{}", refused.stderr);

        let unknown = ["--version", "99.0.0", "--from", &downloads.url];
        let refused = Finished::run(machine.command(shell, &script().await, &unknown)).await.expect(1);
        assert!(refused.stderr.contains("SHA256SUMS does not list starlark-mcp-proxy-99.0.0-"), "{}", refused.stderr);

        let refused = Finished::run(machine.command(shell, &script().await, &["--prefix"])).await.expect(1);
        assert_eq!(refused.stderr, "error: --prefix needs a value\n");
        machine.has_nothing();

        // A folder that nobody can write, not even root
        let blocked = ["--from", &downloads.url, "--prefix", "/dev/null/tools"];
        let refused = Finished::run(machine.command(shell, &script().await, &blocked)).await.expect(1);
        assert_eq!(
            refused.stderr,
            "error: cannot write /dev/null/tools/bin/proxy\nhint: choose a folder that you may write with --prefix\n"
        );
        machine.has_nothing();
    }
}

#[tokio::test]
async fn on_another_system_the_script_says_what_to_do_instead() {
    for shell in shells() {
        let machine = Machine::new(&["curl"]);
        fs::remove_file(machine.programs.path().join("uname")).expect("a link");
        executable(&machine.programs, "uname", "#!/bin/sh\necho Darwin\n");
        let refused = Finished::run(machine.command(shell, &script().await, &[])).await.expect(1);
        assert!(refused.stderr.starts_with("error: there is no binary for Darwin\nhint: build it from source"));
        machine.has_nothing();
    }
}

#[tokio::test]
async fn where_no_program_may_run_in_the_temporary_folder_the_hint_names_it() {
    let downloads = Downloads::of_release().await;
    for shell in shells() {
        // Given a temporary folder in which nothing can be executed
        let machine = Machine::new(&["curl"]);
        let tar = find("tar").expect("it is here");
        fs::remove_file(machine.programs.path().join("tar")).expect("a link");
        let without_programs = format!("#!/bin/sh\n'{}' \"$@\" && chmod -x \"$4\"/*/proxy\n", tar.display());
        executable(&machine.programs, "tar", &without_programs);
        let folder = TempDir::new();
        let mut command = machine.command(shell, &script().await, &["--from", &downloads.url]);
        command.env("TMPDIR", folder.path());

        let refused = Finished::run(command).await.expect(1);

        let there = folder.path().display();
        let error = format!("error: the program does not run in {there}/starlark-mcp-proxy.");
        assert!(refused.stderr.contains(&error), "{}", refused.stderr);
        let hint =
            format!("hint: nothing was installed; if {there} is mounted with noexec, set TMPDIR to another folder\n");
        assert!(refused.stderr.ends_with(&hint), "{}", refused.stderr);
        machine.has_nothing();
    }
}

#[tokio::test]
async fn a_script_that_was_cut_off_does_nothing() {
    let downloads = Downloads::of_release().await;
    let whole = fs::read_to_string(script().await).expect("a script");
    let last_brace = whole.rfind('}').expect("it ends with one");
    let folder = TempDir::new();
    for shell in shells() {
        let machine = Machine::new(&["curl"]);
        // All places near the end, where the work begins, and some of the others. Before the first brace are comments.
        let first_brace = whole.find("\n{\n").expect("it begins with one") + 2;
        let places = (first_brace..last_brace).step_by(97).chain(last_brace - 24..=last_brace);
        for end in places.filter(|end| whole.is_char_boundary(*end)) {
            let cut = folder.write("install.sh", &whole[..end]);
            let done = Finished::run(machine.command(shell, &cut, &["--from", &downloads.url])).await;
            assert_ne!(done.code, 0, "{shell}, cut at {end}: {done:?}");
            assert_eq!(done.stdout, "", "{shell}, cut at {end}");
            machine.has_nothing();
        }
    }
}
