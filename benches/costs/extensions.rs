//! Extensions: how long many of them take to load, and what a tool costs that is an executable.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use proxy_engine::extension::{candidates, open, read};
use proxy_fiber::Pool;
use proxy_host_io::HostIo;

use crate::{cpu, stdio};

/// One with a tool that does nothing but answer.
pub const TRIVIAL: &str = r#"
def echo(params):
    return "the answer"

def describe_extension():
    return Extension(name = "trivial", version = "1.0.0", tools = [Tool(
        name = "echo", description = "Answers", handler = echo,
        parameters = [ToolParameter(name = "text", param_type = "string"), ToolParameter(name = "number", param_type = "integer")],
    )])
"#;

/// One with a tool that is an executable.
const EXECUTABLE: &str = r#"
def describe_extension():
    return Extension(name = "executable", version = "1.0.0", allowed_exec = ["./executable/answer"], tools = [Tool(
        name = "echo", description = "Answers", handler = command(["./executable/answer"]),
        parameters = [ToolParameter(name = "text", param_type = "string"), ToolParameter(name = "number", param_type = "integer")],
    )])
"#;

const STARTS: u32 = 2_000;

/// CPU microseconds, without those of the executable, for a call of a tool that is one and for starting it without a proxy.
pub async fn executable(folder: &Path, serve: impl Fn(PathBuf) -> Vec<String>) -> (f64, f64) {
    let answer = folder.join("executable/answer");
    fs::create_dir_all(folder.join("executable")).unwrap();
    fs::write(&answer, "#!/bin/sh\nread arguments\necho the answer\n").unwrap();
    fs::set_permissions(&answer, fs::Permissions::from_mode(0o755)).unwrap();
    let file = folder.join("executable.star");
    fs::write(&file, EXECUTABLE).unwrap();
    let called = stdio::cost(&serve(file), 1, STARTS as usize).await;
    let before = cpu::seconds(std::process::id());
    for _ in 0..STARTS {
        let mut child = Command::new(&answer).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"{\"text\": \"some argument\"}\n").unwrap();
        assert_eq!(child.wait_with_output().unwrap().stdout, b"the answer\n");
    }
    let started = (cpu::seconds(std::process::id()) - before) * 1e6 / f64::from(STARTS);
    (called, started)
}

/// Milliseconds for so many, each as long as the example `text`; the best of some runs.
pub fn loading(folder: &Path, count: usize) -> f64 {
    let folder = folder.join("many");
    fs::create_dir_all(&folder).unwrap();
    let text = include_str!("../../extensions/text.star");
    for number in 0..count {
        let own =
            text.replace("name = \"text\",\n        version", &format!("name = \"text{number}\",\n        version"));
        fs::write(folder.join(format!("text{number}.star")), own).unwrap();
    }
    let host_io = Arc::new(HostIo::new(Vec::new(), None));
    let load = || {
        let started = Instant::now();
        let pool = Pool::new(1);
        let files = candidates(&folder).unwrap();
        let loaded = files.iter().filter_map(|file| open(&read(file).unwrap(), &pool, &host_io).unwrap());
        assert_eq!(loaded.count(), count);
        started.elapsed().as_secs_f64() * 1e3
    };
    (0..5).map(|_| load()).fold(f64::INFINITY, f64::min)
}
