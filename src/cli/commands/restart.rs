//! `proxy restart`: restarts a server of a running proxy.

use super::instance::{self, RunningServerArgs};
use crate::cli::failure::CommandFailure;
use crate::cli::{output, query, table};
use proxy_base::control::Instance;
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_model::operator_api::RestartReport;

pub(super) fn run(args: &RunningServerArgs) -> Result<(), CommandFailure> {
    let name = args.server.as_str();
    let running = having(name, args.pid)?;
    let answer = query::restart(&running, name)?;
    if args.json {
        output::json(&answer);
    } else if let Some(line) = told(name, &answer) {
        output::out(&line);
    }
    match answer.status.as_str() {
        "ready" => Ok(()),
        _ if args.json => Err(CommandFailure::already_reported(1)),
        _ => Err(CommandFailure::failed(not_ready(name, &answer))),
    }
}

/// The proxy that has the server.
fn having(server: &str, pid: Option<u32>) -> Result<Instance, CommandFailure> {
    let (mut having, mut known) = (Vec::new(), Vec::new());
    for instance in instance::meant(pid)? {
        let status = query::status(&instance)?;
        let names: Vec<String> = status.servers.into_iter().map(|server| server.name).collect();
        if names.iter().any(|name| name == server) {
            having.push(instance);
        }
        known.extend(names);
    }
    if having.is_empty() {
        return Err(unknown(server, &known));
    }
    instance::choose(having, &format!("several running proxies have a server `{server}`"))
}

fn unknown(server: &str, known: &[String]) -> CommandFailure {
    let problem = Diagnostic::error(format!("there is no server `{server}`"));
    let hint = match nearest(server, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "the running proxy has no servers".to_owned(),
        None => {
            let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("the servers are {}", names.join(", "))
        }
    };
    CommandFailure::failed(problem.hint(hint))
}

/// The message about a server that is ready.
fn told(name: &str, answer: &RestartReport) -> Option<String> {
    if answer.status != "ready" {
        return None;
    }
    let tools = table::count(answer.tools?, "tool");
    Some(format!("`{name}` is ready again after {:?} s: {tools}", answer.seconds))
}

fn not_ready(name: &str, answer: &RestartReport) -> Diagnostic {
    let RestartReport { seconds, error, .. } = answer;
    let seconds = format!("{seconds:?}");
    match answer.status.as_str() {
        "starting" => Diagnostic::error(format!("`{name}` is still starting after {seconds} s"))
            .hint("`proxy status` shows when it is ready"),
        "login" => Diagnostic::error(format!("`{name}` waits for authorization: {error}")),
        _ => Diagnostic::error(format!("`{name}` did not start ({seconds} s): {error}"))
            .hint(format!("the proxy will retry; `proxy logs {name}` shows what the server wrote")),
    }
}
