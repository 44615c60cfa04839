//! `proxy sessions`: what the operator sees of sessions, and ends.

use serde_json::{Value, json};

use super::{TOKENS, moved, parts, replicas, session_of, status};
use crate::support::proxy::HttpProxy;

async fn sessions(proxy: &HttpProxy) -> Value {
    proxy.world.run(["sessions", "--json"]).await.expect(0).json()
}

#[tokio::test]
async fn sessions_are_listed_without_their_ids() {
    let [one, two] = replicas(TOKENS).await;
    let empty = two.world.run(["sessions"]).await.expect(0);
    assert_eq!(empty.stdout, "no sessions over HTTP\n");
    let ann = session_of(&one, "secret-token-of-a").await;
    let bob = session_of(&two, "secret-token-of-b").await;
    assert_eq!(status(&moved(&ann, &two)).await, 200);
    let listed = sessions(&two).await;
    let [first, second] = listed["sessions"].as_array().expect("a list").as_slice() else { panic!("{listed}") };
    assert_eq!((&first["user"], &second["user"]), (&json!("ann"), &json!("bob")), "the one first that was used last");
    assert_eq!((&first["home"], &second["home"]), (&json!(parts(&ann).0), &listed["home"]));
    assert_eq!(first["client"], "test-client");
    assert!(first["openedSecondsAgo"].is_u64() && first["usedSecondsAgo"].is_u64(), "{listed}");
    let told = two.world.run(["sessions"]).await.expect(0).stdout;
    assert!(told.contains(first["digest"].as_str().expect("a digest")) && told.contains("this process"), "{told}");
    for id in [parts(&ann).1, parts(&bob).1] {
        assert!(!told.contains(id) && !listed.to_string().contains(id));
    }
}

#[tokio::test]
async fn a_session_is_ended_by_its_digest_also_where_it_is_not_in_use() {
    let [one, two] = replicas(TOKENS).await;
    let ann = session_of(&one, "secret-token-of-a").await;
    let digest = sessions(&one).await["sessions"][0]["digest"].as_str().expect("a digest").to_owned();
    let ended = one.world.run(["sessions", "end", &digest]).await.expect(0);
    assert_eq!(ended.stdout, format!("session {digest} has ended\n"));
    assert_eq!(status(&ann).await, 404);
    let elsewhere = two.world.run(["sessions", "end", &digest, "--json"]).await.expect(0);
    assert_eq!(elsewhere.json(), json!({"ended": 0}));
    assert_eq!(status(&moved(&ann, &two)).await, 404);
    let wrong = one.world.run(["sessions", "end", "5e1f"]).await.expect(1);
    assert!(wrong.stderr.contains("a digest has 16 hexadecimal digits"), "{}", wrong.stderr);
    one.world.run(["sessions", "end"]).await.expect(2);
}

#[tokio::test]
async fn all_sessions_of_a_user_are_ended_and_later_ones_are_not() {
    let [one, two] = replicas(TOKENS).await;
    let ann = [session_of(&one, "secret-token-of-a").await, session_of(&one, "secret-token-of-a").await];
    let elsewhere = session_of(&two, "secret-token-of-a").await;
    let bob = session_of(&one, "secret-token-of-b").await;
    let ended = one.world.run(["sessions", "end", "--as-user", "ann", "--json"]).await.expect(0);
    assert_eq!(ended.json(), json!({"ended": 2}));
    for session in &ann {
        assert_eq!(status(session).await, 404);
    }
    assert_eq!(status(&moved(&elsewhere, &one)).await, 404, "one that was not in use here");
    assert_eq!(status(&bob).await, 200);
    assert_eq!(status(&session_of(&one, "secret-token-of-a").await).await, 200);
    let log = one.program.stderr.text();
    assert!(log.contains("the operator has ended the sessions of ann: 2 in use"), "{log}");
}
