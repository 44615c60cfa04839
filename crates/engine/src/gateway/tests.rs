//! A gateway from its config to the surfaces of its clients, in one process.

use std::sync::Arc;

use serde_json::json;

use crate::test_world::TestWorld;
use proxy_model::{ItemKind, Principal, Status};
use proxy_wire::Revision;

const ALL: &str = "
for meta, call in backends()['kit'].tools():
    publish(meta, call)
";

/// Publishes the tool `echo` under the user's name.
const PERSONAL: &str = "
for meta, call in backends()['kit'].tools():
    if meta.name == 'echo':
        publish(meta.replace(name = 'echo_' + current_user().sub), call)
";

fn nobody() -> Principal {
    Principal::anonymous()
}

#[tokio::test]
async fn exactly_what_the_script_publishes_is_there() {
    let world = TestWorld::new("meta, call = backends()['kit'].tools()[0]\npublish(meta, call)\n");
    assert_eq!(world.tools(&nobody()).await, ["echo"]);
    assert!(TestWorld::new("pass").tools(&nobody()).await.is_empty());
}

#[tokio::test]
async fn a_script_that_asks_nothing_about_the_user_runs_once_for_all() {
    let world = TestWorld::new(ALL);
    let first = world.surface(&Principal::named("ann")).await.unwrap();
    let second = world.surface(&Principal::named("bob")).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert!(first.personal().is_none());
}

#[tokio::test]
async fn a_script_that_asks_for_the_user_runs_for_each() {
    let world = TestWorld::new(PERSONAL);
    let (ann, bob) = (Principal::named("ann"), Principal::named("bob"));
    assert_eq!(world.tools(&ann).await, ["echo_ann"]);
    assert_eq!(world.tools(&bob).await, ["echo_bob"]);
    let again = world.surface(&ann).await.unwrap();
    assert!(Arc::ptr_eq(&again, &world.surface(&ann).await.unwrap()), "kept for the next request");
}

#[tokio::test]
async fn a_script_that_fails_says_where() {
    let world = TestWorld::new("publish(1, 2)\n");
    let error = world.surface(&nobody()).await.unwrap_err();
    assert!(error.to_string().contains(":1:"), "{error}");
}

#[tokio::test]
async fn a_script_that_fails_for_one_user_works_for_others() {
    let world = TestWorld::new(&format!("if current_user().sub == 'eve':\n    fail('not you')\n{ALL}"));
    assert!(world.surface(&Principal::named("eve")).await.is_err());
    assert_eq!(world.tools(&Principal::named("ann")).await, ["echo", "broken", "slow"]);
}

#[tokio::test]
async fn the_status_has_the_extension_and_the_counts() {
    let world = TestWorld::new(ALL);
    world.surface(&nobody()).await.unwrap();
    world.gateway.servers_settled().await;
    let snapshot = world.gateway.snapshot();
    let kit = snapshot.backend("kit").unwrap();
    assert_eq!((kit.status, kit.lists.of(ItemKind::Tool).len()), (Status::Ready, 3));
    assert!(world.gateway.extension_problems().is_empty());
}

#[tokio::test]
async fn an_extension_that_does_not_exist_ends_the_start() {
    let sections = json!({"extensions": {"paths": ["kit.star", "missing.star"]}});
    let problems = TestWorld::start("pass", &sections).err().expect("there is no such file");
    assert!(problems.iter().any(|problem| problem.to_string().contains("missing.star")), "{problems:?}");
}

#[tokio::test]
async fn a_gateway_that_stops_says_so_once_and_for_all() {
    let world = TestWorld::new(ALL);
    assert!(!world.gateway.is_stopping());
    world.gateway.stop().await;
    assert!(world.gateway.is_stopping());
    // Whoever waits for it does not wait in vain.
    world.gateway.stopping().await;
    world.gateway.stop().await;
}

#[tokio::test]
async fn a_config_with_mistakes_is_refused_with_all_of_them() {
    let sections = json!({"sessionInit": {"preset": "nothing-like-this"}, "unknownKey": 1});
    let problems = TestWorld::start("", &sections).err().expect("the config is wrong");
    for wrong in ["unknownKey", "nothing-like-this"] {
        assert!(problems.iter().any(|problem| problem.to_string().contains(wrong)), "{wrong}: {problems:?}");
    }
}

#[tokio::test]
async fn tools_in_the_form_of_a_client_count_as_memory_of_their_surface() {
    // Given tools with names that a client does not take
    let long = "for meta, call in backends()['kit'].tools():
    publish(meta.replace(name = meta.name + '_' * 80, description = 'long ' * 400), call)
";
    let world = TestWorld::new(long);
    let surface = world.surface(&nobody()).await.unwrap();
    let dialect = Arc::clone(surface.dialects().named("claude-code").unwrap());
    let before = surface.bytes();
    // When such a client lists them
    surface.prepare_list(&dialect, Revision::V2025_11_25);
    // Then both the list and its parts are kept
    let lowered = surface.tools().filter_map(|tool| tool.lowered(surface.dialects(), &dialect)?.text());
    let texts: usize = lowered.map(|text| text.get().len()).sum();
    assert!(texts > 3 * 1000, "{texts}");
    assert!(surface.bytes() - before >= 2 * texts, "{} of {texts}", surface.bytes() - before);
}
