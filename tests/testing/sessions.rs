//! Policies under test: the real script and the real calls, over servers that exist only in the test.

use super::{fails, folder};
use crate::support::finished::Finished;

const POLICY: &str = "
def logged(name, call):
    def handler(args):
        log(\"called\", what = name)
        return call(args)
    return handler

for name, backend in backends().items():
    for meta, call in backend.tools():
        publish(meta.replace(name = name + \"_\" + meta.name), logged(meta.name, call))
passthrough()
";

/// Runs a test file beside `POLICY` in `scripts/policy.star`.
async fn policy(text: &str) -> Finished {
    with_script(POLICY, text).await
}

async fn with_script(script: &str, text: &str) -> Finished {
    folder(&[("scripts/policy.star", script), ("policy_test.star", text)]).run(["test", "policy_test.star"]).await
}

#[tokio::test]
async fn a_session_shows_what_a_client_sees_and_what_reaches_the_servers() {
    policy(
        "
def session():
    db = testing.backend(
        tools = [
            testing.tool(\"drop\", annotations = {\"destructiveHint\": True}, returns = lambda args: {\"dropped\": args[\"table\"]}),
            testing.tool(\"bad\", \"Fails\", fails = \"disk full\"),
        ],
        resources = [testing.resource(\"file:///a\", returns = \"text\"), testing.resource(\"row://{id}\", returns = lambda args: args[\"uri\"])],
        prompts = [testing.prompt(\"ask\", [{\"name\": \"topic\"}], returns = lambda args: \"about \" + args[\"topic\"])],
        instructions = \"Be careful.\",
    )
    return testing.session(script = \"//scripts/policy.star\", backends = {\"db\": db})

def test_lists():
    s = session()
    testing.eq(s.tool_names(), [\"db_drop\", \"db_bad\"])
    testing.eq(s.tools()[0][\"annotations\"], {\"destructiveHint\": True})
    testing.eq([r[\"uri\"] for r in s.resources()], [\"file:///a\"])
    testing.eq([r[\"uriTemplate\"] for r in s.resource_templates()], [\"row://{id}\"])
    testing.eq([p[\"name\"] for p in s.prompts()], [\"ask\"])
    testing.eq(s.instructions(), \"# db\\n\\nBe careful.\")

def test_calls():
    s = session()
    testing.eq(unwrap(s.call(\"db_drop\", {\"table\": \"t\"})), {\"dropped\": \"t\"})
    testing.eq(s.call(\"db_bad\"), {\"isError\": True, \"content\": [{\"type\": \"text\", \"text\": \"disk full\"}]})
    testing.eq(s.read_resource(\"file:///a\"), {\"contents\": [{\"uri\": \"file:///a\", \"text\": \"text\"}]})
    testing.eq(s.read_resource(\"row://7\")[\"contents\"][0][\"text\"], \"row://7\")
    testing.eq(s.get_prompt(\"ask\", {\"topic\": \"cats\"})[\"messages\"][0][\"content\"][\"text\"], \"about cats\")
    testing.eq(s.calls(\"db\"), [
        {\"tool\": \"drop\", \"args\": {\"table\": \"t\"}},
        {\"tool\": \"bad\", \"args\": {}},
        {\"resource\": \"file:///a\"},
        {\"resource\": \"row://7\"},
        {\"prompt\": \"ask\", \"args\": {\"topic\": \"cats\"}},
    ])
    testing.eq(s.log()[0], {\"level\": \"info\", \"message\": \"called\", \"what\": \"drop\", \"tool\": \"db_drop\", \"user\": \"anonymous\"})

def test_two_sessions_are_two():
    one, two = session(), session()
    one.call(\"db_bad\")
    testing.eq((len(one.calls(\"db\")), len(two.calls(\"db\"))), (1, 0))

def test_what_is_not_published_is_not_there():
    s = session()
    testing.raises(lambda: s.call(\"drop\", {\"table\": \"t\"}), \"unknown tool: drop\")
    testing.raises(lambda: s.calls(\"nobody\"), \"unknown server `nobody` in this session\")
    testing.eq(s.calls(\"db\"), [])
",
    )
    .await
    .expect(0);
}

#[tokio::test]
async fn arguments_are_checked_as_for_a_client() {
    policy(
        "
SCHEMA = {\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}, \"required\": [\"n\"]}

def test_by_the_published_schema():
    db = testing.backend(tools = [testing.tool(\"get\", parameters = SCHEMA, returns = \"row\")])
    s = testing.session(script = \"scripts/policy.star\", backends = {\"db\": db})
    testing.contains(s.call(\"db_get\", {\"n\": \"x\"})[\"content\"][0][\"text\"], \"invalid arguments for `db_get`\")
    testing.eq(s.calls(\"db\"), [])

def test_and_by_the_server():
    db = testing.backend(tools = [testing.tool(\"get\", parameters = SCHEMA, returns = \"row\")])
    s = testing.session(preset = \"passthrough\", backends = {\"db\": db})
    testing.contains(s.call(\"get\", {})[\"content\"][0][\"text\"], \"invalid arguments for `get`\")
    testing.eq(unwrap(s.call(\"get\", {\"n\": 1})), \"row\")
",
    )
    .await
    .expect(0);
}

#[tokio::test]
async fn what_is_no_call_is_decided_by_the_other_hook_alone() {
    let script = "
def on_request(request):
    fail(\"never asked\")

def on_other_request(request):
    log(\"asked\", method = request.method, value = request.arguments)
    if request.name == \"file:///secret\" or request.user.sub == \"eve\":
        fail(\"not for you\")
";
    with_script(
        script,
        "
def test_it_refuses():
    s = testing.session(script = \"//scripts/policy.star\")
    s.other_request(\"vendor/x\", \"vendor/x\", {\"q\": 1})
    testing.raises(lambda: s.other_request(\"resources/subscribe\", \"file:///secret\"), \"not for you\")
    testing.eq([(line[\"method\"], line[\"value\"]) for line in s.log()], [(\"vendor/x\", {\"q\": 1}), (\"resources/subscribe\", {})])
    testing.raises(lambda: s.other_request(\"tools/call\", \"x\"), \"`on_request` does\")
    eve = testing.session(script = \"//scripts/policy.star\", user = {\"sub\": \"eve\"})
    testing.raises(lambda: eve.other_request(\"vendor/x\", \"vendor/x\"), \"not for you\")
",
    )
    .await
    .expect(0);
}

#[tokio::test]
async fn the_script_sees_the_user_the_client_the_headers_and_the_config() {
    let script = "
def whoami(args):
    user = current_user()
    return {\"sub\": user.sub, \"groups\": user.groups, \"claims\": user.claims, \"client\": client().name, \"params\": PARAMS}

def on_request(request):
    if request.headers.get(\"x-team\") == \"blocked\":
        fail(\"not for you\")

PARAMS = config()[\"params\"]
NONE = {\"type\": \"object\"}
publish(metadata(\"whoami\", \"\", NONE, {}), whoami)
if \"ops\" in current_user().groups:
    publish(metadata(\"restart\", \"\", NONE, {}), lambda args: \"restarted\")
";
    with_script(
        script,
        "
SCRIPT = \"//scripts/policy.star\"
TEAM = {\"serve\": {\"requestHeaders\": [\"X-Team\"]}}

def test_somebody():
    s = testing.session(
        script = SCRIPT,
        user = {\"sub\": \"ann\", \"groups\": [\"ops\"], \"claims\": {\"level\": 3}},
        client = {\"name\": \"editor\"},
        config = {\"params\": {\"x\": 1}},
    )
    testing.eq(s.tool_names(), [\"whoami\", \"restart\"])
    testing.eq(unwrap(s.call(\"whoami\")), {
        \"sub\": \"ann\", \"groups\": [\"ops\"], \"claims\": {\"level\": 3}, \"client\": \"editor\", \"params\": {\"x\": 1},
    })

def test_nobody_in_particular():
    s = testing.session(script = SCRIPT)
    testing.eq(s.tool_names(), [\"whoami\"])
    testing.eq(unwrap(s.call(\"whoami\"))[\"sub\"], \"anonymous\")

def test_headers():
    s = testing.session(script = SCRIPT, headers = {\"X-Team\": \"blocked\"}, config = TEAM)
    testing.contains(s.call(\"whoami\")[\"content\"][0][\"text\"], \"not for you\")
    s = testing.session(script = SCRIPT, headers = {\"X-Team\": \"red\"}, config = TEAM)
    testing.eq(unwrap(s.call(\"whoami\"))[\"sub\"], \"anonymous\")
    testing.raises(lambda: testing.session(script = SCRIPT, headers = {\"X-Other\": \"1\"}), \"header `x-other` would not reach the script\")
",
    )
    .await
    .expect(0);
}

#[tokio::test]
async fn a_server_that_is_down_is_down_in_the_test_too() {
    policy(
        "
def test_down():
    db = testing.backend(tools = [testing.tool(\"get\")], error = \"connection refused\")
    s = testing.session(script = \"//scripts/policy.star\", backends = {\"db\": db})
    testing.eq(s.tool_names(), [])
    testing.contains(s.call(\"db_get\")[\"content\"][0][\"text\"], \"server `db` is not available: connection refused\")
",
    )
    .await
    .expect(0);
}

#[tokio::test]
async fn config_sections_mean_what_they_mean_in_the_file() {
    policy(
        "
BACKENDS = {
    \"one\": testing.backend(tools = [testing.tool(\"search\", returns = \"one\"), testing.tool(\"extra\")]),
    \"two\": testing.backend(tools = [testing.tool(\"search\", returns = \"two\")]),
}

def test_aggregation():
    s = testing.session(backends = BACKENDS, config = {\"aggregation\": {
        \"conflictResolution\": \"prefix\", \"tools\": [{\"workload\": \"one\", \"filter\": [\"search\"]}],
    }})
    testing.eq(s.tool_names(), [\"one_search\", \"two_search\"])
    testing.eq(unwrap(s.call(\"two_search\")), \"two\")

def test_mistakes_are_told_as_in_the_file():
    testing.raises(lambda: testing.session(backends = BACKENDS, config = {\"aggregaton\": {}}), \"unknown key `aggregaton` (did you mean `aggregation`?)\")
    testing.raises(lambda: testing.session(preset = \"passthrough\", backends = {\"two\": BACKENDS[\"two\"]}, config = {\"aggregation\": {}}), \"`aggregation` is set, but the session script\")
    testing.raises(lambda: testing.session(config = {\"mcpServers\": {}}), \"`config` of a session cannot have `mcpServers`\")
    testing.raises(lambda: testing.session(preset = \"defualt\"), \"unknown preset `defualt`\")
    testing.raises(lambda: testing.session(script = \"//nowhere.star\"), \"cannot read the session script\")
    testing.raises(lambda: testing.session(user = {\"name\": \"ann\"}), \"`user` needs a `sub`\")
    testing.raises(lambda: testing.session(client = {\"capabilites\": {}}), \"unknown key `capabilites` in `client`\")
    testing.raises(lambda: testing.session(answers = [{\"action\": \"maybe\"}]), \"unknown `action` `maybe`\")
",
    )
    .await
    .expect(0);
}

#[tokio::test]
async fn a_script_that_fails_is_shown_with_its_own_line() {
    let finished = with_script(
        "x = 1\nfail(\"no such luck\")\n",
        "def test_it():\n    testing.session(script = \"//scripts/policy.star\")\n",
    )
    .await
    .expect(1);
    assert!(finished.stdout.contains("error: no such luck\n --> policy_test.star:2:5"), "{}", finished.stdout);
    assert!(finished.stdout.contains("--> scripts/policy.star:2:1"), "{}", finished.stdout);
}

#[tokio::test]
async fn a_function_of_the_test_that_fails_is_shown_where_it_fails() {
    let told = fails(
        "
def broken(args):
    fail(\"in the fake\")

def test_it():
    x = testing.backend(tools = [testing.tool(\"t\", returns = broken)])
    testing.session(preset = \"passthrough\", backends = {\"x\": x}).call(\"t\")
",
    )
    .await;
    assert!(told.starts_with("error: in the fake\n --> a_test.star:3:5"), "{told}");
    assert!(told.ends_with("call stack:\n  a_test.star:7 in test_it\n  a_test.star:3 in broken"), "{told}");
}

#[tokio::test]
async fn sessions_belong_into_tests() {
    let finished = super::tested("s = testing.session(preset = \"default\")\n").await.expect(1);
    let expected =
        "error: `testing.session()` is available only while a test runs, not at the top level\n --> a_test.star:1:5";
    assert!(finished.stdout.contains(expected), "{}", finished.stdout);
}
