//! The running proxy's answer to `proxy logs`: the last lines that a server wrote to stderr.

use super::logging::{full_time, lines_of};
use proxy_base::diagnostic::nearest;
use proxy_model::operator_api::{LoggedLine, ServerLog};
use proxy_model::{BackendKind, BackendView};

/// The lines of the server `name`, oldest first, or why there are none.
pub(super) fn of_server(name: &str, servers: &[std::sync::Arc<BackendView>]) -> ServerLog {
    let known: Vec<&str> = servers.iter().map(|server| server.name.as_ref()).collect();
    let Some(server) = servers.iter().find(|server| server.name.as_ref() == name) else {
        let hint = nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        let all = || {
            format!("its servers are {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        };
        let hint = hint.unwrap_or_else(|| if known.is_empty() { "it has no servers".to_owned() } else { all() });
        return none(format!("there is no server `{name}`"), hint);
    };
    match server.kind {
        BackendKind::Stdio => {
            let lines = lines_of(name).into_iter();
            let lines = lines.map(|line| LoggedLine { time: full_time(line.time), text: line.text.to_string() });
            ServerLog { server: Some(name.to_owned()), lines: Some(lines.collect()), ..ServerLog::default() }
        }
        BackendKind::Extension => none(
            format!("`{name}` is an extension, which has no standard error"),
            "its output is in the proxy's log".to_owned(),
        ),
        _ => none(
            format!("`{name}` is a remote server: the proxy does not see its standard error"),
            "check its log on the machine where it runs".to_owned(),
        ),
    }
}

fn none(error: String, hint: String) -> ServerLog {
    ServerLog { error: Some(error), hint: Some(hint), ..ServerLog::default() }
}
