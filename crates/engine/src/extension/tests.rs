//! Loads extensions from text and calls their tools.

use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Extension, ExtensionCallError, bundled::BUNDLED, load};
use proxy_host_io::HostIo;
use proxy_json::{Raw, RawRef};
use proxy_model::{ItemKind, ItemRef};
use proxy_script::{CallOptions, Effects, Host, JournalCursor, Limits, Source, Stop};

struct NoServers;

impl Effects for NoServers {
    fn call(&self, _: &ItemRef, _: &RawRef, _: CallOptions, _: Option<JournalCursor>) -> Result<Raw, Stop> {
        Err(Stop::Cancelled)
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        futures::executor::block_on(future);
        Ok(())
    }

    fn stopped(&self) -> Option<Stop> {
        None
    }
}

fn host_io() -> Arc<HostIo> {
    Arc::new(HostIo::new(vec![("HOME".into(), "/home/ann".into()), ("KEY".into(), "k".into())], None))
}

fn extension(text: &str) -> Extension {
    load(&Source::new("x.star", text), &Limits::SESSION_SCRIPT, &host_io())
        .unwrap_or_else(|error| panic!("{error}"))
        .unwrap()
}

fn fault(text: &str) -> String {
    load(&Source::new("x.star", text), &Limits::SESSION_SCRIPT, &host_io()).unwrap_err().to_string()
}

fn call(extension: &Extension, tool: &str, arguments: Value) -> Result<Value, ExtensionCallError> {
    let tool = extension.find(ItemKind::Tool, tool).unwrap();
    tool.call(&proxy_json::raw(&arguments), Arc::new(Host::outside_request(Arc::new(NoServers))), &Limits::HANDLER)
}

fn with_tool(tool: &str) -> String {
    format!(
        "def run(params):\n    return params\ndef describe_extension():\n    return Extension(name = 'x', version = '1', description = '', tools = [{tool}])\n"
    )
}

#[test]
fn the_bundled_extensions_work() {
    let loaded: Vec<Extension> = BUNDLED
        .iter()
        .map(|bundled| load(&bundled.script(), &Limits::SESSION_SCRIPT, &host_io()).unwrap().unwrap())
        .collect();
    assert_eq!(loaded.iter().map(|extension| extension.name.as_str()).collect::<Vec<_>>(), ["hello", "text"]);
    let [hello, text] = &loaded[..] else { panic!("two") };
    assert_eq!(call(hello, "greet", json!({})).unwrap(), "Hello, World!");
    assert_eq!(call(hello, "greet", json!({"name": "Ann"})).unwrap(), "Hello, Ann!");
    assert_eq!(
        call(text, "count", json!({"text": "a b\nc"})).unwrap(),
        json!({"characters": 5, "words": 3, "lines": 2})
    );
    for (to, expected) in [("snake", "some_words_here"), ("camel", "someWordsHere"), ("upper", "SOMEWORDS HERE")] {
        assert_eq!(call(text, "change_case", json!({"text": "someWords here", "to": to})).unwrap(), expected);
    }
    let found = call(text, "search", json!({"text": "a.b\nacb\nA.B", "pattern": "a.b", "ignore_case": true})).unwrap();
    assert_eq!(found, json!({"matches": [{"line": 1, "text": "a.b"}, {"line": 3, "text": "A.B"}]}));
    assert_eq!(call(text, "fingerprint", json!({"value": 1})).unwrap().as_str().unwrap()[..8], *"6b86b273");
    assert_eq!(call(text, "format_json", json!({"text": "{\"a\":1}"})).unwrap(), "{\n  \"a\": 1\n}");
    assert_eq!(call(text, "format_json", json!({"text": "{"})).unwrap()["isError"], true);
}

#[test]
fn parameters_become_a_schema_with_defaults_of_their_type() {
    let extension = extension(&with_tool(
        "Tool(name = 't', description = 'd', handler = run, title = 'T', parameters = [
            ToolParameter(name = 'n', param_type = 'int', required = True),
            ToolParameter(name = 'f', param_type = 'float', default = '1.5', description = 'a float'),
            ToolParameter(name = 'b', param_type = 'bool', default = 'true'),
            ToolParameter(name = 'l', param_type = 'array', items = 'string', default = '[]'),
            ToolParameter(name = 'e', param_type = 'string', enum = ['x', 'y'])])",
    ));
    let definition: Value = serde_json::from_str(extension.items[0].definition.raw().get()).unwrap();
    assert_eq!(
        definition,
        json!({"name": "t", "title": "T", "description": "d", "inputSchema": {"type": "object", "properties": {
            "n": {"type": "integer"},
            "f": {"type": "number", "description": "a float", "default": 1.5},
            "b": {"type": "boolean", "default": true},
            "l": {"type": "array", "default": [], "items": {"type": "string"}},
            "e": {"type": "string", "enum": ["x", "y"]},
        }, "required": ["n"]}}),
    );
    assert_eq!(call(&extension, "t", json!({"n": 1})).unwrap(), json!({"n": 1, "f": 1.5, "b": true, "l": []}));
    let Err(ExtensionCallError::Arguments(text)) = call(&extension, "t", json!({"n": "x", "e": "z"})) else {
        panic!("bad")
    };
    assert!(text.contains("`n`:") || text.contains("`e`:"), "one of them: {text}");
    assert!(matches!(call(&extension, "t", json!([])), Err(ExtensionCallError::Arguments(_))));
}

#[test]
fn handlers_may_be_closures_and_lambdas() {
    let extension = extension(
        "def make(n):\n    return lambda params: n + params['x']\ndef describe_extension():\n    return Extension(name = 'x', version = '1', description = '', tools = [Tool(name = 't%s' % n, description = '', handler = make(n)) for n in [1, 2]])\n",
    );
    assert_eq!(call(&extension, "t1", json!({"x": 1})).unwrap(), 2);
    assert_eq!(call(&extension, "t2", json!({"x": 1})).unwrap(), 3);
}

#[test]
fn a_file_without_description_is_no_extension() {
    assert!(
        load(&Source::new("lib.star", "def helper():\n    pass\n"), &Limits::SESSION_SCRIPT, &host_io())
            .unwrap()
            .is_none()
    );
}

#[test]
fn what_is_wrong_is_said() {
    for (tool, expected) in [
        ("1", "`tools` must hold Tool(...) only, not a `int`"),
        ("Tool(name = 'a b', description = '', handler = run)", "the tool name \"a b\" is not allowed"),
        (
            "Tool(name = 'a', description = '', handler = 'run')",
            "the handler of the tool `a` is not a function of one argument",
        ),
        ("Tool(name = 'a', description = '', handler = run, parameters = [1])", "must hold ToolParameter(...) only"),
        ("Tool(name = 'a', description = '', handler = run, retries = 1)", "retries"),
        (
            "Tool(name = 'a', description = '', handler = run, parameters = [ToolParameter(name = 'x', param_type = 'strng')])",
            "did you mean `string`?",
        ),
        (
            "Tool(name = 'a', description = '', handler = run, parameters = [ToolParameter(name = 'x', param_type = 'int', default = 'z')])",
            "the default of `x`, \"z\", is not of type integer",
        ),
        (
            "Tool(name = 'a', description = '', handler = run, parameters = [ToolParameter(name = 'x', param_type = 'int')], input_schema = {})",
            "both `parameters` and `input_schema`",
        ),
        (
            "Tool(name = 'a', description = '', handler = run, input_schema = {'type': 'array'})",
            "is not an object schema",
        ),
        (
            "Tool(name = 'a', description = '', handler = run), Tool(name = 'a', description = '', handler = run)",
            "the extension has two tools `a`",
        ),
    ] {
        let text = fault(&with_tool(tool));
        assert!(text.contains(expected), "{tool}: {text}");
    }
    let text = fault("def describe_extension():\n    return {}\n");
    assert!(text.contains("describe_extension() in `x.star` must return Extension(...), not a `dict`"), "{text}");
    for (argument, expected) in [
        ("allowed_exec = 'ls'", "`allowed_exec` of Extension() must be a list of strings"),
        ("allowed_hosts = ['http://x']", "`http://x` in `allowed_hosts` is not a host"),
        ("allowed_paths = [1]", "`allowed_paths` of Extension() must be a list of strings"),
        ("prompts = [1]", "`prompts` must hold Prompt(...) only, not a `int`"),
        ("tools = [Prompt(name = 'p', handler = len)]", "`tools` must hold Tool(...) only, not a `prompt`"),
        ("resources = [Resource(uri = 'x', name = 'x', handler = len)]", "`x` is not a URI"),
        ("resources = [ResourceTemplate(uri_template = 'x://y', name = 'x', handler = len)]", "is not a URI template"),
        ("prompts = [Prompt(name = 'p', handler = len, arguments = ['a', {'name': 'a'}])]", "two arguments `a`"),
        (
            "prompts = [Prompt(name = 'p', handler = lambda: 1)]",
            "the handler of the prompt `p` is not a function of one",
        ),
    ] {
        let text =
            fault(&format!("def describe_extension():\n    return Extension(name = 'x', version = '1', {argument})\n"));
        assert!(text.contains(expected) && text.contains("x.star:2"), "{argument}: {text}");
    }
    for (text, expected) in [
        ("describe_extension = 1\n", "`describe_extension` in `x.star` is not a function"),
        ("def describe_extension(x):\n    return 1\n", "`describe_extension` in `x.star` must take no arguments"),
        ("def describe_extension():\n    retrun 1\n", "x.star:2"),
    ] {
        assert!(fault(text).contains(expected), "{text}: {}", fault(text));
    }
    let text = fault("publish(1, 2)\n");
    assert!(text.contains("Variable `publish` not found"), "{text}");
}

#[test]
fn extensions_load_files_beside_them_by_short_names() {
    let folder = std::env::temp_dir().join(format!("extension-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("lib")).unwrap();
    std::fs::write(folder.join("facts.star"), "fact = 'cats sleep'\n").unwrap();
    std::fs::write(folder.join("lib/x.star"), "y = 1\n").unwrap();
    let text = "load('facts', 'fact')\nload('facts.star', same = 'fact')\nload('./lib/x.star', 'y')\ndef describe_extension():\n    return Extension(name = 'x', version = '1', description = fact)\n";
    let source = Source::at("x.star", text, folder.join("x.star"));
    let extension = load(&source, &Limits::SESSION_SCRIPT, &host_io()).unwrap().unwrap();
    assert_eq!((extension.description.as_str(), extension.files.len()), ("cats sleep", 2));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn variables_are_open_unless_the_extension_names_some() {
    let reads = |declared: &str| {
        format!(
            "home = env.get('HOME')\ndef run(params):\n    return [home, env.get(params['name'], 'none')]\ndef describe_extension():\n    return Extension(name = 'x', version = '1', {declared} tools = [Tool(name = 't', description = '', handler = run)])\n"
        )
    };
    let open = extension(&reads(""));
    assert_eq!(call(&open, "t", json!({"name": "KEY"})).unwrap(), json!(["/home/ann", "k"]));
    assert_eq!(call(&open, "t", json!({"name": "NOT_SET"})).unwrap(), json!(["/home/ann", "none"]));
    let narrow = extension(&reads("allowed_env = ['HOME'],"));
    let text = call(&narrow, "t", json!({"name": "KEY"})).unwrap_err().to_string();
    assert!(text.contains("the variable `KEY` is not in `allowed_env`"), "{text}");
    let text = fault(&reads("allowed_env = ['KEY'],"));
    assert!(text.contains("the variable `HOME` is not in `allowed_env`"), "{text}");
}

#[test]
fn what_touches_the_world_is_for_handlers() {
    for (call, kind) in [
        ("exec.run('ls')", "exec.run"),
        ("http.get('https://example.com')", "http.get"),
        ("uuid.v4()", "uuid.v4"),
        ("sqlite.query(':memory:', 'SELECT 1')", "sqlite.query"),
        ("postgres.execute('x', 'y')", "postgres.execute"),
    ] {
        let text = fault(&format!("x = {call}\n"));
        assert!(text.contains(&format!("`{kind}()` is possible only while a call is handled")), "{call}: {text}");
    }
}

#[test]
fn wrong_arguments_of_modules_are_said() {
    for (call, expected) in [
        ("exec.run('ls', timeout = 0)", "`timeout` must be a number of seconds above 0"),
        ("exec.run('ls', env = ['x'])", "`env` must be a dict of strings, not a `list`"),
        ("exec.run('ls')", "add `allowed_exec = [\"ls\"]`"),
        ("http.get('https://x.test', auth = 'x')", "`auth` must be `(user, password)`"),
        ("http.post('https://x.test', body = 'a', json_body = 1)", "a request has one body"),
        ("http.get('https://x.test', headers = {'a': []})", "`headers` must be a dict of strings; `a` is not one"),
        ("http.get('nonsense')", "invalid URL"),
        ("http.get('http://127.0.0.1/')", "is not a public address"),
        ("data.load_text('/etc/passwd')", "outside of the folder"),
        ("sqlite.query('x.db', 'SELECT 1')", "outside of the folder"),
        ("postgres.query('nonsense', 'SELECT 1')", "invalid connection string"),
    ] {
        let text = format!(
            "def run(params):\n    return {call}\ndef describe_extension():\n    return Extension(name = 'x', version = '1', tools = [Tool(name = 't', description = '', handler = run)])\n"
        );
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let entered = runtime.enter();
        let text = self::call(&extension(&text), "t", json!({})).unwrap_err().to_string();
        assert!(text.contains(expected) && text.contains("(x.star:2)"), "{call}: {text}");
        drop(entered);
    }
}
