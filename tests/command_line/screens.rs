//! What a person sees on a terminal: tables and messages at every width, with and without colours, and what happens when a
//! pipe is closed.

use std::process::Stdio;

use super::empty;
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::terminal::{on_a_terminal, typed};

/// The screen after a command, on a terminal so wide; none where there is no terminal to be had.
async fn screen(proxy: &Proxy, arguments: &[&str], columns: u16) -> Option<String> {
    let command = proxy.command(arguments.iter().copied());
    let finished = Finished::run(on_a_terminal(&command, columns)?).await;
    Some(finished.stdout.replace("\r\n", "\n"))
}

fn tools() -> Proxy {
    let script = "
def nothing(args):
    return None
publish(metadata('read_file', 'Reads a file and returns its text. The file must be below one of the folders that the server was started with.', {}, {}), nothing)
publish(metadata('create_pull_request_with_reviewers', 'Creates a pull request.', {}, {}), nothing)
publish(metadata('ls', 'Lists', {}, {}), nothing)
";
    Proxy::with_config_text("sessionInit: { scriptFile: policy.star }\n").file("policy.star", script)
}

#[tokio::test]
async fn a_table_of_tools_fits_every_terminal_and_its_names_are_whole() {
    let proxy = tools();
    for (columns, picture) in [
        (
            120,
            "\
TOOL                                SERVER  DESCRIPTION
read_file                                   Reads a file and returns its text. The file must be below one of the folder…
create_pull_request_with_reviewers          Creates a pull request.
ls                                          Lists
",
        ),
        (
            80,
            "\
TOOL                                SERVER  DESCRIPTION
read_file                                   Reads a file and returns its text.…
create_pull_request_with_reviewers          Creates a pull request.
ls                                          Lists
",
        ),
        (
            40,
            "\
TOOL
    SERVER
    DESCRIPTION
read_file
    Reads a file and returns its text.…
create_pull_request_with_reviewers
    Creates a pull request.
ls
    Lists
",
        ),
    ] {
        let Some(seen) = screen(&proxy, &["list-tools", "-q"], columns).await else { return };
        assert_eq!(seen, picture, "at {columns} columns:\n{seen}");
    }
}

#[tokio::test]
async fn a_table_of_servers_has_the_whole_error_and_colours_for_states() {
    let config = Config::new()
        .server("files", &fake_backend(["--only", "echo"]))
        .server("github", &std::process::Command::new("no-such-program"));
    let proxy = Proxy::new(&config);
    let error = "the command `no-such-program` was not found";
    for columns in [120, 80, 40] {
        let Some(seen) = screen(&proxy, &["list-servers", "--live", "-q", "--color", "never"], columns).await else {
            return;
        };
        assert!(!seen.contains('\u{1b}'), "{seen:?}");
        assert!(seen.lines().all(|line| line.chars().count() <= usize::from(columns)), "at {columns} columns:\n{seen}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let last = seen.lines().position(|line| line.starts_with("github")).expect("the server");
        let shown = words(&seen.lines().skip(last).collect::<Vec<_>>().join(" "));
        assert!(
            shown.windows(6).any(|part| part == words(error)) && shown.contains(&"failed".to_owned()),
            "at {columns} columns:\n{seen}"
        );
    }
    let colours = ["\u{1b}[32mready\u{1b}[0m", "\u{1b}[31mfailed\u{1b}[0m"];
    let Some(seen) = screen(&proxy, &["list-servers", "--live", "-q"], 80).await else { return };
    assert!(colours.iter().all(|state| seen.contains(state)), "{seen:?}");
    let plain = proxy.run(["list-servers", "--live"]).await.expect(0);
    assert!(!plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'), "{plain:?}");
    let asked = proxy.run(["list-servers", "--live", "--color", "always"]).await.expect(0);
    assert!(colours.iter().all(|state| asked.stdout.contains(state)), "{}", asked.stdout);
    let proxy = proxy.environment("NO_COLOR", "1");
    let Some(seen) = screen(&proxy, &["list-servers", "--live", "-q"], 80).await else { return };
    assert!(seen.contains("ready") && !seen.contains('\u{1b}'), "{seen:?}");
}

#[tokio::test]
async fn messages_are_apart_and_their_excerpts_fit_the_terminal() {
    let proxy = Proxy::with_config_text(&format!("serv: 1 # {}\nmcpServer: 2\n", "x".repeat(150)));
    let said = proxy.run(["list-tools"]).await.expect(2).stderr;
    assert!(said.matches("\n\nerror: ").count() >= 1 && !said.contains("\n\n\n") && !said.starts_with('\n'), "{said}");
    for columns in [120, 80, 40] {
        let Some(seen) = screen(&proxy, &["list-tools", "--color", "never"], columns).await else { return };
        let excerpt =
            seen.lines().find(|line| line.starts_with("1 | ") || line.starts_with("1 |...")).expect("an excerpt");
        assert!(excerpt.contains("serv: 1"), "{seen}");
        assert!(excerpt.chars().count() <= usize::from(columns), "at {columns} columns:\n{seen}");
    }
}

#[tokio::test]
async fn serve_at_a_terminal_says_that_it_waits_for_a_client() {
    let proxy = Proxy::new(&Config::new().server("one", &fake_backend(["--only", "echo"])));
    let served = typed(proxy.command(["serve", "--color", "never"]), "\u{4}").await.expect(0);
    assert!(served.stderr.contains("waiting for an MCP client on standard input"), "{}", served.stderr);
    assert!(served.stderr.contains("proxy serve --http"), "{}", served.stderr);
    let piped = proxy.serve_command().stdin(Stdio::null()).output().expect("it runs");
    assert!(!String::from_utf8_lossy(&piped.stderr).contains("waiting"), "{piped:?}");
}

#[tokio::test]
async fn a_pipe_that_is_closed_ends_a_command_quietly() {
    let proxy = tools();
    for arguments in [
        vec!["list-tools"],
        vec!["list-tools", "--json"],
        vec!["show-preset", "default"],
        vec!["completions", "bash"],
        vec!["types"],
        vec!["--help"],
        vec!["call", "--help"],
    ] {
        let mut command = proxy.command(arguments.iter().copied());
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        assert!(ended.stderr.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(ended.status.code(), Some(0), "{arguments:?}");
    }
}

#[tokio::test]
async fn a_config_has_a_short_option_and_a_variable() {
    let proxy = tools();
    let folder = proxy.directory.directory("elsewhere");
    std::fs::rename(proxy.directory.path().join("proxy.yaml"), folder.join("mine.yaml")).expect("it is there");
    std::fs::rename(proxy.directory.path().join("policy.star"), folder.join("policy.star")).expect("it is there");
    let named = proxy.run(["list-tools", "-c", "elsewhere/mine.yaml"]).await.expect(0);
    assert!(named.stdout.contains("read_file"), "{}", named.stdout);
    let proxy = proxy.environment("PROXY_CONFIG", "elsewhere/mine.yaml");
    assert_eq!(proxy.run(["list-tools"]).await.expect(0).stdout, named.stdout);
    let missing = proxy.run(["list-tools", "-c", "none.yaml"]).await.expect(2);
    assert!(missing.stderr.contains("config file `none.yaml` not found\n"), "{}", missing.stderr);
    let proxy = proxy.environment("PROXY_CONFIG", "none.yaml");
    let missing = proxy.run(["list-tools"]).await.expect(2);
    assert!(missing.stderr.contains("`none.yaml` (from `PROXY_CONFIG`) not found"), "{}", missing.stderr);
    assert!(missing.stderr.contains("hint: change or unset the variable"), "{}", missing.stderr);
    proxy.run(["list-tools", "-c", "elsewhere/mine.yaml"]).await.expect(0);
}

#[tokio::test]
async fn the_help_of_a_command_has_groups_and_examples() {
    let help = empty().run(["call", "--help"]).await.expect(0).stdout;
    for part in
        ["\nServers and script:\n  -c, --config <FILE>", "\nOutput:\n", "\nExamples:\n  $ proxy call greet name=Ann\n"]
    {
        assert!(help.contains(part), "{part}\n{help}");
    }
    assert!(!help.contains('\u{1b}'));
    let coloured = empty().run(["call", "--help", "--color", "always"]).await.expect(0).stdout;
    assert!(coloured.contains('\u{1b}') && coloured.contains("Examples:"), "{coloured}");
    let wrong = empty().run(["call", "--color", "blue"]).await.expect(2);
    assert!(wrong.stderr.contains("'blue'") && wrong.stderr.contains("auto, always, never"), "{}", wrong.stderr);
}

#[tokio::test]
async fn a_browser_is_told_what_the_address_is_for() {
    let proxy = tools().http().await;
    let page = HttpRequest::bare("GET").header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    let reply = proxy.client().send(&page).await;
    assert_eq!((reply.status, reply.header("content-type")), (405, Some("text/plain; charset=utf-8")));
    let body = reply.text().await;
    assert!(body.starts_with("This address is for MCP clients"), "{body}");
    let root = HttpClient::new(&proxy.url.replace("/mcp", "/"), proxy.program.stderr.clone());
    let reply = root.send(&page).await;
    assert_eq!(reply.status, 404);
    let body = reply.text().await;
    assert!(body.starts_with("This is an MCP proxy."), "{body}");
    for (client, status) in [(proxy.client(), 405), (root, 404)] {
        let reply = client.send(&HttpRequest::get()).await;
        assert_eq!(reply.status, status);
        assert_eq!(reply.text().await, "");
    }
}
