//! A log-in that another process makes is taken up.

use std::time::Duration;

use super::fake::{Fake, StateFolder, log_in, tokens};
use crate::oauth::{CredentialStorage, LogIns};

const LONG: Duration = Duration::from_secs(20);

async fn granting() -> Fake {
    Fake::with_metadata(|asked| (asked.line == "POST /token").then(|| (200, tokens(1, 3600)))).await
}

#[tokio::test]
async fn a_log_in_of_another_process_is_noticed_even_in_a_folder_that_did_not_exist() {
    let (fake, folder) = (granting().await, StateFolder::new());
    let server = fake.server(None);
    let log_ins = folder.log_ins();
    let credentials = log_ins.credentials("a", &server).unwrap();
    assert_eq!(credentials.authorization().await, Ok(None));
    let changed = credentials.changed();
    credentials.look_out();
    assert!(!folder.0.exists());
    let other = folder.log_ins();
    let (noticed, ()) = tokio::join!(tokio::time::timeout(LONG, changed), log_in(&other, &server));
    noticed.unwrap();
    assert_eq!(credentials.authorization().await.unwrap().unwrap(), "Bearer access-1");
}

#[tokio::test]
async fn nothing_is_watched_before_a_server_asks_for_a_log_in() {
    let (fake, folder) = (granting().await, StateFolder::new());
    let log_ins = folder.log_ins();
    let credentials = log_ins.credentials("a", &fake.server(None)).unwrap();
    assert_eq!(credentials.authorization().await, Ok(None));
    let changed = tokio::time::timeout(Duration::from_millis(1), credentials.changed()).await;
    assert!(changed.is_err() && !log_ins.is_following(), "a server that lets everybody in");
    credentials.look_out();
    assert!(log_ins.is_following());
}

#[tokio::test]
async fn a_log_out_of_another_process_is_taken_up() {
    let (fake, folder) = (granting().await, StateFolder::new());
    let server = fake.server(None);
    log_in(&folder.log_ins(), &server).await;
    let log_ins = folder.log_ins();
    let credentials = log_ins.credentials("a", &server).unwrap();
    credentials.authorization().await.unwrap().unwrap();
    let changed = credentials.changed();
    let taken_up = async {
        while credentials.authorization().await != Ok(None) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let other = folder.log_ins();
    let (taken_up, out) = tokio::join!(tokio::time::timeout(LONG, taken_up), other.log_out("a", &server, None, false));
    taken_up.unwrap();
    assert!(out.unwrap().was_logged_in);
    let no_other = tokio::time::timeout(Duration::from_millis(1), changed).await;
    assert!(no_other.is_err(), "there is no other log-in");
    let changed = credentials.changed();
    log_in(&log_ins, &server).await;
    tokio::time::timeout(LONG, changed).await.unwrap();
}

#[tokio::test]
async fn without_a_place_to_keep_it_a_log_in_says_so() {
    let config = proxy_config::Config::default_for(std::path::Path::new("/"));
    let log_ins = LogIns::new(CredentialStorage::for_config(&config, None));
    let fake = granting().await;
    let error = log_ins.begin("a", &fake.server(None), None, super::fake::request()).await.unwrap_err().to_string();
    assert!(error.contains("`XDG_STATE_HOME`"), "{error}");
}

#[tokio::test]
async fn a_log_in_that_is_read_first_is_the_one_of_that_moment() {
    let fake = granting().await;
    let folder = StateFolder::new();
    let server = fake.server(None);
    log_in(&folder.log_ins(), &server).await;
    // Given a process that has not read it
    let log_ins = folder.log_ins();
    let credentials = log_ins.credentials("a", &server).unwrap();
    let mut replaced = credentials.replaced();
    assert!(futures::poll!(&mut replaced).is_pending());
    // When it reads the log-in, that is no other one
    credentials.authorization().await.unwrap().unwrap();
    assert!(futures::poll!(&mut replaced).is_pending());
    // But the next one is
    log_in(&log_ins, &server).await;
    tokio::time::timeout(LONG, replaced).await.unwrap();
}
