//! Real commands, run and ended.

use std::time::Instant;

use super::*;

fn reach() -> HostIo {
    HostIo::new(std::env::vars().chain([("AWS_SECRET".to_owned(), "s3cret".to_owned())]).collect(), None)
}

async fn sh(script: &str, timeout: f64) -> Value {
    let args = vec!["-c".to_owned(), script.to_owned()];
    let command = Command { command: "sh".into(), args, timeout, ..Command::default() };
    run(&reach(), &["sh".to_owned()], &Folder::default(), &command).await.unwrap()
}

fn lives(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

async fn gone(id: &str) {
    let start = Instant::now();
    while lives(id) {
        assert!(start.elapsed() < Duration::from_secs(10), "{id} still lives");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_a_command_says_and_how_it_ends() {
    let result = sh("echo out; echo err >&2; exit 3", 10.0).await;
    assert_eq!(
        result,
        json!({"stdout": "out\n", "stderr": "err\n", "exit_code": 3, "success": false, "timed_out": false, "truncated": false})
    );
    assert_eq!(sh("kill -9 $$", 10.0).await["exit_code"], -9);
    assert_eq!(
        sh("echo $AWS_SECRET$HOME", 10.0).await["stdout"],
        format!("{}\n", std::env::var("HOME").unwrap_or_default())
    );
}

#[tokio::test]
async fn input_folder_and_variables() {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    let command = Command {
        command: "sh".into(),
        args: vec!["-c".into(), "cat; pwd; echo $MINE".into()],
        stdin: Some("in ".into()),
        cwd: Some(folder.display().to_string()),
        env: vec![("MINE".into(), "own".into()), ("PATH".into(), "/nowhere:/bin:/usr/bin".into())],
        timeout: 10.0,
        binary: false,
    };
    let result = run(&reach(), &["sh".to_owned()], &Folder::default(), &command).await.unwrap();
    assert_eq!(result["stdout"], format!("in {}\nown\n", folder.display()));
}

#[tokio::test]
async fn output_without_end_is_cut_off() {
    let result = sh("yes", 0.3).await;
    assert_eq!((&result["truncated"], &result["timed_out"]), (&json!(true), &json!(true)));
    assert_eq!(result["stdout"].as_str().unwrap().len(), MAX_OUTPUT);
}

#[tokio::test]
async fn a_command_that_forks_and_hangs_leaves_nobody() {
    let result =
        sh("trap '' TERM; sleep 1000 & echo $!; setsid sleep 1000 & echo $!; echo $$; wait; sleep 1000", 0.3).await;
    assert_eq!(result["timed_out"], true);
    let ids: Vec<&str> = result["stdout"].as_str().unwrap().lines().collect();
    assert_eq!(ids.len(), 3);
    for id in ids {
        gone(id).await;
    }
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it_and_holds_nothing_up() {
    let start = Instant::now();
    let result = sh("sleep 1000 & echo $!", 60.0).await;
    gone(result["stdout"].as_str().unwrap()).await;
    assert!(result["success"] == true && start.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_command() {
    let file = std::env::temp_dir().join(format!("dropped-{}", std::process::id()));
    let script = format!("sleep 1000 & echo $! > {0}.tmp; mv {0}.tmp {0}; wait", file.display());
    let work = tokio::spawn(async move { sh(&script, 60.0).await });
    let id = loop {
        match std::fs::read_to_string(&file) {
            Ok(id) => break id,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    work.abort();
    gone(&id).await;
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn the_two_refusals_say_what_to_do() {
    assert_eq!(
        check("ls", &[]).unwrap_err(),
        "the command `ls` cannot be run: the extension may not run commands; add `allowed_exec = [\"ls\"]` to its Extension()"
    );
    assert_eq!(
        check("rm", &["ls".to_owned(), "git".to_owned()]).unwrap_err(),
        "the command `rm` is not allowed: `allowed_exec` of the extension has \"ls\", \"git\""
    );
    assert!(check("/bin/ls", &["ls".to_owned()]).is_err());
}

#[tokio::test]
async fn a_command_that_is_not_there_says_so() {
    let command = Command { command: "no-such-command".into(), timeout: 1.0, ..Command::default() };
    let text = run(&reach(), &["no-such-command".to_owned()], &Folder::default(), &command).await.unwrap_err();
    assert_eq!(text, "command `no-such-command` not found");
}
