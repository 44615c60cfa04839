//! Schemas that are not valid: a script cannot publish them, and a server's own is passed on with a warning.

use super::{serving, world};
use crate::support::message::member;

const PLAIN: &str = r#"{"name":"plain","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}"#;
/// What no validator can use, with numbers spelled in an odd way.
const BROKEN: &str =
    r#"{"name":"broken","inputSchema":{"type":"object","properties":{"n":{"type":"strng","x":1.10}}}}"#;

async fn refusal(script: &str) -> (String, String) {
    let proxy = world(&[PLAIN, BROKEN], script);
    let checked = proxy.run(["check", "--live"]).await.expect(1);
    let served = proxy.run(["serve"]).await.expect(1);
    (format!("{}{}", checked.stdout, checked.stderr), served.stderr)
}

#[tokio::test]
async fn an_invalid_schema_of_the_script_is_refused_at_its_line_with_its_place() {
    let tools = "tools = backends()[\"fake\"].tools()\n";
    for (line, field, place) in [
        (
            r#"publish(tools[0][0].replace(parameters = {"type": "object", "properties": {"n": {"type": "strng"}}}), tools[0][1])"#,
            "`parameters` of `plain`",
            "at `/properties/n/type`: `strng` is not a type",
        ),
        (
            r#"publish(metadata("mine", "", {"type": "object", "properties": {"n": {"pattern": "["}}}, {}), lambda args: "")"#,
            "`parameters` of `mine`",
            "at `/properties/n/pattern`: `[` is not a valid regular expression",
        ),
        (
            r#"publish(tools[0][0].replace(output_schema = {"type": "objekt"}), lambda args: {})"#,
            "`output_schema` of `plain`",
            "at `/type`: `objekt` is not a type",
        ),
        (
            r#"search_index([(tools[0][0].replace(parameters = {"type": "object", "required": "n"}), tools[0][1])])"#,
            "`parameters` of `plain`",
            "at `/required`: ",
        ),
    ] {
        let (checked, served) = refusal(&format!("{tools}{line}\n")).await;
        for told in [&checked, &served] {
            assert!(told.contains(&format!("the {field} is not a valid JSON Schema {place}")), "{line}: {told}");
            assert!(told.contains("policy.star:2:"), "{line}: {told}");
        }
    }
}

#[tokio::test]
async fn an_invalid_schema_of_a_server_is_passed_on_byte_for_byte_with_one_warning() {
    let script =
        "for meta, call in backends()[\"fake\"].tools():\n    publish(meta.replace(description = \"\"), call)\n";
    let mut proxy = serving(&[BROKEN, PLAIN], script).await;
    let listed = proxy.client.request("tools/list", "{}").await.result();
    let tools = member(&listed, "tools").expect("a list has tools");
    assert!(tools.contains(r#"{"type":"object","properties":{"n":{"type":"strng","x":1.10}}}"#), "{tools}");
    assert_eq!(proxy.client.call("broken", r#"{"n":1.10}"#).await.structured(), r#"{"n":1.10}"#);
    // Two more runs of the script.
    for count in [1, 2] {
        proxy.world.directory.write("policy.star", &format!("{}{script}", "# changed\n".repeat(count)));
        proxy.client.stderr().times("reloaded policy.star", count).await;
    }
    let log = proxy.client.stderr().text();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("is not a valid JSON Schema")).collect();
    assert_eq!(warnings.len(), 1, "{log}");
    assert!(warnings[0].contains("`inputSchema` of the tool `broken` of server `fake`"), "{log}");
    assert!(warnings[0].contains("`/properties/n/type`"), "{log}");
}

#[tokio::test]
async fn the_arguments_of_a_wrapped_tool_with_an_invalid_schema_are_unchecked_and_check_says_so() {
    let script =
        "meta, call = backends()[\"fake\"].tools()[0]\npublish(meta, lambda args: {\"got\": args})\npassthrough()\n";
    let proxy = world(&[BROKEN], script);
    let checked = proxy.run(["check", "--live"]).await.expect(0);
    let told = format!("{}{}", checked.stdout, checked.stderr);
    assert!(told.contains("arguments unchecked"), "{told}");
    assert!(told.contains("0 errors, 1 warning"), "{told}");
    // Also from the list as it was last seen.
    let checked = proxy.run(["check"]).await.expect(0);
    assert!(format!("{}{}", checked.stdout, checked.stderr).contains("arguments unchecked"));
    let mut proxy = proxy.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.client.call("broken", r#"{"n":"x"}"#).await.structured(), r#"{"got":{"n":"x"}}"#);
}
