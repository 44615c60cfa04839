//! A person who logs in to servers with `proxy login`, and the files that are kept of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::redirect::Policy;
use serde_json::{Value, json};

use super::config::Config;
use super::finished::Finished;
use super::protected_server::ProtectedServer;
use super::proxy::Proxy;

/// What the server is called in these tests.
pub const SERVER: &str = "cloud";

/// A proxy with one server that wants a log-in, with no `auth` in its config: the server's 401 says enough.
pub fn world(server: &ProtectedServer) -> Proxy {
    world_with(&server.url, json!({}))
}

/// The same with more keys of the server's entry.
pub fn world_with(url: &str, keys: Value) -> Proxy {
    with_browser(Proxy::new(&Config::new().remote_with(SERVER, url, keys)))
}

/// The person's browser is the test: the program that is started as one only writes down what it was given.
pub fn with_browser(proxy: Proxy) -> Proxy {
    let opened = proxy.directory.path().join("opened");
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" >> '{}'\n", opened.display());
    let browser = proxy.directory.write("browser", &script);
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("it is the test's");
    let browser = browser.display().to_string();
    proxy.environment("BROWSER", &browser)
}

/// Logs in, agreeing to everything.
pub async fn log_in(world: &Proxy) -> Finished {
    log_in_with(world, &[]).await
}

pub async fn log_in_with(world: &Proxy, options: &[&str]) -> Finished {
    let seen = opened(world).len();
    let login = world.run(["login", SERVER].into_iter().chain(options.iter().copied()));
    tokio::select! {
        finished = login => finished,
        never = follow(world, seen) => never,
    }
}

/// Opens what the browser is given, and goes wherever it leads.
async fn follow<T>(world: &Proxy, mut seen: usize) -> T {
    loop {
        for url in opened(world).into_iter().skip(seen) {
            seen += 1;
            open(url).await;
        }
        // No event tells of another process's file.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A browser with cookies. A page that cannot be opened is the proxy's to notice.
pub async fn open(url: String) {
    let _ = visit(url, None).await;
}

/// Where a browser is sent at last: to a URL that begins like this, which is not opened.
pub async fn redirected(url: String, to: &str) -> String {
    match visit(url, Some(to)).await {
        Ok(led) => led,
        Err(page) => panic!("the authorization server does not send the browser back: {page}"),
    }
}

/// The URL that begins like `end`, or the last page.
async fn visit(mut url: String, end: Option<&str>) -> Result<String, String> {
    let browser = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
    let mut cookies = BTreeMap::new();
    loop {
        let jar: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if end.is_some_and(|end| url.starts_with(end)) {
            return Ok(url);
        }
        let page =
            browser.get(&url).header("cookie", jar.join("; ")).send().await.map_err(|error| error.to_string())?;
        for cookie in page.headers().get_all("set-cookie") {
            let pair = cookie.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        cookies.retain(|_, value| !value.is_empty());
        let next = page.headers().get("location").and_then(|location| location.to_str().ok());
        let Some(next) = next.and_then(|next| page.url().join(next).ok()) else {
            return Err(page.text().await.unwrap_or_default());
        };
        url = next.into();
    }
}

/// The URLs that the browser was given so far, each as the only argument.
pub fn opened(world: &Proxy) -> Vec<String> {
    let text = fs::read_to_string(world.directory.path().join("opened")).unwrap_or_default();
    // A line that is being written is not there yet.
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let lines: Vec<_> = whole.lines().collect();
    let openings = lines.chunks_exact(2);
    openings
        .map(|opening| {
            assert_eq!(opening[0], "1", "a browser gets one argument: {lines:?}");
            opening[1].to_owned()
        })
        .collect()
}

pub fn folder(world: &Proxy) -> PathBuf {
    world.directory.path().join("home/.local/state/starlark-mcp-proxy/credentials")
}

/// The files with log-ins.
pub fn records(world: &Proxy) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(world)).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    paths.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect()
}

/// The only file with a log-in, as text.
pub fn record(world: &Proxy) -> String {
    let paths = records(world);
    let [path] = paths.as_slice() else { panic!("expected one log-in: {paths:?}") };
    fs::read_to_string(path).expect("it is ours")
}

/// The state of the only server, which is connected for that.
pub async fn state(world: &Proxy) -> Value {
    let listed = world.run(["list-servers", "--live", "--json"]).await;
    listed.json()[0].clone()
}
