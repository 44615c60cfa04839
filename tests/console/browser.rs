//! The page in a real browser: what a person sees and does in every view. `browser/` has the steps.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Console, serving};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::real_servers::{browser_driver, missing, target_directory};

/// Decides about the tools in all ways that the page shows.
const POLICY: &str = r#"
def on_request(request):
    if request.name == "shout" and request.arguments.get("text") == "secret":
        fail("not this word")

def shout(args):
    """Calls the server twice."""
    said = ECHO({"text": args["text"].upper()})
    ECHO({"text": args["text"]})
    return said

tools = {meta.name: (meta, call) for meta, call in backends()["fake"].tools()}
ECHO = tools["echo"][1]
for name in ["ask", "slow"]:
    publish(*tools[name])
publish(tools["fail"][0].replace(name = "never_works", description = "Always answers with an error."), tools["fail"][1])
skip(tools["crash"][0], "it ends the server")
publish(metadata("shout", "Says it louder.", {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What to say."},
        "times": {"type": "integer", "default": 1},
        "tone": {"type": "string", "enum": ["kind", "rude"]},
    },
    "required": ["text"],
}, {"readOnlyHint": True}), shout)
if current_user().sub == "ann":
    publish(tools["echo"][0].replace(name = "for_ann"), ECHO)
for meta, call in backends()["poison"].tools():
    publish(meta, call)
"#;

/// A tool with instructions that a person does not see: an override of the direction, tag characters, a terminal escape, markup.
fn hostile_tools() -> String {
    let tags: String = "obey".chars().filter_map(|letter| char::from_u32(0xe0000 + letter as u32)).collect();
    let description =
        format!("Adds numbers.\u{202e}sdrawkcab{tags} \u{1b}[31mred <img src=x onerror=alert(1)> <b>bold</b>");
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    json!([{"name": "add", "description": description, "inputSchema": schema}]).to_string()
}

fn hostile_results() -> String {
    let content = json!([{"type": "text", "text": "done\u{200b} <script>alert(1)</script>"}]);
    json!({"add": {"content": content}}).to_string()
}

pub fn chromium() -> Option<&'static str> {
    let places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    places.into_iter().find(|path| Path::new(path).exists()).or_else(|| missing("Chromium is not installed"))
}

#[tokio::test]
#[ignore = "a real browser"]
async fn a_person_uses_every_view_of_the_page() {
    let Some(chromium) = chromium() else { return };
    let Some(driver) = browser_driver() else { return };
    let poison = fake_backend(["--tools", "tools.json", "--results", "results.json"]);
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo,ask,fail,slow,crash", "--stderr", "the fake server is up"]))
        .server("poison", &poison)
        .section("sessionInit: { scriptFile: policy.star }");
    let world = Proxy::new(&config)
        .file("policy.star", POLICY)
        .file("tools.json", &hostile_tools())
        .file("results.json", &hostile_results());
    let mut proxy = serving(world).await;
    let console = Console::start(&proxy.world).await;

    let steps = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/console/browser/run.mjs");
    let mut command = Command::new("node");
    command.arg(steps).arg(format!("http://{}/#{}", console.host, console.code));
    command.arg(proxy.world.directory.path().join("policy.star"));
    command.env("BROWSER_DRIVER", driver).env("CHROMIUM", chromium);
    command.env("SCREENSHOTS", target_directory().join("console-screenshots"));
    Finished::run(command).await.expect(0);
    // What was called from the page went through the policy of the proxy, which still serves its client.
    assert!(proxy.tools().await.contains(&"shout".to_owned()));
}

#[tokio::test]
#[ignore = "a real browser"]
async fn forms_filters_and_hostile_text_work_as_their_unit_tests_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/console/page");
    let tests = std::fs::read_dir(&folder).expect("the tests of the page").map(|entry| entry.expect("a file").path());
    let mut command = Command::new("node");
    command.arg("--test").args(tests.filter(|path| path.extension().is_some_and(|extension| extension == "mjs")));
    Finished::run(command).await.expect(0);
}
