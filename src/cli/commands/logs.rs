//! `proxy logs`: shows what a server of a running proxy wrote to stderr.

use std::collections::HashMap;

use jiff::Timestamp;

use super::instance::{self, RunningServerArgs};
use crate::cli::failure::CommandFailure;
use crate::cli::logging::{full_time, short_time};
use crate::cli::{output, query};
use proxy_base::diagnostic::Diagnostic;
use proxy_model::operator_api::{LoggedLine, ServerLog};

pub(super) fn run(args: &RunningServerArgs) -> Result<(), CommandFailure> {
    let (mut having, mut answers, mut refusals) = (Vec::new(), HashMap::new(), Vec::new());
    for instance in instance::meant(args.pid)? {
        let answer = query::server_log(&instance, &args.server)?;
        if answer.lines.is_some() {
            answers.insert(instance.pid, answer);
            having.push(instance);
        } else {
            refusals.push(answer);
        }
    }
    if having.is_empty() {
        return Err(refused(refusals.into_iter().next().unwrap_or_default()));
    }
    let chosen = instance::choose(having, &format!("several running proxies have a server `{}`", args.server))?;
    let answer: Option<ServerLog> = answers.remove(&chosen.pid);
    print(&answer.and_then(|answer| answer.lines).unwrap_or_default(), args.json);
    Ok(())
}

fn refused(answer: ServerLog) -> CommandFailure {
    let error = answer.error.unwrap_or_else(|| "the running proxy did not understand the request".to_owned());
    let hint = answer.hint.unwrap_or_else(|| "it may run a different version: restart it".to_owned());
    CommandFailure::failed(Diagnostic::error(error).hint(hint))
}

fn print(lines: &[LoggedLine], json: bool) {
    if json {
        return output::json(&lines);
    }
    if lines.is_empty() {
        return output::err("the server has written nothing to standard error");
    }
    for line in lines {
        let time: Option<Timestamp> = line.time.parse().ok();
        let time = time.map(|time| if output::is_terminal() { short_time(time) } else { full_time(time) });
        let text = output::one_line(&line.text).into_owned();
        output::out(&format!("{} {text}", time.unwrap_or_default()));
    }
}
