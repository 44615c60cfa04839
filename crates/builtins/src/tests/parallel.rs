//! `parallel()`: results, errors and limits of functions that run concurrently.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Recorder, call, handle, run};
use proxy_script::{FailureKind, Limits, Stop};

#[test]
fn results_come_in_the_order_of_the_functions() {
    let body =
        "def late(i):\n    sleep(0.002 * (5 - i))\n    return i\nreturn parallel([partial(late, i) for i in range(5)])";
    assert_eq!(handle(body, "{}").unwrap(), json!([0, 1, 2, 3, 4]));
    assert_eq!(handle("return parallel([])", "{}").unwrap(), json!([]));
}

#[test]
fn the_first_error_is_raised_after_all_have_ended() {
    let body = "seen = []\ndef branch(i):\n    sleep(0.001 * (3 - i))\n    seen.append(i)\n    if i:\n        fail('branch %d' % i)\n\
                tried = attempt(parallel, [partial(branch, i) for i in range(3)])\nreturn [tried.error, sorted(seen)]";
    assert_eq!(handle(body, "{}").unwrap(), json!(["branch 1", [0, 1, 2]]));
}

#[test]
fn a_stop_ends_all_of_them() {
    let plan = run("one = backends()['github'].tools()[0][1]\ndef handler(args):\n    return attempt(parallel, [lambda: one({}), lambda: one({})])\n\
                    publish(metadata('x', '', {}, {}), handler)\n")
    .unwrap_or_else(|error| panic!("{error}"));
    let host = Arc::new(Recorder::default());
    *host.stop.lock() = Some(Stop::Cancelled);
    let failure = call(&plan, "x", "{}", &host, &Limits::HANDLER).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Stopped(Stop::Cancelled));
}

#[test]
fn together_they_compute_no_more_than_one() {
    let limits = Limits { time: Duration::from_millis(100), steps: u64::MAX, ..Limits::HANDLER };
    let plan = run("def spin():\n    for i in range(100000000):\n        pass\n\
                    def handler(args):\n    parallel([spin for i in range(8)])\npublish(metadata('x', '', {}, {}), handler)\n")
    .unwrap_or_else(|error| panic!("{error}"));
    let start = Instant::now();
    let failure = call(&plan, "x", "{}", &Arc::default(), &limits).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit("time"));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn what_is_not_a_function_is_an_error_with_its_cure() {
    for (body, problem) in [
        ("parallel([1])", "parallel() takes functions; one is a `int`"),
        ("parallel([], limit = 0)", "`limit` must be 1 or more"),
        ("sleep(-1)", "sleep() takes 0 to 3600 seconds"),
        ("def again():\n    return parallel([again])\nagain()", "nested more than"),
    ] {
        let failure = handle(body, "{}").unwrap_err();
        assert!(failure.message.contains(problem), "{body}: {}", failure.message);
    }
    let top = run("parallel([lambda: 1])").unwrap_err().to_string();
    assert!(top.contains("`parallel()` is possible only while a call is handled"), "{top}");
}
