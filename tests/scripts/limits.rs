//! A script that computes without end harms nobody.

use super::{refused, serving};
use crate::support::patience::LONG_PATIENCE;

/// A debug build may run into the time before it has made all its steps.
const STEPS_OR_TIME: [&str; 2] = [
    "the script used more than its limit of 10000000 steps",
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
