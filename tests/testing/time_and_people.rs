//! Questions, rate limits, what is remembered, and the clock that moves them.

use super::{fails, folder, passes};

const POLICY: &str = "
def approved(call):
    def handler(args):
        calls = state.incr(\"calls\")
        answer = elicit(\"Really?\", {\"type\": \"object\", \"properties\": {\"why\": {\"type\": \"string\"}}}, when_unavailable = \"reject\")
        if answer.action != \"accept\":
            return error(\"declined\")
        return {\"result\": unwrap(call(args)), \"calls\": calls, \"why\": answer.content.get(\"why\", \"\")}
    return handler

def limited(args):
    allowed, retry_after = check_rate_limit(\"all\", 2, 60)
    return \"in\" if allowed else error(\"wait %d s\" % retry_after)

def remembered(args):
    if state.get(\"x\") == None:
        state.set(\"x\", 1, ttl = 30)
        return \"new\"
    return \"old\"

def patient(args):
    before = time.now()
    sleep(3600)
    return time.now() - before

NONE = {\"type\": \"object\"}
for meta, call in backends()[\"db\"].tools():
    publish(meta, approved(call))
publish(metadata(\"limited\", \"\", NONE, {}), limited)
publish(metadata(\"remembered\", \"\", NONE, {}), remembered)
publish(metadata(\"patient\", \"\", NONE, {}), patient)
";

const HELPER: &str = "
def session(**more):
    db = testing.backend(tools = [testing.tool(\"drop\", returns = \"gone\")])
    return testing.session(script = \"//policy.star\", backends = {\"db\": db}, **more)
";

async fn run(text: &str, code: i32) -> String {
    let text = format!("{HELPER}\n{text}");
    let proxy = folder(&[("policy.star", POLICY), ("policy_test.star", &text)]);
    proxy.run(["test", "policy_test.star"]).await.expect(code).stdout
}

#[tokio::test]
async fn a_person_answers_in_order() {
    run(
        "
def test_accepted():
    s = session(answers = [{\"action\": \"accept\", \"content\": {\"why\": \"old\"}}, {\"action\": \"decline\"}])
    testing.eq(unwrap(s.call(\"drop\")), {\"result\": \"gone\", \"calls\": 1, \"why\": \"old\"})
    testing.is_true(s.call(\"drop\")[\"isError\"])
    testing.eq([q[\"message\"] for q in s.elicitations()], [\"Really?\", \"Really?\"])
    testing.eq(s.elicitations()[0][\"schema\"][\"properties\"], {\"why\": {\"type\": \"string\"}})
    testing.eq(len(s.calls(\"db\")), 1)

def test_a_client_that_cannot_ask():
    s = session(client = {\"capabilities\": {}})
    testing.eq(s.call(\"drop\")[\"content\"][0][\"text\"], \"declined\")
    testing.eq(s.elicitations(), [])
",
        0,
    )
    .await;
}

#[tokio::test]
async fn answers_that_are_missing_or_left_are_errors() {
    let told = run(
        "
def test_missing():
    session().call(\"drop\")

def test_left():
    session(answers = [{\"action\": \"decline\"}, {\"action\": \"accept\"}]).call(\"drop\")
",
        1,
    )
    .await;
    assert!(told.contains("error: `drop` asked \"Really?\", but no answer is left\n"), "{told}");
    assert!(told.contains("error: 1 answer in `answers` not used: the session asked 1 question\n"), "{told}");
    assert!(told.contains("first unused answer: {\"action\":\"accept\",\"content\":{}}"), "{told}");
}

#[tokio::test]
async fn the_clock_moves_only_when_the_test_moves_it() {
    run(
        "
def test_rate_limit():
    s = session()
    testing.eq([s.call(\"limited\").get(\"isError\", False) for _ in range(3)], [False, False, True])
    testing.contains(s.call(\"limited\")[\"content\"][0][\"text\"], \"wait 30 s\")
    testing.advance(29)
    testing.is_true(s.call(\"limited\")[\"isError\"])
    testing.advance(1)
    testing.eq(unwrap(s.call(\"limited\")), \"in\")

def test_ttl():
    s = session()
    testing.eq((unwrap(s.call(\"remembered\")), unwrap(s.call(\"remembered\"))), (\"new\", \"old\"))
    testing.advance(31)
    testing.eq(unwrap(s.call(\"remembered\")), \"new\")

def test_sleep_takes_no_time():
    testing.eq(unwrap(session().call(\"patient\")), 3600)
",
        0,
    )
    .await;
    let told = fails("def test_it():\n    testing.advance(-1)\n").await;
    assert!(
        told.starts_with("error: testing.advance() takes a finite number of seconds that is not negative"),
        "{told}"
    );
}

#[tokio::test]
async fn handlers_called_directly_have_the_clock_and_the_store_of_the_test() {
    passes(
        "
def handler(args):
    return (state.incr(\"n\", ttl = 10), time.now())

def test_one():
    first, second = handler({}), handler({})
    testing.eq((first[0], second[0]), (1, 2))
    testing.eq(first[1], second[1])
    testing.advance(20)
    third = handler({})
    testing.eq((third[0], third[1] - first[1]), (1, 20))

def test_two():
    testing.eq(handler({})[0], 1)
",
    )
    .await;
}
