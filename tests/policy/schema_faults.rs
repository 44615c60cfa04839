//! Schemas that are not valid or too large: a script cannot publish them, and a server's own is passed on with a warning.

use super::{serving, world};
use crate::support::message::member;

const PLAIN: &str = r#"{"name":"plain","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}"#;
/// What no validator can use, with numbers spelled in an odd way.
const BROKEN: &str =
    r#"{"name":"broken","inputSchema":{"type":"object","properties":{"n":{"type":"strng","x":1.10}}}}"#;

async fn refusal(script: &str) -> (String, String) {
    let proxy = world(&[PLAIN, BROKEN], script);
    let checked = proxy.run(["check", "--live"]).await.expect(1);
    let served = proxy.refused().await;
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

/// A tool whose argument `v` has nested alternatives: `levels` schemas, each of which allows the next one twice.
fn doubling(levels: usize) -> String {
    let schema =
        |level| format!(r##""l{level}":{{"anyOf":[{{"$ref":"#/$defs/l{0}"}},{{"$ref":"#/$defs/l{0}"}}]}}"##, level + 1);
    let schemas: Vec<String> = (0..levels).map(schema).collect();
    let schemas = schemas.join(",");
    format!(
        r##"{{"name":"doubling","inputSchema":{{"type":"object","x":1.10,"properties":{{"v":{{"$ref":"#/$defs/l0"}}}},"$defs":{{{schemas},"l{levels}":{{"type":"integer"}}}}}}}}"##
    )
}

#[tokio::test]
async fn a_schema_of_a_server_that_is_too_large_is_passed_on_with_one_warning_and_arguments_unchecked() {
    let script = "meta, call = backends()[\"fake\"].tools()[0]\npublish(meta, lambda args: {\"got\": args})\n";
    let mut proxy = serving(&[&doubling(26)], script).await;
    let listed = proxy.client.request("tools/list", "{}").await.result();
    let tools = member(&listed, "tools").expect("a list has tools");
    assert!(tools.contains(doubling(26).split_once(r#""inputSchema":"#).expect("it has one").1), "{tools}");
    assert_eq!(proxy.client.call("doubling", r#"{"v":"x"}"#).await.structured(), r#"{"got":{"v":"x"}}"#);
    proxy.client.stderr().line("too large to be used").await;
    let log = proxy.client.stderr().text();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("too large to be used")).collect();
    assert_eq!(warnings.len(), 1, "{log}");
    assert!(warnings[0].contains("more than 100000 schemas") && warnings[0].contains("arguments unchecked"), "{log}");
}

#[tokio::test]
async fn a_schema_of_the_script_that_is_too_large_is_refused_at_its_line() {
    let (checked, served) = refusal(
        r##"schemas = {"l%d" % n: {"anyOf": [{"$ref": "#/$defs/l%d" % (n + 1)}] * 2} for n in range(26)}
schemas["l26"] = {"type": "integer"}
publish(metadata("mine", "", {"type": "object", "properties": {"v": {"$ref": "#/$defs/l0"}}, "$defs": schemas}, {}), lambda args: "")
"##,
    )
    .await;
    for told in [checked, served] {
        assert!(told.contains("the `parameters` of `mine` is too large to be used"), "{told}");
        assert!(told.contains("policy.star:3:"), "{told}");
    }
}

#[tokio::test]
async fn arguments_that_match_none_of_thousands_of_alternatives_are_refused_with_one_short_message() {
    let script = "meta, call = backends()[\"fake\"].tools()[0]\npublish(meta, lambda args: {\"got\": args})\n";
    let mut proxy = serving(&[&doubling(13)], script).await;
    assert_eq!(proxy.client.call("doubling", r#"{"v":1}"#).await.structured(), r#"{"got":{"v":1}}"#);
    let answer = proxy.client.call("doubling", r#"{"v":"x"}"#).await.result();
    assert!(answer.contains("does not match any of the alternatives"), "{answer}");
    assert!(answer.len() < 500, "{answer}");
}
