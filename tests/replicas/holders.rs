//! Servers with `scope: session`: one proxy holds a client's connection, and the next one goes on with its session at the server.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{FORMS, KEY, TOKENS, at, moved, replica_of, session, session_of, session_with};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message::Message;
use crate::support::patience::within;
use crate::support::program::{Program, is_gone};
use crate::support::programs::{fake_backend, rmcp_server};
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::real_servers::{free_port, python_remembering};
use crate::support::redis::Redis;
use crate::support::stderr_log::StderrLog;

/// A server on the Rust SDK that remembers something for each session, at an address that it can have again.
struct Remembering {
    port: u16,
    program: Program,
}

impl Remembering {
    async fn start() -> Self {
        let port = free_port();
        Remembering { port, program: Self::program(port).await }
    }

    async fn program(port: u16) -> Program {
        let address = format!("127.0.0.1:{port}");
        Program::start_server(rmcp_server(["--legacy", "--remembering", "--http", &address])).await.0
    }

    /// Starts anew, without its sessions.
    async fn restart(&mut self) {
        self.program.kill();
        self.program.exit().await;
        self.program = Self::program(self.port).await;
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    fn config(&self) -> Config {
        Config::new().remote_with("notes", &self.url(), json!({"scope": "session"}))
    }

    async fn replicas(&self, redis: &Redis) -> [HttpProxy; 2] {
        let replica = async || replica_of(self.config().section(TOKENS), &at(&redis.url())).await;
        [replica().await, replica().await]
    }
}

/// What the server knows of a session.
#[derive(Debug)]
struct Notes(Value);

impl Notes {
    fn of(reply: &Message) -> Self {
        Notes(serde_json::from_str(&reply.structured()).unwrap_or_else(|error| panic!("{error}: {}", reply.raw)))
    }

    fn words(&self) -> Vec<&str> {
        self.0["words"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The ids of the requests, which are all different.
    fn ids(&self) -> Vec<u64> {
        let ids: Vec<u64> = self.0["requests"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{self:?}");
        ids
    }

    /// How many sessions the server has.
    fn open(&self) -> u64 {
        self.0["open"].as_u64().expect("a number")
    }
}

fn word(word: &str) -> String {
    json!({ "word": word }).to_string()
}

async fn remember(client: &mut HttpClient, text: &str) -> Notes {
    Notes::of(&client.call("remember", &word(text)).await)
}

/// What a client is told whose connection another proxy has.
async fn refused(client: &mut HttpClient) -> String {
    let reply = client.call("remember", &word("lost")).await;
    let told = reply.raw.contains("`scope: session`") && reply.raw.contains("hash by the `Mcp-Session-Id` header");
    assert!(told, "{}", reply.raw);
    reply.raw
}

/// Waits until this proxy has the connection of a client.
async fn remember_when_free(client: &mut HttpClient, text: &str, log: &StderrLog) -> Notes {
    let remembered = async {
        loop {
            let reply = client.call("remember", &word(text)).await;
            if !reply.raw.contains("hash by the") {
                return Notes::of(&reply);
            }
        }
    };
    within("the connection of the other proxy", log, remembered).await
}

async fn ann(proxy: &HttpProxy) -> HttpClient {
    session_of(proxy, "secret-token-of-a").await
}

async fn stopped(mut proxy: HttpProxy) {
    proxy.program.terminate();
    assert!(proxy.program.exit().await.success());
}

#[tokio::test]
async fn while_one_proxy_has_the_connection_another_says_what_to_do() {
    let Some(redis) = Redis::start().await else { return };
    let server = Remembering::start().await;
    let [one, two] = server.replicas(&redis).await;
    let mut client = ann(&one).await;
    assert_eq!(remember(&mut client, "first").await.words(), ["first"]);
    let mut elsewhere = moved(&client, &two);
    let told = refused(&mut elsewhere).await;
    let home = client.session().and_then(|id| id.split_once('.')).expect("two parts").0.to_owned();
    assert!(told.contains(&format!("proxy {home} has the connection")), "{told}");
    assert_eq!(remember(&mut client, "second").await.words(), ["first", "second"]);
    // Each session has a connection of its own.
    assert_eq!(remember(&mut ann(&two).await, "other").await.words(), ["other"]);
}

#[tokio::test]
async fn after_the_end_of_a_proxy_the_next_one_goes_on_with_the_session_at_the_server() {
    let Some(redis) = Redis::start().await else { return };
    let server = Remembering::start().await;
    let [one, two] = server.replicas(&redis).await;
    let mut client = ann(&one).await;
    remember(&mut client, "first").await;
    let mut elsewhere = moved(&client, &two);
    stopped(one).await;
    // It has given the connection up before it exited.
    let notes = remember(&mut elsewhere, "second").await;
    assert_eq!(notes.words(), ["first", "second"]);
    let ids = notes.ids();
    assert!(ids[0] < 1 << 32 && ids[1] >= 1 << 32, "{ids:?}");
    // So does the one after that.
    let third = replica_of(server.config().section(TOKENS), &at(&redis.url())).await;
    let mut client = moved(&elsewhere, &third);
    refused(&mut client).await;
    stopped(two).await;
    let notes = remember(&mut client, "third").await;
    assert_eq!(notes.words(), ["first", "second", "third"]);
    assert_eq!(notes.ids().len(), 3);
}

#[tokio::test]
async fn after_a_crash_the_next_proxy_goes_on_with_the_session_at_the_server() {
    let Some(redis) = Redis::start().await else { return };
    let server = Remembering::start().await;
    let [one, two] = server.replicas(&redis).await;
    let mut client = ann(&one).await;
    remember(&mut client, "first").await;
    let mut elsewhere = moved(&client, &two);
    one.program.kill();
    // Its sign of life ends by itself.
    let notes = remember_when_free(&mut elsewhere, "second", &two.program.stderr).await;
    assert_eq!(notes.words(), ["first", "second"]);
    assert_eq!(notes.ids().len(), 2);
}

#[tokio::test]
async fn a_server_that_has_forgotten_the_session_begins_anew() {
    let Some(redis) = Redis::start().await else { return };
    let mut server = Remembering::start().await;
    let [one, two] = server.replicas(&redis).await;
    let mut client = ann(&one).await;
    remember(&mut client, "first").await;
    let mut elsewhere = moved(&client, &two);
    stopped(one).await;
    server.restart().await;
    assert_eq!(remember(&mut elsewhere, "second").await.words(), ["second"]);
    // The session that it has forgotten later as well.
    server.restart().await;
    assert_eq!(remember(&mut elsewhere, "third").await.words(), ["third"]);
    // What is kept for the next proxy is the newest one.
    let third = replica_of(server.config().section(TOKENS), &at(&redis.url())).await;
    stopped(two).await;
    assert_eq!(remember(&mut moved(&elsewhere, &third), "fourth").await.words(), ["third", "fourth"]);
}

#[tokio::test]
async fn a_session_that_has_ended_ends_at_the_server_wherever_its_connection_was() {
    let Some(redis) = Redis::start().await else { return };
    let server = Remembering::start().await;
    let [one, two] = server.replicas(&redis).await;
    let mut watcher = ann(&two).await;
    let alone = remember(&mut watcher, "watching").await.open();
    let open_becomes = async |watcher: &mut HttpClient, count: u64| {
        let ended = async { while remember(watcher, "watching").await.open() != count {} };
        within("the end of the session at the server", &two.program.stderr, ended).await;
    };
    // The other proxy has the connection, and is told.
    let mut client = ann(&one).await;
    assert_eq!(remember(&mut client, "first").await.open(), alone + 1);
    assert_eq!(moved(&client, &two).delete().await, 204);
    open_becomes(&mut watcher, alone).await;
    // The operator ends one.
    let mut client = ann(&one).await;
    assert_eq!(remember(&mut client, "first").await.open(), alone + 1);
    let listed = one.world.run(["sessions", "--json"]).await.expect(0).json();
    let digest = listed["sessions"][0]["digest"].as_str().expect("a session").to_owned();
    two.world.run(["sessions", "end", &digest]).await.expect(0);
    open_becomes(&mut watcher, alone).await;
    // The proxy that had the connection has exited, with the main connection of its own.
    let mut client = ann(&one).await;
    assert_eq!(remember(&mut client, "first").await.open(), alone + 1);
    let elsewhere = moved(&client, &two);
    stopped(one).await;
    open_becomes(&mut watcher, alone).await;
    assert_eq!(elsewhere.delete().await, 204);
    open_becomes(&mut watcher, alone - 1).await;
}

#[tokio::test]
async fn a_person_without_a_session_has_one_connection() {
    let Some(redis) = Redis::start().await else { return };
    let server = Remembering::start().await;
    let [one, two] = server.replicas(&redis).await;
    let person = |proxy: &HttpProxy, token: &str| {
        proxy.client().with_header("Authorization", &format!("Bearer secret-token-of-{token}"))
    };
    assert_eq!(Notes::of(&person(&one, "a").modern_call("remember", &word("first")).await).words(), ["first"]);
    let told = person(&two, "a").modern_call("remember", &word("lost")).await;
    assert!(told.raw.contains("has the connection of this user"), "{}", told.raw);
    assert_eq!(Notes::of(&person(&two, "b").modern_call("remember", &word("other")).await).words(), ["other"]);
    stopped(one).await;
    let notes = Notes::of(&person(&two, "a").modern_call("remember", &word("second")).await);
    assert_eq!(notes.words(), ["first", "second"]);
}

#[tokio::test]
async fn a_session_at_a_server_goes_to_no_other_address() {
    let Some(redis) = Redis::start().await else { return };
    let (server, other) = (Remembering::start().await, Remembering::start().await);
    let one = replica_of(server.config(), &at(&redis.url())).await;
    let two = replica_of(other.config(), &at(&redis.url())).await;
    let mut client = session(&one).await;
    remember(&mut client, "first").await;
    let mut elsewhere = moved(&client, &two);
    stopped(one).await;
    assert_eq!(remember(&mut elsewhere, "second").await.words(), ["second"]);
    // Nobody reads it in the store either.
    let keys = redis.ask(&["KEYS", "mcp-proxy:*:connections"]).await;
    let (_, behind) = keys.split_once("mcp-proxy:{").unwrap_or_else(|| panic!("no connections in {keys}"));
    let tag: String = behind.chars().take_while(char::is_ascii_alphanumeric).collect();
    let content = redis.ask(&["HGETALL", &format!("mcp-proxy:{{{tag}}}:connections")]).await;
    assert!(content.contains("notes session") && !content.contains("127.0.0.1"), "{content}");
}

#[tokio::test]
async fn a_session_that_makes_room_for_another_goes_on_at_the_server() {
    let Some(redis) = Redis::start().await else { return };
    let server = Remembering::start().await;
    // All clients without a token together have one session.
    let serve = format!("serve: {{stateKeys: [{KEY}], maxSessions: 2}}\nstore: {{{}}}", at(&redis.url()));
    let proxy = Proxy::new(&server.config().section(&serve)).http().await;
    let mut first = session(&proxy).await;
    remember(&mut first, "first").await;
    let mut second = session(&proxy).await;
    assert_eq!(remember(&mut second, "second").await.words(), ["second"]);
    let notes = remember(&mut first, "third").await;
    assert_eq!(notes.words(), ["first", "third"]);
    notes.ids();
}

#[tokio::test]
async fn a_process_for_one_session_is_at_one_proxy() {
    let Some(redis) = Redis::start().await else { return };
    let server = || Config::new().server_with("own", &fake_backend(["--era", "legacy"]), json!({"scope": "session"}));
    let one = replica_of(server(), &at(&redis.url())).await;
    let two = replica_of(server(), &at(&redis.url())).await;
    let mut client = session_with(&one, FORMS).await;
    let process = client.call("pid", "{}").await.structured();
    let mut elsewhere = moved(&client, &two);
    let told = elsewhere.call("pid", "{}").await.raw;
    assert!(told.contains("hash by the `Mcp-Session-Id` header"), "{told}");
    assert_eq!(client.call("pid", "{}").await.structured(), process);
    one.program.kill();
    let id = serde_json::from_str::<Value>(&process).ok().and_then(|pid| u32::try_from(pid["pid"].as_u64()?).ok());
    is_gone(id.unwrap_or_else(|| panic!("a process in {process}")), &two.program.stderr).await;
    let another = async {
        loop {
            let reply = elsewhere.call("pid", "{}").await;
            if !reply.raw.contains("hash by the") {
                return reply.structured();
            }
        }
    };
    assert_ne!(within("the end of the other proxy", &two.program.stderr, another).await, process);
}

#[tokio::test]
async fn without_a_shared_store_every_proxy_has_a_connection() {
    let server = Remembering::start().await;
    let replica = || replica_of(server.config(), "url: 'memory://'");
    let (one, two) = (replica().await, replica().await);
    let mut client = session(&one).await;
    let open = remember(&mut client, "first").await.open();
    let mut elsewhere = moved(&client, &two);
    assert_eq!(remember(&mut elsewhere, "second").await.words(), ["second"]);
    assert_eq!(remember(&mut client, "third").await.words(), ["first", "third"]);
    // The end of the proxy ends its session at the server, and its main connection.
    stopped(one).await;
    let ended = async { while remember(&mut elsewhere, "again").await.open() > open - 1 {} };
    within("the end of the session at the server", &two.program.stderr, ended).await;
}

#[tokio::test]
async fn without_redis_open_connections_go_on_and_no_other_is_opened() {
    let Some(mut redis) = Redis::start().await else { return };
    let server = Remembering::start().await;
    let [one, _two] = server.replicas(&redis).await;
    let mut client = ann(&one).await;
    remember(&mut client, "first").await;
    let mut new = ann(&one).await;
    redis.kill();
    assert_eq!(remember(&mut client, "second").await.words(), ["first", "second"]);
    let told = new.call("remember", &word("lost")).await.raw;
    assert!(told.contains("the store that says which proxy has the client's connection is away"), "{told}");
    redis.again().await;
    let remembered = async { while new.call("remember", &word("kept")).await.raw.contains("is away") {} };
    within("the store", &one.program.stderr, remembered).await;
}

#[tokio::test]
#[ignore = "a connection that is unused for half a minute"]
async fn a_connection_follows_a_session_that_has_moved() {
    let Some(redis) = Redis::start().await else { return };
    let server = Remembering::start().await;
    let [one, two] = server.replicas(&redis).await;
    let mut client = ann(&one).await;
    remember(&mut client, "first").await;
    let mut elsewhere = moved(&client, &two);
    refused(&mut elsewhere).await;
    let notes = remember_when_free(&mut elsewhere, "second", &two.program.stderr).await;
    assert_eq!(notes.words(), ["first", "second"]);
    refused(&mut client).await;
}

#[tokio::test]
#[ignore = "a replica that sleeps for longer than its sign of life"]
async fn a_proxy_that_has_slept_leaves_the_connection_to_the_one_that_has_it_now() {
    let Some(redis) = Redis::start().await else { return };
    let server = Remembering::start().await;
    let [one, two] = server.replicas(&redis).await;
    let mut client = ann(&one).await;
    remember(&mut client, "first").await;
    let mut elsewhere = moved(&client, &two);
    one.program.freeze();
    let notes = remember_when_free(&mut elsewhere, "second", &two.program.stderr).await;
    assert_eq!(notes.words(), ["first", "second"]);
    one.program.wake();
    let is_refused = async { while !client.call("remember", "{}").await.raw.contains("hash by the") {} };
    within("the proxy that has slept", &one.program.stderr, is_refused).await;
    // It has not ended the session of the other one.
    let notes = remember(&mut elsewhere, "third").await;
    assert_eq!(notes.words(), ["first", "second", "third"]);
    notes.ids();
}

#[tokio::test]
#[ignore = "a real server of the Python SDK"]
async fn a_session_at_a_server_of_the_python_sdk_goes_on_at_the_next_proxy() {
    let Some(redis) = Redis::start().await else { return };
    let Some(command) = python_remembering() else { return };
    let (server, url) = Program::start_patiently(command).await;
    // It would be met without a session.
    let keys = || json!({"scope": "session", "protocol": "2025-11-25"});
    let config = || Config::new().remote_with("notes", &url, keys());
    let one = replica_of(config(), &at(&redis.url())).await;
    let two = replica_of(config(), &at(&redis.url())).await;
    let mut client = session(&one).await;
    let first = client.call("remember", &word("first")).await;
    assert_eq!(first.text(), r#"["first"]"#);
    let mut elsewhere = moved(&client, &two);
    refused(&mut elsewhere).await;
    stopped(one).await;
    let second = elsewhere.call("remember", &word("second")).await;
    assert_eq!(second.text(), r#"["first", "second"]"#);
    assert_eq!(elsewhere.delete().await, 204);
    server.stderr.line("\"DELETE /mcp").await;
}
