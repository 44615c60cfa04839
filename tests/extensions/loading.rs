//! Which files are extensions, what they load, and what is said of those that are wrong.

use serde_json::json;

use super::{one_tool, refused, serving, started, world};

#[tokio::test]
async fn extensions_load_files_beside_and_below_them() {
    let main = "load(\"facts\", \"fact\")\nload(\"facts.star\", same = \"fact\")\nload(\"./lib/x.star\", \"y\")\nnumbers = data.load_json(\"numbers.json\")\n".to_owned()
        + &one_tool("return [fact, same, y, numbers, data.load_text('lib/note.txt')]", "");
    let mut proxy = serving(&[
        ("main.star", &main),
        ("facts.star", "fact = 'cats sleep'\n"),
        ("lib/x.star", "load(\"../facts\", \"fact\")\ny = len(fact)\n"),
        ("lib/note.txt", "a note"),
        ("numbers.json", "[1, 2]"),
        ("main_test.star", "this is no Starlark at all"),
        ("README.md", "nor is this"),
    ])
    .await;
    let told = proxy.data("run", json!({})).await;
    assert_eq!(told["result"], json!(["cats sleep", "cats sleep", 10, [1, 2], "a note"]));
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_place() {
    let tool = |tool: &str| {
        format!(
            "def run(params):\n    pass\n\ndef describe_extension():\n    return Extension(name = 'x', version = '1', tools = [{tool}])\n"
        )
    };
    for (text, expected, place) in [
        ("def describe_extension(:\n".to_owned(), "Parse error", "tools/x.star:1"),
        ("x = undefined_name\n".to_owned(), "`undefined_name`", "tools/x.star:1"),
        ("describe_extension = 1\n".to_owned(), "is not a function", "tools/x.star"),
        ("def describe_extension(a):\n    return a\n".to_owned(), "must take no arguments", "tools/x.star"),
        (
            "def describe_extension():\n    return {}\n".to_owned(),
            "must return Extension(...), not a `dict`",
            "tools/x.star",
        ),
        (
            tool("Tool(name = 'a', description = '', handler = lambda: 1)"),
            "is not a function of one argument",
            "tools/x.star:5",
        ),
        (
            tool("Tool(name = 'a', description = '', handler = lambda one, two: 1)"),
            "is not a function of one argument",
            "tools/x.star:5",
        ),
        (tool("Tool(name = 'a', description = '', handler = 'run')"), "is not a function", "tools/x.star:5"),
        (
            tool(
                "Tool(name = 'a', description = '', handler = run), Tool(name = 'a', description = '', handler = run)",
            ),
            "the extension has two tools `a`",
            "tools/x.star:5",
        ),
        (
            tool(
                "Tool(name = 'a', description = '', handler = run, parameters = [ToolParameter(name = 'p', param_type = 'int', default = 'x')])",
            ),
            "is not of type integer",
            "tools/x.star:5",
        ),
        ("load(\"//../../etc/passwd\", \"x\")\n".to_owned(), "cannot load", "tools/x.star:1"),
        ("x = data.load_json('../proxy.yaml')\n".to_owned(), "outside of the folder", "tools/x.star:1"),
        ("x = exec.run('ls')\n".to_owned(), "`exec.run()` is possible only while a call is handled", "tools/x.star:1"),
        ("x = time.now()\n".to_owned(), "then `Tool(..., handler = handler)`", "tools/x.star:1"),
    ] {
        let said = refused(&[("x.star", &text)]).await;
        assert!(said.contains(expected) && said.contains(place), "{text}\n{said}");
    }
}

#[tokio::test]
async fn two_extensions_of_one_name_are_told_with_both_files() {
    let one = one_tool("return 1", "");
    let said = refused(&[("a.star", &one), ("b.star", &one)]).await;
    assert!(
        said.contains("two extensions are named `one`")
            && said.contains("tools/a.star")
            && said.contains("tools/b.star"),
        "{said}"
    );
}

#[tokio::test]
async fn a_broken_one_is_told_by_every_command_and_spoils_no_other() {
    let world = world(&[("bad.star", "x = undefined_name\n"), ("good.star", &one_tool("return 'fine'", ""))]);
    assert_eq!(world.run(["call", "run"]).await.expect(0).stdout, "fine\n");
    let listed = world.run(["list-tools"]).await.expect(0);
    assert_eq!(listed.column(), ["run"]);
    let missing = world.run(["call", "other"]).await.expect(1);
    assert!(missing.stderr.contains("error: unknown tool `other`"), "{}", missing.stderr);
    let checked = world.run(["check"]).await.expect(1);
    assert!(checked.stdout.contains("1 tool published, 1 error"), "{}", checked.stdout);
    for said in [listed, missing, checked] {
        assert!(said.stderr.contains("`undefined_name`") && said.stderr.contains("bad.star:1"), "{}", said.stderr);
    }
    let live = world.run(["check", "--live", "--json"]).await.expect(1).json();
    assert_eq!((&live["problems"][0]["line"], &live["tools"][0]["name"]), (&json!(1), &json!("run")), "{live}");
}

#[tokio::test]
#[cfg(unix)]
async fn only_files_are_read() {
    let world = world(&[("one.star", &one_tool("return data.load_text(params['path'])", ""))]);
    let pipe = world.directory.path().join("tools/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("it can be run").success());
    std::fs::create_dir(world.directory.path().join("tools/folder")).expect("the folder is new");
    let mut proxy = started(world).await;
    for path in ["pipe", "folder"] {
        let text = proxy.fault("run", json!({"path": path})).await;
        assert!(text.contains(&format!("`{path}` is not a file")), "{text}");
    }
}
