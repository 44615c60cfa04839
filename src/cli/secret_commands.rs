//! Runs the commands of `${exec:…}` in a config: without a shell, input or a terminal, and a few at a time.

mod output;

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use futures::StreamExt;

use output::{CommandOutput, TooMuchOutput};
use proxy_base::process::{Child, Launch, find_program, watchdog};
use proxy_config::SecretCommand;

/// How long a command may run.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// How many run at once.
const AT_ONCE: usize = 8;
/// How long output is still read after a command has ended: a daemon that it started may hold its pipes open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

/// The variables of a command's environment.
type Variables = [(String, String)];

/// The output of each command, or why there is none. Blocks, also where a runtime runs.
pub(super) fn run(commands: &[SecretCommand], variables: &Variables) -> Vec<Result<Vec<u8>, String>> {
    let failed = |problem: String| commands.iter().map(|_| Err(problem.clone())).collect();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(run_all(commands, variables)))
        });
        match running.join() {
            Ok(Ok(outputs)) => outputs,
            Ok(Err(error)) => failed(format!("cannot be started: {error}")),
            Err(_) => failed("cannot be started".to_owned()),
        }
    })
}

async fn run_all(commands: &[SecretCommand], variables: &Variables) -> Vec<Result<Vec<u8>, String>> {
    futures::stream::iter(commands).map(|command| run_one(command, variables)).buffered(AT_ONCE).collect().await
}

async fn run_one(command: &SecretCommand, variables: &Variables) -> Result<Vec<u8>, String> {
    let launch = launch(command, variables)?;
    let mut output = CommandOutput::default();
    let ended = tokio::time::timeout(TIME_LIMIT, end_of(&launch, &mut output)).await;
    let problem = match ended {
        Ok(Ok(status)) if status.success() => return Ok(output.into_bytes()),
        Ok(Ok(status)) => describe(status),
        Ok(Err(problem)) => return Err(problem),
        Err(_) => format!("did not end within {} s; it gets no input and no terminal", TIME_LIMIT.as_secs()),
    };
    Err(match output.last_error_line() {
        Some(line) => format!("{problem}: {line}"),
        None => problem,
    })
}

fn launch(command: &SecretCommand, variables: &Variables) -> Result<Launch, String> {
    let mut environment = variables.to_vec();
    let mut program = PathBuf::from(&command.program);
    if !command.program.contains('/') {
        let found = find_program(&command.program, |name| std::env::var_os(name));
        let found = found.map_err(|not_found| format!("was not found {not_found}"))?;
        if let Some(path) = found.path {
            environment.retain(|(name, _)| name != "PATH");
            environment.push(("PATH".to_owned(), path.to_string_lossy().into_owned()));
        }
        program = found.file;
    }
    Ok(Launch { program, args: command.args.clone(), environment, folder: None, terminal: false })
}

/// Runs a command to its end. What is left of its process group is then killed.
async fn end_of(launch: &Launch, output: &mut CommandOutput) -> Result<ExitStatus, String> {
    if let Err(error) = std::env::current_exe().and_then(|executable| watchdog::start(&executable)) {
        tracing::debug!(%error, "the watchdog did not start: a command may keep running if the proxy is killed");
    }
    let started = Child::start(launch);
    let (mut child, input, stdout, stderr) = started.map_err(|error| format!("cannot be started: {error}"))?;
    drop(input);
    let reading = output.read(stdout, stderr);
    tokio::pin!(reading);
    let too_much = |_: TooMuchOutput| "printed more than 64 KiB".to_owned();
    let ended = tokio::select! {
        read = &mut reading => {
            read.map_err(too_much)?;
            None
        }
        status = child.wait() => Some(status),
    };
    let status = match ended {
        None => child.wait().await,
        Some(status) => {
            if let Ok(read) = tokio::time::timeout(DRAIN_TIMEOUT, reading).await {
                read.map_err(too_much)?;
            }
            status
        }
    };
    status.map_err(|error| format!("cannot be waited for: {error}"))
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "failed".to_owned(),
    }
}
