//! `docs/reference/builtins.md` is written from the doc comments. `UPDATE_DOCS=1 cargo test reference` rewrites it. Every
//! example in it runs: at the top level of a session script, or as the handler of a tool that is called.

use std::fs;

use proxy_author::reference::{BuiltinEntry, Group, When, entries, page};
use proxy_script::Source;

use super::{root, scripts};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

#[test]
fn the_reference_of_the_built_ins_is_fresh() {
    let path = root().join("docs/reference/builtins.md");
    let wanted = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("cannot make the folder");
        fs::write(&path, &wanted).expect("cannot write the reference");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/reference/builtins.md is old: run `UPDATE_DOCS=1 cargo test reference`");
}

#[test]
fn every_built_in_is_documented() {
    for entry in entries() {
        assert!(!entry.text.trim().is_empty(), "`{}` has no documentation", entry.name);
    }
}

#[test]
fn the_documentation_says_when_a_built_in_can_be_called() {
    let when = |name: &str| entries().iter().find(|entry| entry.name == name).map(|entry| entry.when);
    for name in ["publish", "publish_resource", "publish_resource_template", "publish_prompt", "passthrough"] {
        assert_eq!(when(name), Some(When::Top), "{name}");
    }
    // The members of `state` are marked by their module.
    let handlers = ["check_rate_limit", "check_rate_limits", "elicit", "parallel", "run_script", "search_index.call"];
    for name in handlers.into_iter().chain(["sleep", "time.now", "time.sleep", "state.get", "http.get"]) {
        assert_eq!(when(name), Some(When::Handler), "{name}");
    }
    assert_eq!(when("json.decode"), Some(When::Always));
}

/// What the examples speak of without making it.
const PRELUDE: &str = "\
load(\"@proxy//lib@1.star\", \"aggregate\")
backend = backends()[\"github\"]
tool = backend.tools()[0]
meta, call = tool
index = search_index(aggregate(backends()))
result = {\"content\": [{\"type\": \"text\", \"text\": \"{}\"}]}
text = \"{}\"

def forecast(args):
    return result

def headlines(args):
    return result

def delete(args):
    return result
";

/// What the handlers that examples define are called with.
const ARGUMENTS: &str = r#"{"name": "x", "text": "x", "script": "return 1", "today": "monday"}"#;

struct Example {
    /// The built-in, and the how manyeth of its examples.
    name: String,
    text: String,
    entry: &'static BuiltinEntry,
}

fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    for entry in entries() {
        for (number, text) in blocks(&entry.text).into_iter().enumerate() {
            examples.push(Example { name: format!("{}#{}", entry.name, number + 1), text, entry });
        }
    }
    examples
}

fn blocks(text: &str) -> Vec<String> {
    let parts = text.split("```python\n").skip(1);
    parts.filter_map(|part| part.split("```").next()).map(str::to_owned).collect()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// An example that only defines a handler shows nothing until the handler is called.
fn called(text: &str) -> String {
    let names = text.lines().filter_map(|line| line.strip_prefix("def ")?.strip_suffix("(args):"));
    let calls: String = names.map(|name| format!("\n{name}({ARGUMENTS})\n")).collect();
    format!("{text}{calls}")
}

/// An example that publishes is one of the top level, whichever built-in it explains.
fn is_top(example: &Example) -> bool {
    let tops = entries().iter().filter(|entry| entry.when == When::Top);
    tops.into_iter().any(|top| example.text.contains(&format!("{}(", top.name)))
}

/// Of extensions and tests, which are not published.
fn is_local(example: &Example) -> bool {
    matches!(example.entry.group, Group::Extension | Group::Test | Group::TestType(_))
}

/// Every example as the handler of a tool of its own.
fn handlers(examples: &[Example]) -> String {
    let mut script = PRELUDE.to_owned();
    for (number, example) in examples.iter().enumerate() {
        script.push_str(&format!(
            "\n# {}\ndef example_{number}(args):\n{}    return \"ran\"\n\npublish(metadata(\"example_{number}\", \"\", {{}}, {{}}), example_{number})\n",
            example.name,
            indented(&called(&example.text))
        ));
    }
    script
}

#[test]
fn every_example_of_the_top_level_runs() {
    let mut ran = 0;
    for example in examples().iter().filter(|example| is_top(example) && !is_local(example)) {
        let script = format!("{PRELUDE}\n{}", example.text);
        scripts::run(&Source::new(example.name.clone(), script)).unwrap_or_else(|error| panic!("{error}"));
        ran += 1;
    }
    assert!(ran >= 5, "only {ran} examples were found");
}

#[test]
fn what_is_for_handlers_is_refused_at_the_top_level() {
    let mut refused = 0;
    for example in examples().iter().filter(|example| example.entry.when == When::Handler && !is_local(example)) {
        // Without a wrapping function there is nobody who calls it.
        let called =
            format!("{PRELUDE}\nargs = {{}}\ndef example():\n{}\nexample()\n", indented(&called(&example.text)));
        let outcome = scripts::run(&Source::new(example.name.clone(), called));
        let error = outcome.err().unwrap_or_else(|| panic!("`{}` runs at the top level", example.name));
        assert!(error.message.contains("only while a call is handled"), "{}: {error}", example.name);
        refused += 1;
    }
    assert!(refused >= 3, "only {refused} examples were found");
}

#[tokio::test]
async fn what_is_for_the_top_level_is_refused_in_handlers() {
    let mut examples = examples();
    examples.retain(|example| example.entry.when == When::Top && !is_local(example));
    assert!(examples.len() >= 3, "only {} examples were found", examples.len());
    let mut served = serving(&examples);
    served.client.initialize("2025-11-25").await.result();
    for (number, example) in examples.iter().enumerate() {
        let result = served.client.call(&format!("example_{number}"), "{}").await.result();
        let is_refused = result.contains("\"isError\":true") && result.contains("top level");
        assert!(is_refused, "{}:\n{}\n{result}", example.name, example.text);
    }
}

/// A proxy with every example as the handler of a tool of its own.
fn serving(examples: &[Example]) -> StdioProxy {
    let tools = fake_backend(["--only", "search,echo,read", "--resources", "--prompts"]);
    let config = Config::new()
        .server("github", &tools)
        .server("docs", &tools)
        .section("sessionInit: { scriptFile: examples.star }");
    Proxy::new(&config).file("examples.star", &handlers(examples)).stdio()
}

#[tokio::test]
async fn every_example_of_a_handler_runs() {
    let mut examples = examples();
    examples.retain(|example| !is_top(example) && !is_local(example));
    assert!(examples.len() >= 3, "only {} examples were found", examples.len());
    let mut served = serving(&examples);
    served.client.initialize("2025-11-25").await.result();
    for (number, example) in examples.iter().enumerate() {
        let result = served.client.call(&format!("example_{number}"), "{}").await.result();
        assert!(!result.contains("\"isError\":true"), "{}:\n{}\n{result}", example.name, example.text);
    }
}

/// What the examples of extensions reach out for.
const WORLD: &str = r#"
    testing.exec({"git status --short": " M lib.star"})
    testing.http({
        "https://api.example.com/items*": {"json": [{"name": "tea"}]},
        "POST https://api.example.com/items": {"status_code": 201, "json": {"name": "tea"}},
    })
"#;

/// What the examples of tests speak of without making it.
const TESTED: &str = r#"
    s = testing.session(preset = "default", backends = {"db": testing.backend(tools = [testing.tool("db_drop")])})
    parse = lambda text: fail("not a number: " + text)
"#;

/// An example of an extension as the whole of one: as it stands, or as the handler of a tool `example`.
fn extension(example: &Example) -> String {
    if example.text.contains("def describe_extension") {
        return example.text.clone();
    }
    let body = indented(&example.text);
    format!(
        "def example(params):\n{body}    return \"ran\"\n\ndef describe_extension():\n    return Extension(name = \"x\", version = \"1\", allowed_exec = [\"git\"], tools = [Tool(name = \"example\", description = \"\", handler = example)])\n"
    )
}

#[tokio::test]
async fn every_example_of_an_extension_and_of_a_test_runs() {
    let examples = examples();
    let mut proxy = Proxy::with_config_text("");
    let mut tests = String::new();
    let (mut extensions, mut others) = (0, 0);
    for (number, example) in examples.iter().enumerate() {
        match example.entry.group {
            Group::Extension => {
                let file = format!("example_{number}.star");
                proxy = proxy.file(&file, &extension(example));
                let call = if example.text.contains("def describe_extension") {
                    r#"unwrap(s.call("add", {"a": 1, "b": 2})), {"sum": 3}"#
                } else {
                    r#"unwrap(s.call("example", {})), "ran""#
                };
                tests.push_str(&format!(
                    "# {}\ndef test_{number}():{WORLD}    s = testing.extension(\"{file}\")\n    testing.eq({call})\n\n",
                    example.name
                ));
                extensions += 1;
            }
            Group::Test => {
                tests.push_str(&format!(
                    "# {}\ndef test_{number}():{TESTED}{}\n",
                    example.name,
                    indented(&example.text)
                ));
                others += 1;
            }
            _ => {}
        }
    }
    assert!(extensions >= 5 && others >= 5, "only {extensions} and {others} examples were found");
    let finished = proxy.file("examples_test.star", &tests).run(["test", "examples_test.star"]).await;
    assert_eq!(finished.code, 0, "{tests}\n{}\n{}", finished.stdout, finished.stderr);
    assert!(finished.stdout.contains(&format!("{} tests, all passed", extensions + others)), "{}", finished.stdout);
}
