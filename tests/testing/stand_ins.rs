//! The network, commands and extensions in tests.

use super::{fails, folder};
use crate::support::finished::Finished;

const WEB: &str = "
def user(params):
    answer = http.get(\"https://api.example.com/users/\" + params[\"id\"], params = {\"v\": \"1\"}, headers = {\"Accept\": \"application/json\"})
    if not answer[\"success\"]:
        return error(\"status %d\" % answer[\"status_code\"])
    return answer[\"json\"]

def rename(params):
    return http.post(\"https://api.example.com/users\", json_body = params)[\"status_code\"]

def last_commit(params):
    result = exec.run(\"git\", [\"log\", \"-1\"])
    return result[\"stdout\"] if result[\"success\"] else error(result[\"stderr\"])

def forbidden(params):
    return exec.run(\"rm\", [\"-r\", \"/\"])[\"stdout\"]

def elsewhere(params):
    return http.get(\"https://other.example.com/\")[\"body\"]

def patient(params):
    time.sleep(3600)
    log(\"patient\")
    return time.now()

def shout(params):
    return exec.run(\"echo\", [params[\"text\"]])[\"stdout\"]

def describe_extension():
    return Extension(
        name = \"web\", version = \"1.0.0\", description = \"\", allowed_exec = [\"echo\", \"git\"], allowed_hosts = [\"api.example.com\"],
        tools = [
            Tool(name = \"last_commit\", description = \"\", handler = last_commit),
            Tool(name = \"forbidden\", description = \"\", handler = forbidden),
            Tool(name = \"patient\", description = \"\", handler = patient),
            Tool(name = \"user\", description = \"\", handler = user, parameters = [ToolParameter(name = \"id\", param_type = \"string\", default = \"1\")]),
            Tool(name = \"shout\", description = \"\", handler = shout, parameters = [ToolParameter(name = \"text\", param_type = \"string\", required = True)]),
        ],
    )
";

async fn beside_web(text: &str) -> Finished {
    let text = format!(
        "load(\"web\", \"elsewhere\", \"forbidden\", \"last_commit\", \"patient\", \"rename\", \"shout\", \"user\")\n{text}"
    );
    folder(&[("web.star", WEB), ("web_test.star", &text)]).run(["test", "web_test.star"]).await
}

#[tokio::test]
async fn rules_answer_for_the_network() {
    beside_web(
        "
def test_http():
    net = testing.http({
        \"https://api.example.com/users/7*\": {\"json\": {\"name\": \"Ann\"}},
        \"GET https://api.example.com/users/*\": {\"status_code\": 404},
        \"POST https://api.example.com/users\": [{\"status_code\": 201}, {\"error\": \"connection reset\"}],
    })
    testing.eq(user({\"id\": \"7\"}), {\"name\": \"Ann\"})
    testing.eq(user({\"id\": \"8\"})[\"content\"][0][\"text\"], \"status 404\")
    testing.eq(rename({\"name\": \"Bob\"}), 201)
    testing.raises(lambda: rename({}), \"connection reset\")
    testing.eq(net.requests()[0], {
        \"method\": \"GET\", \"url\": \"https://api.example.com/users/7\", \"params\": {\"v\": \"1\"}, \"headers\": {\"Accept\": \"application/json\"},
    })
    testing.eq(net.requests()[2][\"json_body\"], {\"name\": \"Bob\"})

def test_later_rules_come_first():
    testing.http({\"*\": {\"json\": 1}})
    testing.http({\"*/users/7*\": {\"json\": 2}})
    testing.eq((user({\"id\": \"7\"}), user({\"id\": \"8\"})), (2, 1))

def test_mistakes():
    testing.raises(lambda: testing.http({\"*\": {\"stauts\": 1}}), \"unknown key `stauts` in a reply of testing.http()\")
    testing.raises(lambda: testing.http([]), \"takes a dict\")
    testing.raises(lambda: testing.exec({\"x\": 1}), \"must be a string, a dict, or a function that returns one\")
",
    )
    .await
    .expect(0);
}

#[tokio::test]
async fn rules_answer_for_commands() {
    beside_web(
        "
def test_exec():
    commands = testing.exec({\"git log *\": [\"abc\", {\"exit_code\": 128, \"stderr\": \"not a repository\"}]})
    testing.eq(last_commit({}), \"abc\")
    testing.eq(last_commit({})[\"content\"][0][\"text\"], \"not a repository\")
    testing.eq(commands.requests()[0], {\"command\": \"git\", \"args\": [\"log\", \"-1\"], \"stdin\": None, \"cwd\": None, \"env\": {}})
",
    )
    .await
    .expect(0);
}

#[tokio::test]
async fn what_no_rule_is_for_fails_the_test_even_if_the_tool_hides_it() {
    let finished = beside_web(
        "
def test_plain():
    testing.http({\"https://third.example.com/*\": \"\"})
    user({\"id\": \"7\"})

def test_hidden():
    testing.http({})
    attempt(user, {\"id\": \"7\"})

def test_used_up():
    testing.exec({\"git *\": [\"once\"]})
    last_commit({})
    last_commit({})

def test_in_a_session():
    testing.exec({})
    testing.extension(\"web.star\").call(\"last_commit\")
",
    )
    .await
    .expect(1);
    let asked = "no rule of testing.http() matches `GET https://api.example.com/users/7?v=1`";
    assert_eq!(finished.stdout.matches(asked).count(), 2, "{}", finished.stdout);
    let used = "rule `git *` of testing.exec() has no reply left for `git log -1`";
    assert!(finished.stdout.contains(used), "{}", finished.stdout);
    assert!(finished.stdout.contains("0 passed, 4 failed"), "{}", finished.stdout);
    // Also where the tool hides it.
    assert_eq!(finished.stdout.matches(" --> web.star:").count(), 4, "{}", finished.stdout);
}

#[tokio::test]
async fn without_rules_tools_do_what_their_extension_may_do() {
    let finished = beside_web(
        "
def test_allowed():
    testing.eq(shout({\"text\": \"hi\"}), \"hi\\n\")

def test_not_allowed():
    forbidden({})
",
    )
    .await
    .expect(1);
    assert!(finished.stdout.contains("ok    web_test.star::test_allowed\n"), "{}", finished.stdout);
    let refused = "error: the command `rm` is not allowed: `allowed_exec` of the extension has \"echo\", \"git\"\n";
    assert!(finished.stdout.contains(refused), "{}", finished.stdout);
}

#[tokio::test]
async fn an_extension_is_used_as_a_client_uses_it() {
    beside_web(
        "
def test_defaults_and_checks():
    e = testing.extension(\"web.star\")
    testing.contains(e.tool_names(), \"shout\")
    testing.eq(unwrap(e.call(\"shout\", {\"text\": \"hi\"})), \"hi\\n\")
    testing.contains(e.call(\"shout\", {})[\"content\"][0][\"text\"], \"text\")

def test_behind_a_policy():
    s = testing.session(preset = \"default\", extensions = [\"//web.star\"], config = {\"aggregation\": {\"conflictResolution\": \"prefix\"}})
    testing.contains(s.tool_names(), \"web_shout\")
    testing.eq(unwrap(s.call(\"web_shout\", {\"text\": \"x\"})), \"x\\n\")
",
    )
    .await
    .expect(0);
    let told = fails("def test_it():\n    testing.extension(\"nowhere.star\")\n").await;
    assert!(told.contains("nowhere.star` cannot be read"), "{told}");
}

#[tokio::test]
async fn a_function_of_the_request_answers_too() {
    beside_web(
        "
def user_of(request):
    return {\"json\": {\"asked\": request[\"url\"], \"v\": request[\"params\"][\"v\"]}}

def git(command):
    return {\"stdout\": \" \".join(command[\"args\"])}

def test_called_directly():
    testing.http({\"*/users/*\": user_of, \"POST *\": [lambda request: {\"status_code\": 201}, {\"status_code\": 409}]})
    testing.eq(user({\"id\": \"7\"}), {\"asked\": \"https://api.example.com/users/7\", \"v\": \"1\"})
    testing.eq((rename({}), rename({})), (201, 409))

def test_behind_a_session():
    testing.http({\"*\": user_of})
    testing.exec({\"git *\": git})
    e = testing.extension(\"web.star\")
    testing.eq(unwrap(e.call(\"user\", {\"id\": \"8\"}))[\"asked\"], \"https://api.example.com/users/8\")
    testing.eq(unwrap(e.call(\"last_commit\", {})), \"log -1\")
",
    )
    .await
    .expect(0);
    let finished = beside_web(
        "
def test_hidden():
    testing.http({\"*\": lambda request: testing.eq(request[\"method\"], \"POST\")})
    attempt(user, {\"id\": \"7\"})

def test_hidden_behind_a_session():
    testing.http({\"*\": lambda request: {\"stauts\": 1}})
    testing.extension(\"web.star\").call(\"user\", {})
",
    )
    .await
    .expect(1);
    assert!(finished.stdout.contains("expected \"POST\""), "{}", finished.stdout);
    assert!(
        finished.stdout.contains("unknown key `stauts` in a reply of testing.http(); did you mean `status`?"),
        "{}",
        finished.stdout
    );
    assert!(finished.stdout.contains("0 passed, 2 failed"), "{}", finished.stdout);
}

#[tokio::test]
async fn what_an_extension_may_not_do_it_may_not_do_in_a_test_either() {
    beside_web(
        "
def test_rules_do_not_allow_more():
    commands = testing.exec({\"*\": \"gone\"})
    net = testing.http({\"*\": \"secrets\"})
    testing.raises(lambda: forbidden({}), \"`rm` is not allowed\")
    testing.raises(lambda: elsewhere({}), \"`other.example.com` (port 443) is not in `allowed_hosts`\")
    testing.contains(testing.extension(\"web.star\").call(\"forbidden\", {})[\"content\"][0][\"text\"], \"not allowed\")
    testing.eq((commands.requests(), net.requests()), ([], []))
",
    )
    .await
    .expect(0);
    // A library has declared nothing: that is for those who load it.
    let library = "def files(params):\n    return exec.run(\"ls\")[\"stdout\"]\n";
    let test = "load(\"lib\", \"files\")\n\ndef test_it():\n    testing.exec({\"ls\": \"a b\"})\n    testing.eq(files({}), \"a b\")\n";
    folder(&[("lib.star", library), ("lib_test.star", test)]).run(["test", "lib_test.star"]).await.expect(0);
}

#[tokio::test]
async fn a_tool_that_waits_takes_no_time_and_what_it_logs_can_be_read() {
    beside_web(
        "
def test_waiting():
    before = time.now()
    testing.eq(patient({}) - before, 3600)
    e = testing.extension(\"web.star\")
    e.call(\"patient\", {})
    testing.eq([(line[\"message\"], line[\"extension\"], line[\"tool\"]) for line in e.log()], [(\"patient\", \"web\", \"patient\")])
",
    )
    .await
    .expect(0);
}

#[tokio::test]
async fn what_a_script_logs_at_its_top_level_is_in_the_log_of_the_session() {
    let script = "log(\"deciding\", level = \"audit\", about = \"x\")\npassthrough()\n";
    let test = "def test_it():\n    s = testing.session(script = \"policy.star\")\n    testing.eq(s.log(), [{\"level\": \"audit\", \"message\": \"deciding\", \"about\": \"x\"}])\n";
    folder(&[("policy.star", script), ("a_test.star", test)]).run(["test", "a_test.star"]).await.expect(0);
}
