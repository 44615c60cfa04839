//! A script that computes without end harms nobody.

use super::{refused, serving};
use crate::support::patience::LONG_PATIENCE;

/// A debug build may run into the time before it has made all its steps.
const STEPS_OR_TIME: [&str; 2] = [
    "the script used more than its limit of 10,000,000 steps",
    "the script used more than its limit of 5000 ms of computing time",
];

const BODIES: &str = "
def spin(args):
    for i in range(1000000000):
        pass

def dive(args):
    return dive(args)

def hoard(args):
    kept, block = [], 'x' * 20000
    for i in range(1000000000):
        kept.append(block + str(i))
";

#[tokio::test]
async fn in_a_handler_the_call_fails_and_the_next_one_works() {
    let script = BODIES.to_owned()
        + "
publish(metadata('spin', '', {}, {}), spin)
publish(metadata('dive', '', {}, {}), dive)
publish(metadata('hoard', '', {}, {}), hoard)
publish(metadata('fine', '', {}, {}), lambda args: 'fine')
";
    let mut proxy = serving("echo", &script).await;
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    let text = proxy.error_of("spin", "{}").await;
    assert!(STEPS_OR_TIME.iter().any(|limit| text.starts_with(limit)), "{text}");
    assert!(text.ends_with("(policy.star:3)"), "{text}");
    assert_eq!(
        proxy.error_of("dive", "{}").await,
        "the script used more than its limit of 200 nested calls (policy.star:7)"
    );
    let text = proxy.error_of("hoard", "{}").await;
    assert!(text.starts_with("the script used more than its limit of 256 MiB of memory"), "{text}");
    assert_eq!(proxy.client.call("fine", "{}").await.text(), "fine");
}

#[tokio::test]
async fn at_the_top_level_the_proxy_does_not_start() {
    let text = refused(&format!("{BODIES}\nspin({{}})\n")).await;
    assert!(STEPS_OR_TIME.iter().any(|limit| text.starts_with(&format!("error: {limit}"))), "{text}");
    assert!(text.contains("policy.star:3:"), "{text}");
    let text = refused(&format!("{BODIES}\ndive({{}})\n")).await;
    assert!(
        text.starts_with("error: the script used more than its limit of 200 nested calls\n --> policy.star:7:"),
        "{text}"
    );
    let text = refused(&format!("{BODIES}\nhoard({{}})\n")).await;
    assert!(text.starts_with("error: the script used more than its limit of 256 MiB of memory"), "{text}");
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn a_search_that_reads_the_text_again_for_every_match_ends_too() {
    let script = r#"
PATTERN = ".*[^A-Z]|[A-Z]"
publish(metadata("find", "", {}, {}), lambda args: len(re.find_all(PATTERN, "A" * 400000)))
publish(metadata("replace", "", {}, {}), lambda args: len(re.sub(PATTERN, "b", "A" * 400000)))
publish(metadata("test", "", {}, {}), lambda args: str(re.test(PATTERN, "A" * 400000)))
publish(metadata("few", "", {}, {}), lambda args: re.sub("(b+)", r"<\1>", "abbbabb", 1) + str(re.find_all("b+", "abbbabb")))
"#;
    let mut proxy = serving("echo", script).await;
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    let mut running = Vec::new();
    for tool in ["find", "replace"] {
        running.push(proxy.client.begin("tools/call", &format!(r#"{{"name":"{tool}","arguments":{{}}}}"#)).await);
    }
    for id in running {
        let text = proxy.client.response(&id).await.text();
        assert!(text.starts_with(STEPS_OR_TIME[1]), "{text}");
    }
    assert_eq!(proxy.client.call("test", "{}").await.text(), "True");
    assert_eq!(proxy.client.call("few", "{}").await.text(), r#"a<bbb>abb["bbb", "bb"]"#);
}

/// The engine's maps can be flooded: their hash has no seed.
#[tokio::test]
async fn an_object_with_a_flood_of_names_is_refused_where_a_script_would_read_it() {
    let script = "
meta, echo = backends()['fake'].tools()[0]
publish(meta, echo)
publish(metadata('read', '', {}, {}), lambda args: len(args))
";
    let mut proxy = serving("echo", script).await;
    let members: Vec<String> = (0..10_001).map(|number| format!("\"name{number}\":1")).collect();
    let arguments = format!("{{{}}}", members.join(","));
    let text = proxy.error_of("read", &arguments).await;
    assert!(text.contains("an object with 10001 members; scripts can read at most 10000"), "{text}");
    let forwarded = proxy.client.call("echo", &arguments).await.value();
    assert!(forwarded["result"].get("isError").is_none(), "what no script reads has no such limit");
}

#[tokio::test]
async fn a_pattern_that_would_take_minutes_is_an_error() {
    let script = r#"
BITS = "".join([str(hash(str(i)) % 2) for i in range(2000)]) * 100
PATTERN = "1[01]{16000}[^01]"
publish(metadata("test", "", {}, {}), lambda args: str(re.test(PATTERN, BITS)))
publish(metadata("match", "", {}, {}), lambda args: str(re.match(PATTERN, BITS)))
publish(metadata("find", "", {}, {}), lambda args: str(re.find_all(PATTERN, BITS)))
publish(metadata("replace", "", {}, {}), lambda args: re.sub(PATTERN, "b", BITS))
publish(metadata("words", "", {}, {}), lambda args: str(re.test(r"^\w{1,64}$", "word" * 50000)))
"#;
    let mut proxy = serving("echo", script).await;
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    for tool in ["test", "find", "replace"] {
        let text = proxy.client.call(tool, "{}").await.text();
        assert!(text.contains("the text is too long for this regular expression"), "{tool}: {text}");
    }
    assert_eq!(proxy.client.call("match", "{}").await.text(), "None");
    assert_eq!(proxy.client.call("words", "{}").await.text(), "False");
}
