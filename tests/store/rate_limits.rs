//! `check_rate_limit()`: what a script sees of a bucket.

use super::world;

const LIMITED: &str = r#"
def one(args):
    return "%s %d" % check_rate_limit("one", 2, 60)

def several(args):
    return "%s %d" % check_rate_limits([("all", 3, 60), ("one", 2, 60)])

def all(args):
    return "%s %d" % check_rate_limits([("all", 3, 60)])

def wrong(args):
    return "%s %d" % check_rate_limit("x", args["limit"], args["window"])

for name, handler in [("one", one), ("several", several), ("all", all), ("wrong", wrong)]:
    publish(metadata(name, "", {}, {}), handler)
"#;

#[tokio::test]
async fn a_bucket_is_shared_by_all_sessions() {
    let proxy = world("", LIMITED).http().await;
    let mut session = proxy.client();
    session.initialize("2025-11-25").await.result();
    assert_eq!(session.call("one", "{}").await.text(), "True 0");
    assert_eq!(proxy.client().modern_call("one", "{}").await.text(), "True 0");
    assert_eq!(session.call("one", "{}").await.text(), "False 30");
    assert_eq!(proxy.client().modern_call("one", "{}").await.text(), "False 30");
}

#[tokio::test]
async fn where_one_bucket_refuses_no_other_is_touched() {
    let mut proxy = world("", LIMITED).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    for verdict in ["True 0", "True 0", "False 30", "False 30"] {
        assert_eq!(proxy.client.call("several", "{}").await.text(), verdict);
    }
    assert_eq!(proxy.client.call("all", "{}").await.text(), "True 0", "it has the one token left that it should");
    assert_eq!(proxy.client.call("all", "{}").await.text(), "False 20");
}

#[tokio::test]
async fn a_bucket_that_cannot_be_is_an_error_at_its_line() {
    let mut proxy = world("", LIMITED).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    for (arguments, error) in [
        (r#"{"limit":0,"window":1}"#, "`limit` must be an integer from 1 to 1000000000 (policy.star:12)"),
        (r#"{"limit":1,"window":-1}"#, "`window` must be a number of seconds above 0 (policy.star:12)"),
        (r#"{"limit":1,"window":1e9}"#, "`window` must be between 0.001 seconds and a year (policy.star:12)"),
    ] {
        assert_eq!(proxy.client.call("wrong", arguments).await.text(), error);
    }
}

#[tokio::test]
async fn at_the_top_level_there_is_nobody_to_limit_and_nothing_to_remember() {
    for (line, name) in [
        ("check_rate_limit('k', 1, 60)", "check_rate_limit"),
        ("state.set('k', 1)", "state.set"),
        ("shared_state.get('k')", "shared_state.get"),
    ] {
        let finished = world("", line).refused().await;
        let expected = format!("`{name}()` is possible only while a call is handled, not at the top level");
        assert!(finished.stderr.contains(&expected), "{}", finished.stderr);
        assert!(finished.stderr.contains("policy.star:1:1"), "{}", finished.stderr);
        assert!(finished.stderr.contains("do it inside a handler"), "{}", finished.stderr);
    }
}
