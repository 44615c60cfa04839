//! Runs a command of the proxy over the copy of a folder, in a process that can do nothing else.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use proxy_base::diagnostic::Diagnostic;
use proxy_base::process::{Child, Launch};
use proxy_code_mode::sandbox::{ReaderLimits, WorkerExit, reader_arguments};

/// How long a command may take. Each test has a minute.
const TIMEOUT: Duration = Duration::from_secs(120);
/// How long it may compute.
const PROCESSOR_TIME: Duration = Duration::from_secs(100);
const MEMORY: u64 = 1 << 30;
const MAX_OUTPUT: u64 = 16 << 20;
const MAX_ERRORS: u64 = 256 << 10;

/// By default the allocator reserves more address space at once than it needs here.
const ALLOCATOR_RESERVE: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "64MiB");

/// What a command wrote, and how it ended.
#[derive(Debug)]
pub(super) struct CommandOutput {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs a command in this folder. `variables` are its whole environment beside the language. Dropping the future ends the process.
pub(super) async fn run(
    folder: &Path,
    variables: &[(String, String)],
    command: &[String],
    requires_jail: bool,
) -> Result<CommandOutput, Diagnostic> {
    let limits = ReaderLimits { time: PROCESSOR_TIME, memory: MEMORY, requires_jail };
    let program = std::env::current_exe().map_err(|error| not_started(&error))?;
    let mut args = reader_arguments(limits);
    args.extend(command.iter().cloned());
    let mut environment = vec![(ALLOCATOR_RESERVE.0.to_owned(), ALLOCATOR_RESERVE.1.to_owned())];
    environment.extend(variables.iter().cloned());
    let launch = Launch { program, args, environment, folder: Some(folder.to_owned()), terminal: false };
    let started = Child::start(&launch).map_err(|error| not_started(&error))?;
    let (mut child, stdin, stdout, stderr) = started;
    drop(stdin);
    let work = async {
        let read = tokio::try_join!(read(stdout, MAX_OUTPUT), read(stderr, MAX_ERRORS));
        let (stdout, stderr) = read?;
        let status = child.wait().await.map_err(|error| not_started(&error))?;
        ended(status)?;
        Ok(CommandOutput { code: status.code().unwrap_or(1), stdout, stderr })
    };
    let timeout = || Diagnostic::error(format!("it took longer than {} s and was stopped", TIMEOUT.as_secs()));
    tokio::time::timeout(TIMEOUT, work)
        .await
        .unwrap_or_else(|_| Err(timeout().hint("look for a loop that does not end")))
}

async fn read(stream: impl AsyncRead + Unpin, most: u64) -> Result<String, Diagnostic> {
    let mut bytes = Vec::new();
    // A pipe that breaks ends like one that is closed: the exit status says why.
    let _ = stream.take(most + 1).read_to_end(&mut bytes).await;
    if bytes.len() as u64 > most {
        return Err(
            Diagnostic::error(format!("it wrote more than {} KiB and was stopped", most >> 10)).hint("print less")
        );
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn not_started(error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(format!("cannot run the proxy's own program in a confined process: {error}"))
}

/// The error of a process that did not end by itself.
fn ended(status: ExitStatus) -> Result<(), Diagnostic> {
    use std::os::unix::process::ExitStatusExt;
    let is = |exit: WorkerExit| status.code() == Some(exit as i32);
    if is(WorkerExit::Memory) {
        let problem = format!("it used more than its limit of {} MiB of memory", MEMORY >> 20);
        return Err(Diagnostic::error(problem).hint("look for a value that grows without end"));
    }
    if is(WorkerExit::Unconfined) {
        return Err(unconfined());
    }
    match status.signal() {
        None => Ok(()),
        Some(libc::SIGSEGV | libc::SIGABRT | libc::SIGBUS) => {
            Err(Diagnostic::error("a script or one of its values is nested too deeply"))
        }
        Some(libc::SIGKILL | libc::SIGXCPU) => {
            let seconds = PROCESSOR_TIME.as_secs();
            let problem =
                format!("it was stopped: it computed for more than {seconds} s, or the system is out of memory");
            Err(Diagnostic::error(problem).hint("look for a loop that does not end"))
        }
        Some(_) => Err(Diagnostic::error(format!("the process was lost ({status})"))),
    }
}

fn unconfined() -> Diagnostic {
    Diagnostic::error(
        "this tool does not work here: the system cannot confine what a model has written (Landlock, seccomp)",
    )
    .hint("run `proxy author` on Linux 5.13 or later, where the container allows both; a person can run `proxy test`")
}
