//! `proxy login` and `proxy logout` as a person types them: what they refuse, what they say, and how the answer gets back.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

use crate::support::authorization_server::{Approval, AuthorizationServer};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::log_ins::{log_in, log_in_with, open, opened, records, with_browser, world, world_with};
use crate::support::program::Program;
use crate::support::programs::{fake_backend, fake_http_backend};
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;
use crate::support::terminal::on_a_terminal;

/// Servers at which nobody can log in with a browser, and one at which somebody can.
fn several() -> Proxy {
    let nowhere = "http://127.0.0.1:9/mcp";
    let own = json!({"auth": {"type": "clientCredentials", "clientId": "jobs", "clientSecret": "s3cret-of-jobs"}});
    let config = Config::new()
        .server("local", &fake_backend(["--only", "echo"]))
        .remote("cloud", nowhere)
        .remote_with("keyed", nowhere, json!({"headers": {"authorization": "Bearer s3cret-of-keyed"}}))
        .remote_with("jobs", nowhere, own);
    Proxy::new(&config)
}

#[tokio::test]
async fn what_cannot_be_a_log_in_is_refused_with_the_reason() {
    let proxy = several();
    for (arguments, said) in [
        (&["login"][..], "<SERVER>"),
        (&["login", "clout"], "did you mean `cloud`?"),
        (&["login", "nothing-like-it"], "`cloud`, `keyed`, `jobs`"),
        (&["login", "local"], "server `local` has a `command`"),
        (&["login", "keyed"], "the header `Authorization`"),
        (&["login", "jobs"], "by itself: its `auth.type` is `clientCredentials`"),
        (&["login", "cloud", "--timeout", "5"], "invalid duration `5`"),
        (&["login", "cloud", "--timeout", "0s"], "invalid duration `0s`"),
        (&["login", "cloud", "--timeout", "1h"], "at most 10m"),
        (&["login", "cloud", "--scope", "read write"], "repeat `--scope` for each scope"),
        (&["login", "cloud", "--port", "0"], "--port"),
        (&["login", "cloud", "--port", "70000"], "--port"),
        (&["login", "cloud", "--json"], "--list"),
        (&["login", "cloud", "--list"], "--list"),
        (&["login", "cloud", "--server", "cloud=http://127.0.0.1:9/mcp", "-c", "proxy.yaml"], "already defined"),
        (&["logout"], "<SERVER>"),
        (&["logout", "clout"], "did you mean `cloud`?"),
        (&["logout", "local"], "server `local` has a `command`"),
    ] {
        let refused = proxy.run(arguments.iter().copied()).await.expect(2);
        assert!(refused.stderr.contains(said), "{arguments:?}: {}", refused.stderr);
        assert!(!refused.stderr.contains("s3cret"), "{}", refused.stderr);
        assert_eq!(refused.stdout, "", "{arguments:?}");
    }
    fs::remove_file(proxy.directory.path().join("proxy.yaml")).expect("it was just written");
    let refused = proxy.run(["login", "cloud"]).await.expect(2);
    assert!(refused.stderr.contains("no config file was found"), "{}", refused.stderr);
}

#[tokio::test]
async fn a_server_that_lets_everybody_in_or_is_down_is_not_logged_in_at() {
    let (_backend, url) = fake_http_backend(&["--only", "echo"]).await;
    let proxy = with_browser(Proxy::new(&Config::new().remote("free", &url).remote("down", "http://127.0.0.1:9/mcp")));
    let free = proxy.run(["login", "free"]).await.expect(0);
    assert_eq!(free.stdout, "server `free` requires no authorization\n");
    let down = proxy.run(["login", "down"]).await.expect(1);
    assert!(down.stderr.contains("server `down` is not available"), "{}", down.stderr);
    assert_eq!(opened(&proxy), [""; 0]);
    // The same without a config file.
    let target = format!("free={url}");
    let quick = proxy.run(["login", "free", "--server", &target]).await.expect(0);
    assert_eq!(quick.stdout, free.stdout);
}

/// A log-in that waits.
struct Waiting {
    program: Program,
    stdin: ChildStdin,
    /// The address that it has printed.
    url: String,
}

async fn waiting(world: &Proxy, options: &[&str]) -> Waiting {
    let command = world.command(["login", "cloud"].into_iter().chain(options.iter().copied()));
    let (program, stdin, _) = Program::start(command);
    let url = program.stderr.line("code_challenge=").await.trim().to_owned();
    Waiting { program, stdin, url }
}

impl Waiting {
    /// Where the browser of a person who agrees ends: the redirect URI, which is not opened.
    async fn agreed(&self) -> String {
        let browser = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
        let page = browser.get(&self.url).send().await.expect("the page is there");
        page.headers()["location"].to_str().expect("an address").to_owned()
    }

    fn redirect_uri(&self) -> url::Url {
        let url = url::Url::parse(&self.url).expect("an address");
        let (_, uri) = url.query_pairs().find(|(name, _)| name == "redirect_uri").expect("where to go back to");
        url::Url::parse(&uri).expect("an address")
    }

    async fn exit(&mut self) -> (i32, String) {
        let code = self.program.exit().await.code().expect("it was not ended by a signal");
        (code, self.program.stderr.whole().await)
    }
}

#[tokio::test]
async fn without_a_browser_the_address_is_printed_and_the_answer_is_pasted() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    let mut login = waiting(&world, &["--no-browser"]).await;
    let redirect = login.redirect_uri();
    assert_eq!((redirect.host_str(), redirect.path()), (Some("127.0.0.1"), "/callback"));
    let pasted = login.agreed().await;
    login.stdin.write_all(format!("\n  {pasted}  \n").as_bytes()).await.expect("it reads");
    let (code, said) = login.exit().await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(opened(&world), [""; 0]);
    world.run(["call", "echo"]).await.expect(0);
}

#[tokio::test]
async fn a_pasted_address_of_something_else_is_refused_and_says_why() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    for (change, said) in [
        (None, "begins with `http://127.0.0.1:"),
        (Some("state=other"), "its `state` belongs to another login"),
        (Some("code=x"), "it has no `state`"),
    ] {
        let mut login = waiting(&world, &["--no-browser"]).await;
        let pasted = match change {
            Some(query) => format!("{}?{query}\n", login.redirect_uri()),
            None => format!("{}\n", login.url),
        };
        login.stdin.write_all(pasted.as_bytes()).await.expect("it reads");
        let (code, text) = login.exit().await;
        assert_eq!(code, 1, "{text}");
        assert!(text.contains("the pasted address does not belong to this login") && text.contains(said), "{text}");
    }
    assert_eq!(authorization.seen().count("authorization_code"), 0);
}

#[tokio::test]
async fn the_browser_is_a_command_with_arguments_and_a_place_for_the_address() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    let written = world.directory.path().join("arguments");
    let browser = world
        .directory
        .write("with-arguments", &format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n", written.display()));
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("it is the test's");
    // The first that works is the one.
    let browsers = format!("/no/such/browser:false:{} --app=%s  --new:/no/other", browser.display());
    let world = world.environment("BROWSER", &browsers);
    let mut login = waiting(&world, &[]).await;
    open(login.agreed().await).await;
    let (code, said) = login.exit().await;
    assert_eq!(code, 0, "{said}");
    let arguments = fs::read_to_string(written).expect("it was started");
    assert_eq!(arguments.lines().collect::<Vec<_>>(), [format!("--app={}", login.url).as_str(), "--new"]);
}

#[tokio::test]
async fn a_browser_that_cannot_be_opened_is_said_and_the_address_works_all_the_same() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    for (browser, said) in [
        ("/no/such/browser", "the command `/no/such/browser` was not found"),
        ("false", "`false` ended with exit status: 1"),
        ("/no/such/browser:false", "(the command `/no/such/browser` was not found; `false` ended with exit status: 1)"),
    ] {
        let world = world(&server).environment("BROWSER", browser);
        let mut login = waiting(&world, &[]).await;
        login.program.stderr.line(said).await;
        open(login.agreed().await).await;
        let (code, said) = login.exit().await;
        assert_eq!(code, 0, "{said}");
    }
}

#[tokio::test]
async fn strangers_at_the_redirect_uri_are_refused_and_the_right_answer_gets_a_plain_page() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    let mut login = waiting(&world, &["--no-browser"]).await;
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let redirect = login.redirect_uri();
    let right = login.agreed().await;
    let get = async |url: &str| client.get(url).send().await.expect("somebody listens").status().as_u16();
    assert_eq!(get(redirect.join("/").expect("an address").as_str()).await, 404);
    assert_eq!(get(redirect.join("/favicon.ico").expect("an address").as_str()).await, 404);
    let rebound = client.get(&right).header("host", "evil.example").send().await.expect("somebody listens");
    assert_eq!(rebound.status(), 403);
    assert_eq!(client.post(&right).send().await.expect("somebody listens").status(), 405);
    for _ in 0..3 {
        assert_eq!(get(&format!("{redirect}?code=stolen&state=guessed")).await, 400);
    }
    assert_eq!(authorization.seen().count("authorization_code"), 0);

    let page = client.get(&right).send().await.expect("somebody listens");
    assert_eq!(page.status(), 200);
    for (header, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(page.headers()[header], value);
    }
    let policy = page.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    let text = page.text().await.expect("a page");
    assert!(text.contains("You are logged in") && text.contains("close this window"), "{text}");
    assert!(!text.contains("<script") && !text.contains("code-"), "{text}");
    let (code, said) = login.exit().await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(said.matches("refused a browser request to the redirect URI").count(), 1, "once, not for each: {said}");
    assert!(client.get(&right).send().await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_person_who_says_no_is_told_so_on_the_page_and_in_the_terminal() {
    let authorization = AuthorizationServer::with(|settings| settings.approval = Approval::Denied).await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    let mut login = waiting(&world, &["--no-browser"]).await;
    let page = reqwest::get(login.agreed().await).await.expect("somebody listens");
    assert_eq!(page.status(), 400);
    let text = page.text().await.expect("a page");
    assert!(text.contains("Login failed") && text.contains("access_denied"), "{text}");
    let (code, said) = login.exit().await;
    assert_eq!(code, 1);
    assert!(said.contains("access_denied"), "{said}");
}

#[tokio::test]
async fn a_log_in_that_is_given_up_leaves_nothing_but_the_client() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let cancelled = world(&server);
    let mut login = waiting(&cancelled, &["--no-browser"]).await;
    login.program.interrupt();
    let (code, said) = login.exit().await;
    assert_eq!(code, 1);
    assert!(said.contains("the login was cancelled"), "{said}");

    let late = world(&server);
    let timed_out = late.run(["login", "cloud", "--no-browser", "--timeout", "100ms"]).await.expect(1);
    assert!(timed_out.stderr.contains("no login within 100 ms"), "{}", timed_out.stderr);
    for world in [cancelled, late] {
        for path in records(&world) {
            let text = fs::read_to_string(path).expect("a record");
            let secrets = ["access-", "refresh-", "code-", "verifier", "state"];
            assert!(!secrets.iter().any(|secret| text.contains(secret)), "{text}");
        }
        world.run(["login", "--list"]).await.expect(1);
        assert_ne!(world.run(["call", "echo"]).await.code, 0);
    }
    assert_eq!(authorization.seen().count("authorization_code"), 0);
}

#[tokio::test]
async fn the_list_has_every_server_with_a_url_and_no_token() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::with(&authorization, |rules| rules.challenge_scope = Some("list")).await;
    let keyed = json!({"headers": {"Authorization": "Bearer s3cret-of-keyed"}});
    let config = Config::new()
        .server("local", &fake_backend(["--only", "echo"]))
        .remote_with("cloud", &server.url, json!({"auth": {"type": "oauth"}}))
        .remote_with("keyed", "http://127.0.0.1:9/mcp", keyed);
    let world = with_browser(Proxy::new(&config));
    let before = world.run(["login", "--list", "--json"]).await.expect(1).json();
    assert_eq!(before[0]["server"], "cloud");
    assert_eq!((&before[0]["status"], &before[0]["type"]), (&json!("login"), &json!("oauth")), "{before}");
    assert!(before[0]["whatToDo"].as_str().is_some_and(|text| text.contains("proxy login cloud")), "{before}");
    assert_eq!(before[1], json!({"server": "keyed", "status": "ok", "type": "header"}));
    assert_eq!(before.as_array().map(Vec::len), Some(2), "a command has no log-in: {before}");

    log_in(&world).await.expect(0);
    let after = world.run(["login", "--list", "--json"]).await.expect(0);
    let known: Value = after.json()[0].clone();
    assert_eq!((&known["status"], &known["client"]), (&json!("ok"), &json!("registered")), "{known}");
    assert_eq!((&known["issuer"], &known["scopes"]), (&json!(authorization.issuer()), &json!(["list"])), "{known}");
    assert!(known["expiresInSeconds"].as_u64().is_some_and(|left| left > 0), "{known}");
    assert_eq!((&known["refreshable"], &known["wantedScopes"]), (&json!(true), &json!([])), "{known}");
    let table = world.run(["login", "--list"]).await.expect(0);
    assert_eq!(table.column(), ["cloud", "keyed"]);
    for secret in authorization.secrets().iter().map(String::as_str).chain(["s3cret-of-keyed"]) {
        assert!(!after.stdout.contains(secret) && !table.stdout.contains(secret), "{secret}");
    }

    let nothing = Proxy::with_config_text("");
    let none = nothing.run(["login", "--list"]).await.expect(0);
    assert!(none.stderr.contains("no servers with `url`"), "{}", none.stderr);
    assert_eq!(nothing.run(["login", "--list", "--json"]).await.expect(0).json(), json!([]));
}

#[tokio::test]
async fn a_log_out_says_what_it_did() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world_with(&server.url, json!({"auth": {"type": "oauth"}}));
    let nobody = world.run(["logout", "cloud"]).await.expect(0);
    assert_eq!(nobody.stdout, "nobody was logged in to `cloud`\n");
    log_in(&world).await.expect(0);
    let done = world.run(["logout", "cloud"]).await.expect(0);
    assert!(done.stdout.starts_with("logged out of `cloud`; revoked: refresh token"), "{}", done.stdout);
    world.run(["login", "--list"]).await.expect(1);
}

/// The screen after a command that a person may have to follow in a browser, 80 columns wide.
async fn screen(world: &Proxy, command: &Command) -> Option<String> {
    let shown = Finished::run(on_a_terminal(command, 80)?);
    let browsing = async {
        let mut seen = opened(world).len();
        loop {
            for url in opened(world).into_iter().skip(seen) {
                seen += 1;
                open(url).await;
            }
            // No event tells of another process's file.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let finished = tokio::select! {
        finished = shown => finished,
        () = browsing => return None,
    };
    Some(finished.stdout.replace("\r\n", "\n"))
}

#[tokio::test]
async fn a_newcomer_at_a_terminal_reads_what_to_do_next_and_every_line_fits() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    let plain = |arguments: &[&str]| world.command(arguments.iter().copied().chain(["--color", "never"]));
    let Some(listed) = screen(&world, &plain(&["list-servers"])).await else { return };
    assert!(listed.contains("login") && words(&listed).contains("proxy login cloud"), "{listed}");
    let Some(waits) = screen(&world, &plain(&["login", "--list"])).await else { return };
    assert!(waits.starts_with("SERVER") && words(&waits).contains("proxy login cloud"), "{waits}");
    let Some(login) = screen(&world, &plain(&["login", "cloud"])).await else { return };
    assert!(login.contains("to log in to `cloud`, open this address in a browser:\n"), "{login}");
    assert!(login.contains("logged in to `cloud`\n") && login.contains(&authorization.issuer()), "{login}");
    let Some(tools) = screen(&world, &plain(&["list-tools"])).await else { return };
    assert!(tools.contains("echo"), "{tools}");
    let Some(after) = screen(&world, &plain(&["login", "--list"])).await else { return };
    for text in [listed, waits, login, tools, after] {
        // The address is whole: it is copied.
        let shown = text.rsplit('\r').next().unwrap_or_default();
        let long = shown.lines().find(|line| line.chars().count() > 80 && !line.contains("code_challenge="));
        assert_eq!(long, None, "{text}");
    }
}

/// The text in one line, however it was wrapped.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_running_proxy_is_named_as_the_one_that_takes_the_log_in_up() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let proxy = world(&server).http().await;
    let done = log_in_with(&proxy.world, &[]).await.expect(0);
    assert!(
        done.stderr.contains("a running `proxy serve` with this config picks up the authorization by itself"),
        "{}",
        done.stderr
    );
    let quiet = log_in_with(&proxy.world, &["-q"]).await.expect(0);
    assert_eq!(quiet.stderr.lines().count(), 1, "only the address: {}", quiet.stderr);
}
