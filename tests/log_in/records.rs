//! The files in which log-ins are kept: for the user alone, whole, and said aloud where that cannot be.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::authorization_server::AuthorizationServer;
use crate::support::finished::Finished;
use crate::support::log_ins::{folder, log_in, record, records, state, world};
use crate::support::program::Program;
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn a_log_in_is_for_the_user_alone_and_is_not_read_when_others_could() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!(mode(&folder(&world)), 0o700);
    let [path] = records(&world).try_into().expect("one record");
    assert_eq!(mode(&path), 0o600);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let visits = server.visits().len();
    let refused = world.run(["call", "echo"]).await;
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("chmod 600"), "{}", refused.stderr);
    let shown = server.visits().into_iter().skip(visits).filter(|visit| visit.authorization.is_some()).count();
    assert_eq!(shown, 0, "a token that others may have read is not used");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    world.run(["call", "echo"]).await.expect(0);
}

#[tokio::test]
async fn a_record_is_never_half_there_whenever_the_proxy_is_killed() {
    // Every start renews the token, and the old refresh token stays good: nothing but the file can be lost.
    let authorization = AuthorizationServer::with(|settings| {
        settings.lifetime = Some(0);
        settings.rotates = false;
    })
    .await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let mut refreshes = authorization.seen().count("refresh_token");
    for delay in 0..10 {
        let (mut program, _stdin, _stdout) = Program::start(world.command(["call", "echo"]));
        // From the moment when the answer is on its way, a little later each time.
        refreshes += 1;
        authorization.seen().times("refresh_token", refreshes, &program.stderr).await;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        program.kill();
        program.exit().await;
        refreshes = authorization.seen().count("refresh_token");
        let text = record(&world);
        serde_json::from_str::<Value>(&text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
    }
    authorization.set(|settings| settings.lifetime = Some(3600));
    world.run(["call", "echo"]).await.expect(0);
}

/// A command of the proxy on a disk that is full.
fn on_a_full_disk(world: &Proxy, arguments: &[&str]) -> Command {
    let plain = world.command(arguments.iter().copied());
    let mut command = Command::new("sh");
    // No file may grow; the signal that goes with it is ignored, so that it is an error like any other.
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args());
    command.current_dir(world.directory.path());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

#[tokio::test]
async fn tokens_that_cannot_be_saved_are_used_and_that_is_said_aloud() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let before = record(&world);
    authorization.end_access_tokens();
    let called = Finished::run(on_a_full_disk(&world, &["call", "echo"])).await.expect(0);
    assert!(called.stderr.contains("could not be saved"), "{}", called.stderr);
    assert_eq!(record(&world), before, "the old record is whole");

    // The old refresh token is spent: the next start finds that out once, and says why.
    authorization.end_access_tokens();
    let state = state(&world).await;
    assert_eq!(state["status"], "login", "{state}");
    assert!(state["error"].as_str().unwrap_or_default().contains("invalid_grant"), "{state}");
    log_in(&world).await.expect(0);
    world.run(["call", "echo"]).await.expect(0);
}

#[tokio::test]
async fn a_log_in_that_cannot_be_saved_fails_before_anybody_is_sent_to_a_browser() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    // A file where the folder should be.
    let parent = folder(&world).parent().expect("a folder has one").to_owned();
    fs::create_dir_all(&parent).expect("a folder");
    fs::write(folder(&world), "").expect("a file");
    let done = log_in(&world).await.expect(1);
    let place = folder(&world).display().to_string();
    assert!(done.stderr.contains(&place), "{}", done.stderr);
    assert_eq!(authorization.seen().count("register"), 0);
}
