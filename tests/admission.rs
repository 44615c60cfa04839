//! One admission: whichever way a call comes to a tool, it is refused for the same reason, with the same text, and the audit
//! log says the same about it.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::patience::within;
use crate::support::programs::{self, fake_backend};
use crate::support::proxy::{HttpProxy, Proxy};

/// One tool for each refusal, published and in an index, and tools that call those of the index.
const SCRIPT: &str = r#"
def on_request(request):
    if request.name in ["hooked", "all_of_it", "all_but_scopes"]:
        fail("closed today")

def made(name, schema = {"type": "object"}):
    return (metadata(name, "Does it.", schema, {}), lambda args: "done")

number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
secret = backends()["fake"].tools()
hidden = made("secret_and_scoped")
tools = [hidden, made("scoped"), made("hooked"), made("typed", number), made("all_of_it", number), made("all_but_scopes", number)] + secret
index = search_index(tools, meaning = False)

for meta, handler in tools:
    publish(meta, handler)

anything = {"type": "object"}
code = "return call_tool(%r, {})"
publish(metadata("by_index", "", anything, {}), lambda args: index.call(args["tool"], {}))
publish(metadata("by_code", "", anything, {}), lambda args: run_script(code % args["tool"], index))

def composed(args):
    first = index.call(args["tool"], {})
    return first if first.get("isError") else {"result": [first, index.call(args["tool"], {})]}

publish(metadata("composed", "", anything, {}), composed)
"#;

const POLICIES: &str = r#"
permit(principal, action, resource);
forbid(principal, action, resource) when { resource.name like "secret*" };
forbid(principal, action, resource) when { resource.name like "all_*" } unless { context.arg_key == "k" };
"#;

fn world() -> Proxy {
    world_with("audit: {file: audit.jsonl}")
}

fn world_with(audit: &str) -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "secret"]))
        .section("auth: {tokens: [{token: secret-token-of-bob, sub: bob}], scopes: [{tools: scoped, scopes: [write]}, {tools: all_of_it, scopes: [write]}, {tools: secret_and_scoped, scopes: [write]}]}")
        .section("cedar: {policies: [a.cedar]}")
        .section(audit)
        .section("sessionInit: {scriptFile: s.star}");
    Proxy::new(&config).file("s.star", SCRIPT).file("a.cedar", POLICIES)
}

/// What a caller reads, and what the audit log says.
#[derive(Debug)]
struct Refusal {
    text: String,
    by: String,
    why: String,
    at: Value,
}

/// The text of a result or an error, wherever a way puts it.
fn text_of(answer: &Value) -> String {
    let structured = &answer["result"]["structuredContent"];
    let content = &answer["result"]["content"][0]["text"];
    let found = [&structured["error"], &structured["result"], &answer["error"]["message"], content];
    let text = found.into_iter().find_map(Value::as_str);
    text.unwrap_or_else(|| panic!("no text in {answer}")).to_owned()
}

/// The last refusal in the audit log.
fn logged(proxy: &Proxy, calls: usize) -> Option<Value> {
    let log = std::fs::read_to_string(proxy.directory.path().join("audit.jsonl")).unwrap_or_default();
    let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = whole.map(|line| serde_json::from_str::<Value>(line).expect("each line is JSON"));
    let denied: Vec<Value> = lines.filter(|line| line["type"] == "mcp_tool_call").collect();
    (denied.len() >= calls).then(|| denied.last().cloned()).flatten()
}

/// Sends calls of tools along different ways, and reads what became of them.
struct Caller {
    proxy: HttpProxy,
    calls: usize,
}

impl Caller {
    async fn refused(&mut self, text: String) -> Refusal {
        self.calls += 1;
        let log = self.proxy.program.stderr.clone();
        let line = within("the line of the audit log", &log, async {
            loop {
                if let Some(line) = logged(&self.proxy.world, self.calls) {
                    return line;
                }
                // No event tells of another process's file.
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        });
        refusal(text, &line.await)
    }

    async fn call(&mut self, tool: &str, arguments: &Value) -> Refusal {
        let client = self.proxy.client().with_header("Authorization", "Bearer secret-token-of-bob");
        let request = HttpRequest::modern("1", "tools/call", &message::call(tool, &arguments.to_string()));
        let answer = client.send(&request).await.response().await;
        self.refused(text_of(&answer.value())).await
    }

    /// The control socket, as a program sees it that nobody here wrote.
    async fn control(&mut self, tool: &str) -> Refusal {
        let socket = format!("runtime/starlark-mcp-proxy/{}.sock", self.proxy.program.id());
        let mut stream = UnixStream::connect(self.proxy.world.directory.path().join(socket)).await.expect("it listens");
        let params = json!({"name": tool, "arguments": {}});
        let body = json!({"kind": "tool", "key": tool, "params": params, "user": {"sub": "bob"}}).to_string();
        let length = body.len();
        let head = format!("POST /call HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all((head + &body).as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it is text");
        self.refused(answer).await
    }
}

fn refusal(text: String, line: &Value) -> Refusal {
    assert_eq!(line["subject"]["sub"], "bob", "{line}");
    let part = |name: &str| line["policy"][name].as_str().unwrap_or_default().to_owned();
    Refusal { text, by: part("by"), why: part("why"), at: line["policy"]["at"].clone() }
}

/// The same call by the command, in a process of its own.
async fn by_command(tool: &str) -> Refusal {
    let world = world();
    let finished = world.run(["call", tool, "--as-user", "bob"]).await;
    assert_ne!(finished.code, 0, "{}", finished.stdout);
    let line = logged(&world, 1).unwrap_or_else(|| panic!("nothing in the audit log: {}", finished.stderr));
    refusal(finished.stdout + &finished.stderr, &line)
}

#[tokio::test]
async fn every_refusal_is_the_same_whichever_way_a_call_comes() {
    let mut bob = Caller { proxy: world().http().await, calls: 0 };
    // Given a reason, whether every way can say the same text (an unknown name is an error of the protocol where the client
    // names it, and a result with similar names where a script does), and what the record says.
    let reasons = [
        ("scoped", "scope", true, "this requires the scope write"),
        ("nothing", "unknown", false, "no such item is published"),
        ("secret", "policy", false, r#"call_tool Tool::"secret": a.cedar:3"#),
        ("hooked", "on_request", true, "closed today"),
        ("typed", "schema", true, "the arguments do not match the published schema"),
        // What several refuse, the first of them refuses: scopes, policies, the script, the schema.
        ("all_of_it", "scope", true, "this requires the scope write"),
        ("all_but_scopes", "policy", true, r#"call_tool Tool::"all_but_scopes": a.cedar:4"#),
    ];
    for (tool, by, is_one_text, why) in reasons {
        // when the client calls the tool,
        let direct = bob.call(tool, &json!({})).await;
        assert_eq!(direct.by, by, "{direct:?}");
        assert!(direct.why.starts_with(why), "{direct:?}");
        // then another way gives the same answer,
        for way in ["by_index", "by_code", "composed"] {
            let mut other = bob.call(way, &json!({"tool": tool})).await;
            if way == "by_code" {
                // A code-mode script is told in which line it was, and which of its calls.
                let named = format!("`{tool}`: ");
                let told = other.text.split_once(&named).unwrap_or_default().1;
                other.text = told.trim_end_matches(" (line 1 of the script)").to_owned();
            }
            assert_eq!((&other.by, &other.why, &other.at), (&direct.by, &direct.why, &direct.at), "{tool} {way}");
            match is_one_text {
                true => assert_eq!(other.text, direct.text, "{tool} {way}"),
                false => assert!(other.text.starts_with(&format!("there is no tool `{tool}`")), "{}", other.text),
            }
        }
        // also where the operator calls in bob's name.
        let other = bob.control(tool).await;
        assert_eq!((&other.by, &other.why, &other.at), (&direct.by, &direct.why, &direct.at), "{tool} by the socket");
        if is_one_text {
            let written = Value::from(direct.text.as_str()).to_string();
            assert!(other.text.contains(written.trim_matches('"')), "{tool}: {} lacks {written}", other.text);
            // The command looks an unknown name up before it calls, so there is no call to record.
            let other = by_command(tool).await;
            assert_eq!((&other.by, &other.why, &other.at), (&direct.by, &direct.why, &direct.at), "{tool} by command");
            assert!(other.text.contains(&direct.text), "{tool}: {} lacks {}", other.text, direct.text);
        }
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_audited_is_refused_whichever_way_it_goes() {
    // Given an audit log that is required and has little room,
    let program = programs::proxy().get_program().to_string_lossy().into_owned();
    let world = world_with("audit: {file: audit.jsonl, required: true, arguments: full}");
    let world = world.stand_in(&format!("trap '' XFSZ; ulimit -f 400; exec '{program}' \"$@\"\n"));
    let proxy = world.http().await;
    let large = json!({"n": 1, "text": "x".repeat(20_000)}).to_string();
    let mut client = proxy.client().with_header("Authorization", "Bearer secret-token-of-bob");
    // when calls have filled it,
    let refused = |text: &str| text.starts_with("the audit log cannot be written");
    let log = proxy.program.stderr.clone();
    let direct = within("a refusal", &log, async {
        loop {
            let text = text_of(&client.modern_call("typed", &large).await.value());
            if refused(&text) {
                return text;
            }
        }
    });
    let direct = direct.await;
    // then nothing runs any more, whatever would call the tool.
    for way in ["by_index", "by_code", "composed"] {
        let answer = client.modern_call(way, r#"{"tool": "typed"}"#).await;
        assert_eq!(text_of(&answer.value()), direct, "{way}");
    }
}

#[tokio::test]
async fn what_is_hidden_reads_like_what_does_not_exist_also_without_its_scopes() {
    let bob = Caller { proxy: world().http().await, calls: 0 };
    let mut client = bob.proxy.client().with_header("Authorization", "Bearer secret-token-of-bob");
    // Given a tool that the policies hide and whose scopes bob lacks, and one that does not exist,
    for way in ["by_index", "by_code", "composed"] {
        let mut told = Vec::new();
        for tool in ["secret_and_scoped", "secret_and_nothing"] {
            let answer = client.modern_call(way, &json!({ "tool": tool }).to_string()).await;
            let text = text_of(&answer.value()).replace(tool, "NAME");
            // What follows are names that bob may know and that are similar.
            told.push(text.split(';').next().unwrap_or_default().to_owned());
        }
        // then a script that calls them for bob tells the same of both.
        assert!(told[0].contains("there is no tool `NAME`"), "{way}: {told:?}");
        assert_eq!(told[0], told[1], "{way}");
    }
}

#[tokio::test]
async fn a_refused_call_that_the_script_makes_up_for_is_no_refusal_of_the_request() {
    let mut proxy = world().http().await;
    let script = SCRIPT.replace(
        "def composed(args):",
        "def composed(args):\n    index.call(args[\"tool\"], {})\n    return \"fine\"\n\ndef unused(args):",
    );
    std::fs::write(proxy.world.directory.path().join("s.star"), script).expect("it is written");
    let mut client = proxy.client().with_header("Authorization", "Bearer secret-token-of-bob");
    let log = proxy.program.stderr.clone();
    within("the new script", &log, async {
        while text_of(&client.modern_call("composed", r#"{"tool": "typed"}"#).await.value()) != "fine" {}
    })
    .await;
    proxy.program.terminate();
    proxy.program.exit().await;
    let line = logged(&proxy.world, 1).expect("a line");
    assert_eq!((&line["outcome"], &line["policy"]["by"]), (&json!("success"), &Value::Null), "{line}");
}
