use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::seen;
use crate::support::finished::Finished;
use crate::support::patience::within;
use crate::support::program::Program;
use crate::support::proxy::Proxy;

/// Everything typed at once, as from a file.
async fn typed(proxy: &Proxy, text: &str) -> Finished {
    let (mut program, mut stdin, mut stdout) = Program::start(proxy.command(["repl"]));
    program.stderr.patience = crate::support::patience::LONG_PATIENCE;
    stdin.write_all(text.as_bytes()).await.expect("the prompt reads");
    drop(stdin);
    let log = program.stderr.clone();
    let mut shown = String::new();
    within("the end of the prompt", &log, stdout.read_to_string(&mut shown)).await.expect("it is text");
    let code = program.exit().await.code().expect("it was not ended by a signal");
    Finished { code, stdout: shown, stderr: log.whole().await }
}

#[tokio::test]
async fn lines_run_at_once_and_their_names_stay() {
    let proxy = seen().await;
    let done = typed(
        &proxy,
        "x = 20\nx + 1\ndef twice(n):\n    return n * 2\n\ntwice(x)\nlist(backends())\n[\n  1,\n  2,\n]\nNone\n",
    )
    .await
    .expect(0);
    assert_eq!(done.stdout, "21\n40\n[\"one\"]\n[1, 2]\n");
}

#[tokio::test]
async fn calls_are_real() {
    let proxy = seen().await;
    let done = typed(
        &proxy,
        "tools = {meta.name: call for meta, call in backends()[\"one\"].tools()}\nunwrap(tools[\"echo\"]({\"a\": 1}))\n\
         attempt(lambda: unwrap(tools[\"fail\"]({\"message\": \"no luck\"}))).error\nprint(\"hello\")\n\
         index = search_index(backends()[\"one\"].tools())\nunwrap(index.call(\"echo\", {\"b\": 2}))\n\
         publish(metadata(\"mine\", \"\", {}, {}), lambda args: None)\n",
    )
    .await
    .expect(0);
    assert_eq!(done.stdout, "{\"a\": 1}\n\"no luck\"\nhello\n{\"b\": 2}\n");
    assert!(!done.stderr.contains("hello"), "{}", done.stderr);
}

#[tokio::test]
async fn an_error_is_shown_with_its_place_and_ends_nothing() {
    let proxy = seen().await.file("lib.star", "def wrap(call):\n    return call\n");
    let done = typed(&proxy, "a = 1\na.nothing\nb = = 2\nload(\"//lib.star\", \"wrap\")\nwrap(a)\n").await.expect(1);
    assert_eq!(done.stdout, "1\n");
    assert!(done.stderr.contains("--> <line 2>:1:1"), "{}", done.stderr);
    assert!(done.stderr.contains("^^^^^^^^^"), "{}", done.stderr);
    assert!(done.stderr.contains("--> <line 3>:1:5"), "{}", done.stderr);
}

#[tokio::test]
async fn built_ins_are_explained() {
    let proxy = seen().await;
    let done = typed(&proxy, "help(publish)\n:doc json\n:doc publsh\n:help\n:quit\n1 + 1\n").await.expect(1);
    assert!(
        done.stdout.starts_with("publish(meta, handler, over = ...")
            && done.stdout.contains("  (session scripts, at the top level)\n\nPublishes a tool"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("\njson.decode("), "{}", done.stdout);
    assert!(done.stderr.contains("unknown built-in `publsh`"), "{}", done.stderr);
    assert!(done.stderr.contains("hint: did you mean `publish`?"), "{}", done.stderr);
    assert!(!done.stdout.ends_with("2\n"), "{}", done.stdout);
}

#[tokio::test]
async fn an_interrupt_ends_the_line_and_not_the_prompt() {
    let proxy = seen().await;
    let (program, mut stdin, mut stdout) = Program::start(proxy.command(["repl"]));
    let log = program.stderr.clone();
    let slow = "slow = [call for meta, call in backends()[\"one\"].tools() if meta.name == \"slow\"][0]\ndef wait():\n    print(\"begun\")\n    return slow({\"ms\": 600000})\n\nwait()\n";
    stdin.write_all(slow.as_bytes()).await.expect("the prompt reads");
    let mut begun = [0; 6];
    within("the line's own words", &log, stdout.read_exact(&mut begun)).await.expect("it prints");
    assert_eq!(&begun, b"begun\n");
    program.interrupt();
    log.line("the call was cancelled").await;
    stdin.write_all(b"1 + 1\n").await.expect("the prompt reads");
    let mut answer = [0; 2];
    within("the next answer", &log, stdout.read_exact(&mut answer)).await.expect("it answers");
    assert_eq!(&answer, b"2\n");
}

/// The prompt on a terminal. `script` gives it one; what is typed comes through its own input.
fn on_a_terminal(proxy: &Proxy) -> (Program, tokio::process::ChildStdin, tokio::process::ChildStdout) {
    let inner = proxy.command(["repl"]);
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &format!("'{}' repl", inner.get_program().to_string_lossy()), "/dev/null"]);
    command.current_dir(proxy.directory.path()).stdin(Stdio::piped());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME").env("TERM", "xterm");
    let (mut program, stdin, stdout) = Program::start(command);
    program.stderr.patience = crate::support::patience::LONG_PATIENCE;
    (program, stdin, stdout)
}

#[tokio::test]
async fn what_is_typed_or_pasted_while_a_line_runs_is_not_lost() {
    let proxy = seen().await.file("policy.star", "");
    let (mut program, mut stdin, mut stdout) = on_a_terminal(&proxy);
    let log = program.stderr.clone();
    let mut shown = String::new();
    until(&mut stdout, &mut shown, ">>> ", &log).await;
    // All at once; the first takes its time.
    let lines = "sleep(0.2)\rx = 40\rdef f(n):\r    return n + x\r\rf(2)\rprint('last', f(3))\r";
    stdin.write_all(lines.as_bytes()).await.expect("it reads");
    until(&mut stdout, &mut shown, "\n42\r\n", &log).await;
    until(&mut stdout, &mut shown, "\nlast 43\r\n", &log).await;
    until(&mut stdout, &mut shown, ">>> ", &log).await;
    // A file of the project is offered too.
    stdin.write_all(b"load('//pol\t").await.expect("it reads");
    until(&mut stdout, &mut shown, "//policy.star", &log).await;
    stdin.write_all(b"\x03").await.expect("it reads");
    until(&mut stdout, &mut shown, ">>> ", &log).await;
    stdin.write_all(b"\x04").await.expect("it reads");
    assert!(program.exit().await.success());
}

#[tokio::test]
async fn a_terminal_has_a_prompt_completion_and_a_history() {
    let proxy = seen().await;
    let (mut program, mut stdin, mut stdout) = on_a_terminal(&proxy);
    let log = program.stderr.clone();
    let mut shown = String::new();
    until(&mut stdout, &mut shown, ">>> ", &log).await;
    stdin.write_all(b"def f(n):\r").await.expect("it reads");
    until(&mut stdout, &mut shown, "... ", &log).await;
    stdin.write_all(b"    return n + 1\r").await.expect("it reads");
    until(&mut stdout, &mut shown, "\n\x1b[?2004h\r\x1b[K... ", &log).await;
    stdin.write_all(b"\r").await.expect("it reads");
    until(&mut stdout, &mut shown, ">>> ", &log).await;
    // Tab completes the rest of the name.
    stdin.write_all(b"passthr\t").await.expect("it reads");
    until(&mut stdout, &mut shown, "passthrough", &log).await;
    // Ctrl-C forgets the line.
    stdin.write_all(b"\x03").await.expect("it reads");
    until(&mut stdout, &mut shown, ">>> ", &log).await;
    stdin.write_all(b"f(41)\r").await.expect("it reads");
    until(&mut stdout, &mut shown, "42", &log).await;
    until(&mut stdout, &mut shown, ">>> ", &log).await;
    stdin.write_all(b"\x04").await.expect("it reads");
    assert!(program.exit().await.success());
    let history = proxy.directory.path().join("home/.local/state/starlark-mcp-proxy/repl_history");
    let kept = std::fs::read_to_string(&history).expect("the history is kept");
    assert!(kept.contains("f(41)"), "{kept}");
    let mode = std::fs::metadata(&history).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Reads until a text is there; what comes behind it stays for the next look.
async fn until(
    stdout: &mut tokio::process::ChildStdout,
    shown: &mut String,
    wanted: &str,
    log: &crate::support::stderr_log::StderrLog,
) {
    let read = async {
        while !shown.contains(wanted) {
            let mut bytes = [0; 1024];
            let count = stdout.read(&mut bytes).await.expect("it can be read");
            assert!(count > 0, "it ended; it showed {shown:?}");
            shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    };
    within(&format!("`{wanted}` on the terminal"), log, read).await;
    let end = shown.find(wanted).map_or(0, |start| start + wanted.len());
    shown.drain(..end);
}
