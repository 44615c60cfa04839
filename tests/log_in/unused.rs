//! Log-ins that are left when a config has no use for them any more: they are listed, and can be ended.

use serde_json::json;

use super::super::people::{self, World};
use crate::support::authorization_server::AuthorizationServer;
use crate::support::browser::Browser;
use crate::support::config::Config;
use crate::support::issuer::Issuer;
use crate::support::log_ins::{log_in, record, records, world};
use crate::support::protected_server::ProtectedServer;

#[tokio::test]
async fn the_log_in_at_a_removed_server_is_listed_and_can_be_ended() {
    // given
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let used = world.run(["login", "--list", "--json"]).await.expect(0).json();
    assert_eq!((used.as_array().map(Vec::len), &used[0]["status"]), (Some(1), &json!("ok")), "{used}");
    let nothing = world.run(["logout", "--unused"]).await.expect(0);
    assert!(nothing.stdout.contains("there is no unused authorization"), "{nothing:?}");
    assert!(record(&world).contains(&authorization.newest("refresh")), "what is used stays");
    // when: the entry has another name
    world.directory.write("proxy.yaml", &Config::new().remote_with("clod", &server.url, json!({})).text());
    // then
    let listed = world.run(["login", "--list", "--json"]).await.expect(0).json();
    let unused = &listed[1];
    assert_eq!((&unused["server"], &unused["status"]), (&json!("cloud"), &json!("unused")), "{listed}");
    assert_eq!((&unused["url"], &unused["person"]), (&json!(server.url), &json!(null)), "{listed}");
    let text = world.run(["login", "--list"]).await.expect(0).stdout;
    assert!(text.contains("`proxy logout cloud --unused` ends it"), "{text}");
    for secret in authorization.secrets() {
        assert!(!text.contains(&secret) && !listed.to_string().contains(&secret), "{text}");
    }
    let done = world.run(["logout", "cloud", "--unused"]).await.expect(0);
    assert!(done.stdout.contains("logged out of `cloud`; revoked: refresh token, access token"), "{done:?}");
    assert!(authorization.seen().count("revoke") >= 2);
    assert!(records(&world).is_empty(), "neither the tokens nor the client is kept");
    let again = world.run(["logout", "cloud", "--unused"]).await.expect(0);
    assert!(again.stdout.contains("there is no unused authorization for `cloud`"), "{again:?}");
}

#[tokio::test]
async fn the_accounts_of_people_of_a_removed_issuer_are_listed_and_can_be_ended() {
    // given
    let world = World::start().await;
    world.connect(&Browser::of("ann")).await;
    let used = world.proxy.world.run(["login", "--list", "--json"]).await.expect(0).json();
    assert_eq!((used.as_array().map(Vec::len), &used[0]["person"]), (Some(1), &json!("ann")), "{used}");
    // when
    let other = Issuer::start().await;
    let config = Config::new()
        .remote_with(people::SERVER, &world.server.url, people::personal())
        .section(&people::sections(&other, &world.url));
    world.proxy.world.directory.write("proxy.yaml", &config.text());
    // then
    let listed = world.proxy.world.run(["login", "--list", "--json"]).await.expect(0).json();
    let unused = listed.as_array().into_iter().flatten().find(|one| one["status"] == "unused");
    let unused = unused.unwrap_or_else(|| panic!("{listed}"));
    assert_eq!((&unused["server"], &unused["person"]), (&json!("crm"), &json!("ann")));
    let of_ann = listed.as_array().into_iter().flatten().filter(|one| one["person"] == "ann");
    assert_eq!(of_ann.count(), 1, "{listed}");
    let to_do = format!("the config has no issuer {}: `proxy logout crm --unused` ends it", world.issuer.url);
    assert_eq!(unused["whatToDo"], to_do);
    let done = world.proxy.world.run(["logout", "--unused"]).await.expect(0);
    assert!(done.stdout.contains("logged out of `crm`; revoked: "), "{done:?}");
    assert!(done.stdout.contains(&format!("for ann (the config has no issuer {})", world.issuer.url)), "{done:?}");
    let listed = world.proxy.world.run(["login", "--list", "--json"]).await.expect(0).json();
    assert!(!listed.to_string().contains("ann"), "{listed}");
}
