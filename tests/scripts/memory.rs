//! The memory of a script ends at its limit: after the operation that crossed it, or before.

use super::serving;
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::StdioProxy;

const LIMIT: &str = "the script used more than its limit of 256 MiB of memory";
/// Twice the limit, and 64 MiB.
const MOST: usize = (2 * 256 + 64) << 10;

/// The body of each handler. `n` is large, and unknown when the script is parsed.
const DOUBLING: [(&str, &str); 9] = [
    ("adds_texts", "s = s + s"),
    ("adds_a_text", "s += s"),
    ("adds_lists", "l = l + l"),
    ("adds_a_list", "l += l"),
    ("adds_tuples", "t = t + t"),
    ("multiplies", "s = s * 2"),
    ("formats", "s = '%s%s' % (s, s)"),
    ("calls", "s = twice(s)"),
    ("joins", "s = ''.join([s, s])"),
];

/// Single expressions that would take gigabytes.
const AT_ONCE: [(&str, &str); 7] = [
    ("text_times", "return len('abc' * n)"),
    ("times_text", "return len(n * 'abc')"),
    ("list_times", "return len([0] * n)"),
    ("tuple_times", "return len((0, 1) * n)"),
    ("sum_of_many", "return len(s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s)"),
    ("many_texts", "return len([s + 'x' for i in range(900)])"),
    ("one_text_many_times", "return len('%s' % ([s] * 900))"),
];

fn script() -> String {
    let mut script = "def twice(s):\n    return s + s\n".to_owned();
    for (name, statement) in DOUBLING {
        script += &format!(
            "def {name}(args):\n    s, l, t = 'abc', [1], (1,)\n    for i in range(40):\n        {statement}\n"
        );
    }
    for (name, statement) in AT_ONCE {
        script += &format!("def {name}(args):\n    n = args['n']\n    s = 'ab' * 10000000\n    {statement}\n");
    }
    for (name, _) in DOUBLING.iter().chain(&AT_ONCE) {
        script += &format!("publish(metadata('{name}', '', {{}}, {{}}), {name})\n");
    }
    script + "publish(metadata('caught', '', {}, {}), lambda args: attempt(text_times, args))\n"
}

fn kilobytes(proxy: &StdioProxy, field: &str) -> usize {
    crate::support::measure::kilobytes(proxy.client.program.id(), field)
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_handler_that_grows_is_ended_soon_and_its_memory_is_given_back() {
    let mut proxy = serving("echo", &script()).await;
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    let before = kilobytes(&proxy, "VmRSS");
    for (name, _) in DOUBLING.iter().chain(&AT_ONCE) {
        let text = proxy.error_of(name, r#"{"n":600000000}"#).await;
        assert!(text.starts_with(LIMIT), "{name}: {text}");
        assert!(text.contains("(policy.star:"), "{name}: {text}");
        let peak = kilobytes(&proxy, "VmHWM");
        assert!(peak < MOST, "{name}: {} MiB", peak >> 10);
    }
    let text = proxy.error_of("caught", r#"{"n":600000000}"#).await;
    assert!(text.starts_with(LIMIT), "`attempt` does not catch it: {text}");
    let after = kilobytes(&proxy, "VmRSS");
    assert!(after < before + (64 << 10), "{} MiB before, {} MiB after", before >> 10, after >> 10);
}
