//! A draft that wants more than to decide about tools.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::{Author, copies_of, world};

/// The message of the only test.
fn message(report: &Value) -> &str {
    report["tests"][0]["error"]["message"].as_str().unwrap_or_else(|| panic!("it did not fail: {report:#}"))
}

#[tokio::test]
async fn effects_need_a_double() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut author = Author::start(world().await).await;
    let marker = author.world.directory.path().join("written");
    for (effect, told) in [
        (format!("http.get(\"http://127.0.0.1:{port}/\")"), "`http.get` is not available here"),
        (format!("exec.run(\"touch\", [\"{}\"])", marker.display()), "`exec.run` is not available here"),
        ("data.load_text(\"/etc/passwd\")".to_owned(), "/etc/passwd"),
        ("data.load_text(\"../../../../../../etc/passwd\")".to_owned(), "etc/passwd"),
        ("sqlite.query(\"a.db\", \"create table a (b)\")".to_owned(), "is not available here"),
        ("postgres.query(\"postgres://127.0.0.1/\", \"select 1\")".to_owned(), "is not available here"),
    ] {
        let report = author.tested(&format!("def test_it():\n    {effect}\n")).await;
        assert!(message(&report).contains(told), "{effect}: {report:#}");
        assert!(!report.to_string().contains("root:"), "{report:#}");
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody has connected");
    assert!(!marker.exists());
    assert!(!author.has("a.db"));
    // A double is all that such a test needs.
    let replied = author
        .tested("def test_it():\n    testing.http({\"https://h/\": \"hello\"})\n    testing.eq(http.get(\"https://h/\")[\"body\"], \"hello\")\n")
        .await;
    assert_eq!(replied["passed"], 1, "{replied:#}");
}

#[tokio::test]
async fn an_extension_of_a_draft_has_no_effects_either() {
    let mut author = Author::start(world().await).await;
    let extension = "def describe_extension():\n    def go(args):\n        return exec.run(\"id\").stdout\n    \
                     return Extension(name = \"x\", exec = [\"id\"], tools = [tool(\"go\", go)])\n";
    let test = "def test_it():\n    s = testing.session(script = \"policy.star\", extensions = [\"x.star\"])\n    \
                testing.contains(str(s.call(\"go\")), \"is not available here\")\n";
    let files = json!({"x.star": extension, "policy.star": "passthrough()\n", "x_test.star": test});
    let report = author.data("test", json!({"files": files})).await;
    assert!(!report.to_string().contains("uid="), "{report:#}");
}

#[tokio::test]
async fn a_loop_and_a_value_that_grow_without_end_are_stopped() {
    let mut author = Author::start(world().await).await;
    for (body, told) in [
        ("for i in range(1000000000):\n        pass", "steps"),
        (
            "text = \"x\" * 1000000\n    all = []\n    for i in range(100000):\n        all.append(text + str(i))",
            "memory",
        ),
        ("text = \"x\" * 10000000000", ""),
    ] {
        let answer =
            author.call("test", json!({"files": {"a_test.star": format!("def test_it():\n    {body}\n")}})).await;
        let text = answer.raw.clone();
        assert!(text.contains(told), "{body}: {text}");
        assert!(text.contains("\\\"failed\\\":1") || answer.value()["result"]["isError"] == true, "{body}: {text}");
    }
    // The server is as it was.
    author.tested("def test_it():\n    pass\n").await;
}

#[tokio::test]
#[ignore = "prints for seconds"]
async fn a_gigabyte_of_output_reaches_nobody() {
    let mut author = Author::start(world().await).await;
    let body = "text = \"x\" * 1000000\n    for i in range(1000):\n        print(text)\n    fail(\"done\")";
    let answer = author.call("test", json!({"files": {"a_test.star": format!("def test_it():\n    {body}\n")}})).await;
    assert!(answer.raw.len() < 100_000, "{} bytes: {:.500}", answer.raw.len(), answer.raw);
}

#[tokio::test]
async fn what_hides_in_a_name_or_a_text_is_shown() {
    let mut author = Author::start(world().await).await;
    let report =
        author.call("test", json!({"files": {"a_test.star": "def test_it():\n    fail(\"\\u202eevil\")\n"}})).await;
    assert!(!report.raw.contains('\u{202e}'), "{}", report.raw);
}

#[tokio::test]
async fn calls_leave_nothing_behind() {
    let mut author = Author::start(world().await).await;
    author.tested("def test_it():\n    pass\n").await;
    author.failure("test", json!({"files": {"a.star": "x = 1\n"}})).await;
    assert_eq!(copies_of(author.client.program.id()), Vec::<String>::new());
    assert!(author.client.finish().await.success());
}
