//! What people put a proxy in the middle for, before real servers of other people and in both eras: the scripts are the
//! examples in `scripts/` and the presets.

use std::path::Path;

use serde_json::{Value, json};

use crate::elicitation::{Client, text};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message::{self, Message};
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::real_servers;
use crate::support::temp_dir::TempDir;

const TOKENS: &str = "auth: {tokens: [
  {token: secret-token-of-a, sub: ann, groups: [staff, dev]}, {token: secret-token-of-g, sub: gus}]}";
const NOTE: &str = "ask Ada: ada@example.org, card 4111 1111 1111 1111";

/// Files and a clock, with this script; nothing where they cannot be installed.
struct World {
    files: TempDir,
    config: Config,
}

impl World {
    fn new(session: &str) -> Option<Self> {
        let files = TempDir::new();
        files.write("note.txt", NOTE);
        let config = Config::new()
            .server("files", &real_servers::filesystem(files.path())?)
            .server("clock", &real_servers::time()?)
            .section(session);
        Some(World { files, config })
    }

    fn path(&self, name: &str) -> String {
        // The server compares with real paths.
        let folder = self.files.path().canonicalize().expect("a folder");
        folder.join(name).to_str().expect("a path").to_owned()
    }

    /// The servers take seconds to start: a first look waits for them, and later starts list them at once.
    fn warm(&self, proxy: Proxy) -> Proxy {
        let looked = proxy.command(["list-tools", "--all"]).output().expect("the proxy runs");
        assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
        proxy
    }

    /// A client on a pipe that can be asked things.
    async fn client(&self, modern: bool, capabilities: &str) -> Client {
        let mut proxy = self.warm(Proxy::new(&self.config)).stdio();
        proxy.client.program.stderr.patience = LONG_PATIENCE;
        if !modern {
            proxy.client.initialize_with("2025-11-25", capabilities).await.result();
        }
        Client { proxy, modern, capabilities: capabilities.to_owned() }
    }

    async fn http(&self, script: &str) -> HttpProxy {
        let config = self.config.clone().section("sessionInit: { scriptFile: policy.star }").section(TOKENS);
        let proxy = self.warm(Proxy::new(&config).file("policy.star", script));
        let mut proxy = proxy.http().await;
        proxy.program.stderr.patience = LONG_PATIENCE;
        proxy
    }
}

/// Somebody at a client of one era, over HTTP.
struct Person {
    client: HttpClient,
    modern: bool,
}

impl Person {
    async fn of(proxy: &HttpProxy, token: &str, modern: bool) -> Self {
        let mut client = proxy.client().with_header("Authorization", &format!("Bearer {token}"));
        if !modern {
            client.initialize("2025-11-25").await.result();
        }
        Person { client, modern }
    }

    async fn ask(&mut self, method: &str, params: &str) -> Message {
        match self.modern {
            true => self.client.modern(method, params).await,
            false => self.client.request(method, params).await,
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", &message::call(tool, &arguments.to_string())).await.value()
    }

    /// Through `call_tool`.
    async fn use_tool(&mut self, tool: &str, arguments: Value) -> Value {
        self.call("call_tool", json!({"tool_name": tool, "parameters": arguments})).await
    }
}

const ERAS: [bool; 2] = [false, true];

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn find_tool_says_what_there_is_for_this_user() {
    let Some(world) = World::new("") else { return };
    let proxy = world.http(include_str!("../scripts/company.star")).await;
    for modern in ERAS {
        let mut described = Vec::new();
        for token in ["secret-token-of-a", "secret-token-of-g"] {
            let mut person = Person::of(&proxy, token, modern).await;
            let listed = person.ask("tools/list", "{}").await;
            assert_eq!(listed.tool_names(), ["find_tool", "describe_tool", "call_tool"]);
            described.push(listed.value()["result"]["tools"][0]["description"].as_str().unwrap_or_default().to_owned());
        }
        assert!(
            described.iter().all(|text| text.contains("by server: files (") && text.contains("clock (")),
            "{described:?}"
        );
        assert_ne!(described[0], described[1], "a guest has fewer tools");
    }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn writing_needs_a_human_who_agrees() {
    let Some(world) = World::new("sessionInit: { preset: approval }") else { return };
    for modern in ERAS {
        let name = format!("written-{modern}.txt");
        let path = world.path(&name);
        let arguments = json!({"path": path, "content": "hello"});
        // It has no folders: the server would ask for them, which is not a question to a human.
        let mut client = world.client(modern, r#"{"elicitation":{"form":{}}}"#).await;
        let (questions, read) =
            client.converse("read_text_file", json!({"path": world.path("note.txt")}), json!({})).await;
        assert_eq!((questions.len(), read["result"]["isError"] == true), (0, false), "{read}");

        let (questions, outcome) = client.converse("write_file", arguments.clone(), json!({"action": "decline"})).await;
        assert_eq!(questions.len(), 1, "{outcome}");
        let question = questions[0]["params"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(question.contains("write_file") && question.contains(&name), "{question}");
        assert_eq!(outcome["result"]["isError"], true, "{outcome}");
        assert!(!Path::new(&path).exists(), "what was declined was not carried out");

        let yes = json!({"action": "accept", "content": {}});
        let (questions, outcome) = client.converse("write_file", arguments.clone(), yes).await;
        assert_eq!((questions.len(), outcome["result"]["isError"] == true), (1, false), "{outcome}");
        assert_eq!(std::fs::read_to_string(&path).expect("it was written"), "hello");

        std::fs::remove_file(&path).expect("the file is there");
        let mut mute = world.client(modern, "{}").await;
        let (questions, outcome) = mute.converse("write_file", arguments, json!({})).await;
        assert_eq!((questions.len(), &outcome["result"]["isError"]), (0, &json!(true)), "{outcome}");
        assert!(text(&outcome).contains("cannot ask its user for approval"), "{outcome}");
        assert!(!Path::new(&path).exists(), "a client that cannot ask is refused");
    }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn what_identifies_people_does_not_reach_the_model() {
    let Some(world) = World::new("") else { return };
    let proxy = world.http(include_str!("../scripts/redaction.star")).await;
    for modern in ERAS {
        let mut person = Person::of(&proxy, "secret-token-of-g", modern).await;
        let read = person.call("read_text_file", json!({"path": world.path("note.txt")})).await;
        assert_eq!(text(&read), "ask Ada: [email], card [credit_card]", "{read}");
        assert!(!read.to_string().contains("ada@example.org"), "{read}");
    }
    proxy.program.stderr.line("something was redacted").await;
}

/// Two of the servers' tools under our names, and one of ours that is made of both.
const CURATED: &str = r#"
def tool(server, name):
    return [(meta, call) for meta, call in backends()[server].tools() if meta.name == name][0]

read_meta, read = tool("files", "read_text_file")
_, clock = tool("clock", "get_current_time")

publish(read_meta.replace(name = "read_note", title = "Read a note", description = "Reads one of our notes."), read)

def dated(args):
    note = unwrap(read(args))
    return {"note": note["content"] if type(note) == "dict" else note, "timezone": unwrap(clock({"timezone": "UTC"}))["timezone"]}

publish(metadata("read_dated_note", "Reads a note, and says when.", read_meta.parameters, {"readOnlyHint": True}), dated)
"#;

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_curated_surface_has_our_names_and_a_tool_of_two() {
    let Some(world) = World::new("") else { return };
    let proxy = world.http(CURATED).await;
    for modern in ERAS {
        let mut person = Person::of(&proxy, "secret-token-of-g", modern).await;
        assert_eq!(person.ask("tools/list", "{}").await.tool_names(), ["read_note", "read_dated_note"]);
        let path = json!({"path": world.path("note.txt")});
        assert_eq!(text(&person.call("read_note", path.clone()).await), NOTE);
        let dated = person.call("read_dated_note", path).await;
        assert_eq!(dated["result"]["structuredContent"], json!({"note": NOTE, "timezone": "UTC"}), "{dated}");
        let hidden = person.call("write_file", json!({"path": world.path("x"), "content": ""})).await;
        assert!(hidden["error"]["message"].as_str().is_some_and(|text| text.contains("unknown tool")), "{hidden}");
    }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn roles_decide_what_is_there_and_how_often() {
    let Some(world) = World::new("") else { return };
    let proxy = world.http(include_str!("../scripts/roles.star")).await;
    let mut ann = Person::of(&proxy, "secret-token-of-a", false).await;
    let mut gus = Person::of(&proxy, "secret-token-of-g", false).await;
    let has = |listed: &Message, name: &str| listed.tool_names().iter().any(|tool| tool == name);
    let (to_ann, to_gus) = (ann.ask("tools/list", "{}").await, gus.ask("tools/list", "{}").await);
    assert!(has(&to_ann, "write_file") && !has(&to_gus, "write_file") && has(&to_gus, "read_text_file"));
    let path = json!({"path": world.path("note.txt")});
    for _ in 0..5 {
        assert_eq!(text(&gus.call("read_text_file", path.clone()).await), NOTE);
    }
    // The bucket is the person's, whatever client they come with.
    let mut gus = Person::of(&proxy, "secret-token-of-g", true).await;
    let mut refused = json!(null);
    for _ in 0..7 {
        refused = gus.call("read_text_file", path.clone()).await;
    }
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(text(&refused).contains("too many calls; try again in"), "{refused}");
    assert_eq!(text(&ann.call("read_text_file", path).await), NOTE, "nobody else is held up");
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn all_of_it_in_one_script() {
    let Some(world) = World::new("") else { return };
    let proxy = world.http(include_str!("../scripts/company.star")).await;
    let path = json!({"path": world.path("note.txt")});
    for modern in ERAS {
        let mut gus = Person::of(&proxy, "secret-token-of-g", modern).await;
        let found = gus.call("find_tool", json!({"tool_description": "read a note and the time"})).await;
        let tools = found["result"]["structuredContent"]["tools"].to_string();
        assert!(tools.contains("read_dated_note") && !tools.contains("write_note"), "{tools}");
        assert_eq!(text(&gus.use_tool("read_note", path.clone()).await), "ask Ada: [email], card [credit_card]");
        let dated = gus.use_tool("read_dated_note", path.clone()).await.to_string();
        assert!(dated.contains("[credit_card]") && dated.contains("UTC"), "{dated}");
        let hidden = gus.use_tool("write_note", json!({"path": world.path("x"), "content": ""})).await;
        assert!(text(&hidden).contains("there is no tool `write_note`"), "{hidden}");
        // Nobody can be asked on this connection.
        let mut ann = Person::of(&proxy, "secret-token-of-a", modern).await;
        let refused = ann.use_tool("write_note", json!({"path": world.path("x"), "content": ""})).await;
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        assert!(!Path::new(&world.path("x")).exists());
    }
    let mut gus = Person::of(&proxy, "secret-token-of-g", true).await;
    let mut refused = json!(null);
    for _ in 0..200 {
        refused = gus.use_tool("read_note", path.clone()).await;
        if text(&refused).contains("too many calls") {
            break;
        }
    }
    assert!(text(&refused).contains("too many calls"), "{refused}");
    proxy.program.stderr.line("a tool is used").await;
}
