//! Log-ins that are left when a config has no use for them any more: they are listed, and can be ended.

use serde_json::json;

use super::super::people::{self, World};
use crate::support::authorization_server::AuthorizationServer;
use crate::support::browser::Browser;
use crate::support::config::Config;
use crate::support::issuer::Issuer;
use crate::support::log_ins::{log_in, record, records, world};
use crate::support::protected_server::ProtectedServer;
use crate::support::terminal::typed;

#[tokio::test]
async fn the_log_in_at_a_removed_server_is_listed_and_can_be_ended() {
    // given
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let used = world.run(["login", "--list", "--json"]).await.expect(0).json();
    assert_eq!((used.as_array().map(Vec::len), &used[0]["status"]), (Some(1), &json!("ok")), "{used}");
    let nothing = world.run(["logout", "--unused", "--yes"]).await.expect(0);
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
    let done = world.proxy.world.run(["logout", "--unused", "--yes"]).await.expect(0);
    assert!(done.stdout.contains("logged out of `crm`; revoked: "), "{done:?}");
    assert!(done.stdout.contains(&format!("for ann (the config has no issuer {})", world.issuer.url)), "{done:?}");
    let listed = world.proxy.world.run(["login", "--list", "--json"]).await.expect(0).json();
    assert!(!listed.to_string().contains("ann"), "{listed}");
}

#[tokio::test]
async fn a_log_in_stays_where_the_config_does_not_tell_whether_it_is_used() {
    // given
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    world.directory.write("address", &server.url);
    let unset = (json!({"url": "${CLOUD_URL}"}), "`CLOUD_URL` is not set");
    let unread = (json!({"url": "${file:address}", "disabled": true}), "`mcpServers.cloud.url` was not read");
    for (entry, why) in [unset, unread] {
        // when: the entry is there, and nobody knows its address
        world.directory.write("proxy.yaml", &json!({"mcpServers": {"cloud": entry}}).to_string());
        for command in [vec!["logout", "--unused", "--yes"], vec!["logout", "cloud", "--unused"]] {
            let told = world.run(command.iter().copied()).await.expect(0);
            // then
            assert!(told.stdout.contains("there is no unused authorization"), "{command:?}: {told:?}");
            assert!(told.stderr.contains("may be in use") && told.stderr.contains(why), "{command:?}: {told:?}");
        }
        let listed = world.run(["login", "--list", "--json"]).await.json();
        assert!(!listed.to_string().contains("unused"), "{listed}");
        assert!(record(&world).contains(&authorization.newest("refresh")), "{why}");
    }
    assert_eq!(authorization.seen().count("revoke"), 0);
}

#[tokio::test]
async fn what_another_config_file_uses_is_ended_only_if_somebody_agrees() {
    // given: a log-in, and a config without its server
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    world.directory.write("other.yaml", &Config::new().remote_with("clod", &server.url, json!({})).text());
    let command = ["logout", "--unused", "--config", "other.yaml"];
    // when nobody can be asked, or somebody says no
    let told = world.run(command).await.expect(2);
    assert!(told.stderr.contains("`cloud`") && told.stderr.contains("--yes"), "{told:?}");
    let told = typed(world.command(command), "n\n").await.expect(1);
    assert!(told.stderr.contains("end 1 authorization?") && told.stderr.contains("nothing was ended"), "{told:?}");
    // then
    assert!(record(&world).contains(&authorization.newest("refresh")));
    let listed = world.run(["login", "--list", "--json"]).await.expect(0).json();
    assert_eq!(listed[0]["status"], "ok", "{listed}");
    // when they agree
    let done = typed(world.command(command), "y\n").await.expect(0);
    assert!(done.stdout.contains("logged out of `cloud`; revoked: "), "{done:?}");
    assert!(records(&world).is_empty());
}
