//! Every limit, hit on purpose: an error that names it, soon, and nobody else notices.

use serde_json::json;

use super::{failure, returned, run, started, world};
use crate::support::config::Config;
use crate::support::message;
use crate::support::patience::{LONG_PATIENCE, PATIENCE};
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const TIME: &str = "the script used more than its limit of 2 s (`codeMode.timeout`)";
const MEMORY: &str = "the script used more than its limit of 64 MiB of memory (`codeMode.memory`)";
const OUTPUT: &str =
    "the script used more than its limit of 1 MiB of output, returned and printed (`codeMode.maxOutput`)";
const STEPS: &str = "the script used more than its limit of 1,000,000 steps";
const CALLS: &str = "the script used more than its limit of 5 tool calls (`codeMode.maxCalls`)";
const NESTED: &str = "this is nested too deeply: more than 1000";
const FRAMES: &str = "the script used more than its limit of 200 nested calls";
const DEPTH: &str = "the script or one of its values is nested too deeply";
const SOURCE: &str = "bytes; the maximum is 65536";

/// Scripts that use up something, and what is said of them.
fn bombs() -> Vec<(String, Vec<&'static str>)> {
    let plain = [
        ("return 'a' * 2000000000", vec![MEMORY]),
        ("return [0] * 2000000000", vec![MEMORY]),
        ("return (0,) * 2000000000", vec![MEMORY]),
        ("return list(range(2000000000))", vec![MEMORY]),
        ("s = 'ab'\nfor i in range(60):\n    s = s + s\nreturn len(s)", vec![MEMORY]),
        ("s = [1]\nfor i in range(60):\n    s = s + s\nreturn len(s)", vec![MEMORY]),
        ("s = [1]\nfor i in range(60):\n    s += s\nreturn len(s)", vec![MEMORY]),
        ("s = 'a' * 100000\nreturn s.replace('a', s)", vec![MEMORY]),
        ("s = 'a' * 1000000\nreturn s.join([s for i in range(1000)])", vec![MEMORY]),
        ("d = {}\nfor i in range(900000):\n    d[str(i) * 20] = i", vec![MEMORY]),
        ("x = []\nfor i in range(100000):\n    x = [x]\nreturn x", vec!["nested deeper than"]),
        ("x = []\nfor i in range(900000):\n    x = [x]\nreturn x", vec![MEMORY, "nested deeper than"]),
        // Which of these comes first is a matter of the build.
        ("x = []\nfor i in range(900000):\n    x = [x]\nreturn str(x)", vec![DEPTH, OUTPUT, MEMORY]),
        ("def f(n):\n    return f(n + 1)\nreturn f(0)", vec![FRAMES]),
        ("f = [None]\nf[0] = lambda: f[0]()\nreturn f[0]()", vec![FRAMES]),
        ("for i in range(1000000):\n    print('x' * 1000)", vec![OUTPUT]),
        ("for i in range(900000):\n    print()", vec![STEPS]),
        ("return 'x' * 3000000", vec![OUTPUT]),
        ("for i in range(100000000):\n    pass", vec![STEPS]),
        ("for i in range(100000):\n    for j in range(100000):\n        pass", vec![STEPS]),
        ("for i in range(20):\n    attempt(echo, n = i)", vec![CALLS]),
        ("parallel([lambda: echo() for i in range(20)])", vec![CALLS]),
        (
            "def f(n):\n    return parallel([lambda: f(n + 1)] * 3)\nreturn f(0)",
            vec!["`parallel()` is nested more than 8 levels deep"],
        ),
        (
            "for i in range(20000):\n    parallel([])",
            vec!["a script may start 10000 branches of `parallel()` in total"],
        ),
        ("return parallel([lambda: 'a' * 2000000000 for i in range(100)])", vec![MEMORY]),
        ("return re.match('(a{1000}){1000}', 'a')", vec!["Compiled regex exceeds size limit"]),
        ("return json.decode('[' * 100000)", vec!["recursion limit exceeded"]),
        ("for i in range(1000000):\n    attempt(lambda: fail('x'))", vec![STEPS, MEMORY]),
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

/// Scripts that use up nothing but time, in one operation or by waiting.
const ENDLESS: [&str; 4] = [
    "return max(range(2000000000))",
    "return all(range(1, 2000000000))",
    "x = 7\nfor i in range(60):\n    x = x * x\nreturn x",
    "return slow(ms = 60000)",
];

#[tokio::test]
#[ignore = "seconds of load"]
async fn each_ends_with_an_error_that_names_its_limit_and_the_next_script_runs() {
    // The deadline is far away, so that it is never what ends them.
    let mut proxy = started(world("echo", "timeout: 10m, maxCalls: 5")).await;
    for (script, expected) in bombs() {
        let text = failure(&run(&mut proxy, &script).await);
        let shown: String = script.chars().take(80).collect();
        let said: String = text.chars().take(500).collect();
        assert!(expected.iter().any(|limit| text.contains(limit)), "{shown}: {said}");
    }
    assert_eq!(returned(&run(&mut proxy, "return echo(n = 1)").await), json!({"n": 1}));
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn one_that_would_never_end_is_ended_at_its_deadline() {
    let mut proxy = started(world("echo,slow", "timeout: 2s")).await;
    proxy.client.program.stderr.patience = PATIENCE;
    for script in ENDLESS {
        let text = failure(&run(&mut proxy, script).await);
        assert_eq!(text, TIME, "{script}");
    }
    assert_eq!(returned(&run(&mut proxy, "return echo(n = 1)").await), json!({"n": 1}));
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn what_was_printed_comes_with_the_error_however_a_script_ends() {
    let mut proxy = started(world("echo,slow", "timeout: 10m, maxCalls: 0")).await;
    for (script, expected) in [
        // Of constants it would be found before the first line runs.
        ("return 'a' * data.get('times', 2000000000)", MEMORY),
        ("for i in range(100000000):\n    pass", STEPS),
        ("return echo()", "the script used more than its limit of 0 tool calls (`codeMode.maxCalls`)"),
        ("return slow", "the script's return value cannot be converted to JSON"),
    ] {
        let text = failure(&run(&mut proxy, &format!("print('so')\nprint('far')\n{script}")).await);
        assert!(text.starts_with(expected), "{script}: {text}");
        assert!(text.ends_with("\nprinted before the error:\nso\nfar\n"), "{script}: {text}");
    }
    // Of a flood nobody wants to read more than the end.
    let text = failure(&run(&mut proxy, "for i in range(1000000):\n    print(i)").await);
    assert!(text.starts_with(&format!("{OUTPUT}\nprinted before the error (last 16384 bytes):\n")), "{:.300}", text);
    let last: Vec<u32> = text.lines().skip(3).map(|line| line.parse().expect("a number")).collect();
    assert!(last.windows(2).all(|pair| pair[0] + 1 == pair[1]), "nothing is missing: {last:?}");
    assert!(text.len() < 17_000, "{}", text.len());
    let mut proxy = started(world("echo", "timeout: 2s")).await;
    let text = failure(&run(&mut proxy, "print('so far')\nreturn max(range(data.get('to', 2000000000)))").await);
    assert_eq!(text, format!("{TIME}\nprinted before the error:\nso far\n"));
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn another_session_is_answered_while_they_run() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("codeMode: { enabled: true, timeout: 10m, maxCalls: 5 }");
    let mut proxy = Proxy::new(&config).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    let (mut hostile, mut other) = (proxy.client(), proxy.client());
    hostile.initialize("2025-11-25").await.result();
    other.initialize("2025-11-25").await.result();
    let mut running = Vec::new();
    // Some that compute all the time, and one after the other of those that end.
    for (number, script) in [ENDLESS[0], ENDLESS[2]].into_iter().enumerate() {
        let call = message::call("execute_tool_script", &json!({ "script": script }).to_string());
        let body = message::request(&format!("\"bomb {number}\""), "tools/call", &call);
        running.push(hostile.send_and_leave_open(&hostile.legacy(&body)).await);
    }
    for (script, _) in bombs().into_iter().step_by(5) {
        let bomb = json!({ "script": script }).to_string();
        let direct = async {
            for number in 0..3 {
                let arguments = format!(r#"{{"n":{number}}}"#);
                assert_eq!(other.call("echo", &arguments).await.structured(), arguments);
            }
        };
        let (ended, ()) = futures::join!(hostile.call("execute_tool_script", &bomb), direct);
        failure(&ended);
    }
    let own = other.call("execute_tool_script", r#"{"script":"return echo(n = 1)"}"#).await;
    assert_eq!(returned(&own), json!({"n": 1}));
    // None of those that compute has ended meanwhile.
    for stream in running {
        let mut bytes = [0; 4096];
        let unread = stream.try_read(&mut bytes);
        let text = unread.map(|count| String::from_utf8_lossy(&bytes[..count]).into_owned()).unwrap_or_default();
        assert!(!text.contains("isError"), "{text}");
    }
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn a_limit_that_is_set_is_the_one_that_holds() {
    let mut proxy = started(world("echo", "stepLimit: 2000, memory: 8MiB, maxOutput: 1KiB, maxCalls: 0")).await;
    for (script, expected) in [
        ("for i in range(5000):\n    pass", "its limit of 2,000 steps"),
        ("return len('a' * 9000000)", "its limit of 8 MiB of memory"),
        ("return 'a' * 2000", "its limit of 1024 bytes of output"),
        ("return echo()", "its limit of 0 tool calls"),
    ] {
        let text = failure(&run(&mut proxy, script).await);
        assert!(text.contains(expected), "{script}: {text}");
    }
    assert_eq!(returned(&run(&mut proxy, "return len('a' * 1000000)").await), json!(1_000_000));
}
