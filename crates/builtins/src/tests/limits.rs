use super::*;
use proxy_script::FailureKind;

fn short() -> Limits {
    Limits { steps: 100_000, time: Duration::from_secs(20), memory: 16 << 20, stack: 50 }
}

fn top(script: &str, limits: &Limits) -> String {
    run_with(vec![], json!({}), limits, script).unwrap_err().to_string()
}

#[test]
fn a_script_that_computes_too_much_is_stopped_where_it_stands() {
    let text = top("x = 0\nfor i in range(1000000000):\n    x += i\n", &short());
    assert!(text.contains("the script used more than its limit of 100,000 steps"), "{text}");
    assert!(text.contains("policy.star:2:1"), "{text}");
    let patient = Limits { steps: u64::MAX, time: Duration::from_millis(300), ..short() };
    let text = top("for i in range(1000000000):\n    pass\n", &patient);
    assert!(text.contains("the script used more than its limit of 300 ms of computing time"), "{text}");
    let text = top("def f(n):\n    return f(n + 1)\nf(0)\n", &short());
    assert!(text.contains("the script used more than its limit of 50 nested calls"), "{text}");
    let patient = Limits { steps: u64::MAX, time: Duration::from_secs(60), ..short() };
    let text = top("x = []\nfor i in range(1000000000):\n    x.append('item %s' % i)\n", &patient);
    assert!(text.contains("the script used more than its limit of 16 MiB of memory"), "{text}");
}

#[test]
fn what_the_engine_does_not_count_is_memory_too() {
    let patient = Limits { steps: u64::MAX, time: Duration::from_secs(600), ..short() };
    for script in [
        "x = {}\nfor i in range(1000000000):\n    x[i] = i\n",
        "x = set()\nfor i in range(1000000000):\n    x.add(i)\n",
    ] {
        let text = top(script, &patient);
        assert!(text.contains("the script used more than its limit of 16 MiB of memory"), "{text}");
        assert!(text.contains("policy.star:"), "{text}");
    }
}

#[test]
fn a_handler_has_limits_too_and_cannot_catch_them() {
    let plan = run("
def spin():
    for i in range(1000000000):
        pass
def dive(n):
    return dive(n + 1)
publish(metadata('spin', '', {}, {}), lambda args: attempt(spin))
publish(metadata('dive', '', {}, {}), lambda args: attempt(dive, 1))
")
    .unwrap();
    let host = Arc::new(Recorder::default());
    let kind = |name: &str, limits: &Limits| call(&plan, name, "{}", &host, limits).unwrap_err().kind;
    assert_eq!(kind("spin", &short()), FailureKind::Limit("steps"));
    assert_eq!(
        kind("spin", &Limits { steps: u64::MAX, time: Duration::from_millis(100), ..short() }),
        FailureKind::Limit("time")
    );
    assert_eq!(kind("dive", &short()), FailureKind::Limit("call stack"));
    assert_eq!(kind("dive", &Limits::HANDLER), FailureKind::Limit("call stack"));
}

#[test]
fn what_a_handler_keeps_of_results_is_memory_of_its_own() {
    let plan = run("
meta, call = backends()['github'].tools()[0]
publish(meta, lambda args: len([call({'a': 'x'}) for i in range(args['n'])]))
")
    .unwrap();
    let text = format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(3 << 20));
    let host = Arc::new(Recorder { answer: Some(Box::leak(text.into_boxed_str())), ..Recorder::default() });
    assert_eq!(call(&plan, "search", r#"{"n":3}"#, &host, &short()).unwrap(), json!(3));
    host.calls.lock().clear();
    let failure = call(&plan, "search", r#"{"n":100}"#, &host, &short()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit("memory"));
    let calls = host.calls.lock().len();
    assert!((4..=5).contains(&calls), "it ends when its memory is used up, not after {calls} calls");
}

#[test]
fn waiting_for_a_backend_is_not_computing() {
    let plan = run("
meta, call = backends()['github'].tools()[0]
def handler(args):
    for i in range(3):
        call({})
    return len([x for x in range(5000)])
publish(meta, handler)
")
    .unwrap();
    let host = Arc::new(Recorder { delay: Duration::from_millis(700), ..Recorder::default() });
    let limits = Limits { time: Duration::from_secs(2), ..Limits::HANDLER };
    assert_eq!(call(&plan, "search", "{}", &host, &limits).unwrap(), json!(5000));
}

#[test]
fn a_deadline_ends_a_computing_handler() {
    let plan = run(
        "def spin(args):\n    for i in range(1000000000):\n        pass\npublish(metadata('spin', '', {}, {}), spin)\n",
    )
    .unwrap();
    let host = Arc::new(Recorder::default());
    let stopper = host.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        *stopper.stop.lock() = Some(Stop::Deadline);
    });
    let limits = Limits { steps: u64::MAX, ..Limits::HANDLER };
    let failure = call(&plan, "spin", "{}", &host, &limits).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Stopped(Stop::Deadline));
    thread.join().unwrap();
}

#[test]
fn extreme_scripts_are_errors_and_not_crashes() {
    let text = top("n = 2000000000\nx = list(range(n))\n", &short());
    assert!(text.contains("the script used more than its limit of 16 MiB of memory"), "{text}");
    let deep = format!("x = {}1\n", "-".repeat(990));
    run_with(vec![], json!({}), &short(), &deep).unwrap();
    let text = top(&format!("x = '{}'\n", "a".repeat(1 << 20)), &short());
    assert!(text.contains("the maximum is 1048576"), "{text}");
}
