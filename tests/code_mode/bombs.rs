//! Every limit, hit on purpose: an error that names it, soon, and nobody else notices.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{failure, returned, run, started, world};

const TIME: &str = "the script used more than its limit of 2 s (`codeMode.timeout`)";
const MEMORY: &str = "the script used more than its limit of 64 MiB of memory (`codeMode.memory`)";
const OUTPUT: &str =
    "the script used more than its limit of 1 MiB of output, returned and printed (`codeMode.maxOutput`)";
const STEPS: &str = "the script used more than its limit of 1000000 steps";
const CALLS: &str = "the script used more than its limit of 5 tool calls (`codeMode.maxCalls`)";
const NESTED: &str = "this is nested too deeply: more than 1000";
const FRAMES: &str = "the script used more than its limit of 200 nested calls";
const DEPTH: &str = "the script, or a value of it, is nested too deeply";
const SOURCE: &str = "bytes; it may have 65536";

/// Scripts and what may be said of them: in a slow build some run out of time before anything else.
fn bombs() -> Vec<(String, Vec<&'static str>)> {
    let plain = [
        ("return 'a' * 2000000000", vec![MEMORY]),
        ("return [0] * 2000000000", vec![MEMORY]),
        ("return (0,) * 2000000000", vec![MEMORY, TIME]),
        ("return list(range(2000000000))", vec![MEMORY]),
        ("s = 'ab'\nfor i in range(60):\n    s = s + s\nreturn len(s)", vec![MEMORY, TIME]),
        ("s = [1]\nfor i in range(60):\n    s = s + s\nreturn len(s)", vec![MEMORY, TIME]),
        ("s = [1]\nfor i in range(60):\n    s += s\nreturn len(s)", vec![MEMORY, TIME]),
        ("return max(range(2000000000))", vec![TIME]),
        ("return all(range(1, 2000000000))", vec![TIME]),
        ("x = 7\nfor i in range(60):\n    x = x * x\nreturn x", vec![TIME, MEMORY]),
        ("s = 'a' * 100000\nreturn s.replace('a', s)", vec![MEMORY]),
        ("s = 'a' * 1000000\nreturn s.join([s for i in range(1000)])", vec![MEMORY, TIME]),
        ("d = {}\nfor i in range(900000):\n    d[str(i) * 20] = i", vec![MEMORY, TIME]),
        ("x = []\nfor i in range(900000):\n    x = [x]\nreturn x", vec!["nested deeper than", TIME]),
        ("x = []\nfor i in range(900000):\n    x = [x]\nreturn str(x)", vec![DEPTH, OUTPUT, MEMORY, TIME]),
        ("def f(n):\n    return f(n + 1)\nreturn f(0)", vec![FRAMES]),
        ("f = [None]\nf[0] = lambda: f[0]()\nreturn f[0]()", vec![FRAMES]),
        ("for i in range(1000000):\n    print('x' * 1000)", vec![OUTPUT, TIME]),
        ("return 'x' * 3000000", vec![OUTPUT, TIME]),
        ("for i in range(100000000):\n    pass", vec![STEPS, TIME]),
        ("for i in range(100000):\n    for j in range(100000):\n        pass", vec![STEPS, TIME]),
        ("for i in range(20):\n    attempt(echo, n = i)", vec![CALLS]),
        ("parallel([lambda: echo() for i in range(20)])", vec![CALLS]),
        ("def f(n):\n    return parallel([lambda: f(n + 1)] * 3)\nreturn f(0)", vec!["stands inside of itself", TIME]),
        ("return parallel([lambda: 'a' * 2000000000 for i in range(100)])", vec![MEMORY, TIME]),
        ("return slow(ms = 60000)", vec![TIME, "did not answer within"]),
        ("return re.match('(a{1000}){1000}', 'a')", vec!["Compiled regex exceeds size limit"]),
        ("return json.decode('[' * 100000)", vec!["recursion limit exceeded"]),
        ("for i in range(1000000):\n    attempt(lambda: fail('x'))", vec![STEPS, TIME]),
        ("def f():\n    attempt(f)\n    return attempt(lambda: 'a' * 2000000000)\nreturn f()", vec![MEMORY, FRAMES]),
    ];
    let deep = [
        (format!("return {}", vec!["1"; 100_000].join("+")), vec![SOURCE]),
        (format!("return {}", vec!["1"; 30_000].join("+")), vec![NESTED]),
        (format!("return {}{}", "[".repeat(1_000_000), "]".repeat(1_000_000)), vec![SOURCE]),
        (format!("return {}{}", "[".repeat(30_000), "]".repeat(30_000)), vec![NESTED]),
        (format!("return {}1", "-".repeat(60_000)), vec![NESTED]),
        (format!("return {}1", "not ".repeat(16_000)), vec![NESTED]),
    ];
    plain.into_iter().map(|(script, expected)| (script.to_owned(), expected)).chain(deep).collect()
}

#[tokio::test]
async fn each_ends_with_an_error_that_names_its_limit_and_the_next_script_runs() {
    let mut proxy = started(world("echo,slow", "timeout: 2s, maxCalls: 5")).await;
    for (script, expected) in bombs() {
        let before = Instant::now();
        let text = failure(&run(&mut proxy, &script).await);
        let took = before.elapsed();
        let shown: String = script.chars().take(80).collect();
        // On a machine that is busy with other tests the deadline may come first, and its end late.
        let late = took >= Duration::from_secs(2) && text.contains(TIME);
        assert!(late || expected.iter().any(|limit| text.contains(limit)), "{shown}: {text}");
        assert!(took < Duration::from_secs(10), "{shown}: {took:?}");
    }
    assert_eq!(returned(&run(&mut proxy, "return echo(n = 1)").await), json!({"n": 1}));
}

#[tokio::test]
async fn a_limit_that_is_set_is_the_one_that_holds() {
    let mut proxy = started(world("echo", "stepLimit: 2000, memory: 8MiB, maxOutput: 1KiB, maxCalls: 0")).await;
    for (script, expected) in [
        ("for i in range(5000):\n    pass", "its limit of 2000 steps"),
        ("return len('a' * 9000000)", "its limit of 8 MiB of memory"),
        ("return 'a' * 2000", "its limit of 1024 bytes of output"),
        ("return echo()", "its limit of 0 tool calls"),
    ] {
        let text = failure(&run(&mut proxy, script).await);
        assert!(text.contains(expected), "{script}: {text}");
    }
    assert_eq!(returned(&run(&mut proxy, "return len('a' * 1000000)").await), json!(1_000_000));
}
