//! Servers under test that list something else than what was approved.

use super::fails;
use crate::support::finished::Finished;

const CAREFUL: &str = "
for name, backend in backends().items():
    for meta, call in backend.tools():
        state = meta.lock.state
        publish(meta.replace(description = state + \" \" + \",\".join(meta.lock.changed)), call)
";

async fn careful(text: &str) -> Finished {
    super::folder(&[("careful.star", CAREFUL), ("careful_test.star", text)]).run(["test", "careful_test.star"]).await
}

#[tokio::test]
async fn a_script_sees_what_changed_and_a_held_tool_is_not_called() {
    careful(
        "
before = [testing.tool(\"same\"), testing.tool(\"told\", \"old\"), testing.tool(\"held\"), testing.tool(\"gone\")]
needs = {\"type\": \"object\", \"properties\": {\"key\": {}}, \"required\": [\"key\"]}
now = [testing.tool(\"same\", returns = \"a\"), testing.tool(\"told\", \"new\", returns = \"b\"), testing.tool(\"held\", parameters = needs), testing.tool(\"new\")]

def test_states():
    server = testing.backend(tools = now, approved = before)
    s = testing.session(script = \"careful.star\", backends = {\"notes\": server})
    told = {tool[\"name\"]: tool[\"description\"] for tool in s.tools()}
    testing.eq(told, {\"same\": \"same \", \"told\": \"changed description\", \"held\": \"held inputSchema\"})
    testing.eq(unwrap(s.call(\"told\")), \"b\")
    testing.raises(lambda: s.call(\"told\", {\"context\": 1}), \"there is no argument `context`\")
    testing.contains(s.call(\"held\", {\"key\": 1})[\"content\"][0][\"text\"], \"it requires `key` now\")
    testing.eq(s.calls(\"notes\"), [{\"tool\": \"told\", \"args\": {}}])

def test_modes():
    for mode, expected in [(\"warn\", [\"same\", \"told\", \"held\", \"new\"]), (\"block\", [\"same\", \"told\", \"held\"])]:
        server = testing.backend(tools = now, approved = before, lock = mode)
        s = testing.session(script = \"careful.star\", backends = {\"notes\": server})
        testing.eq([tool[\"name\"] for tool in s.tools()], expected)
        testing.eq(s.call(\"told\").get(\"isError\", False), mode == \"block\")
",
    )
    .await
    .expect(0);
}

#[tokio::test]
async fn a_mode_that_is_none_and_an_item_that_is_none_are_errors() {
    let told = fails("def test_it():\n    testing.backend(approved = [1])\n").await;
    assert!(told.contains("`approved` must be a list of testing.tool(...)"), "{told}");
    let told = fails("def test_it():\n    testing.backend(approved = [], lock = \"frozen\")\n").await;
    assert!(told.contains("`lock` must be \"warn\", \"freeze\" or \"block\""), "{told}");
}
