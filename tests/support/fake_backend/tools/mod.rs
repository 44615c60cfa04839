//! The built-in tools, by what they are good for.

mod faults;
mod inspection;
mod nested;
mod processes;
mod timing;

use std::sync::Arc;

use crate::call::Call;
use crate::message::Refusal;
use crate::request::Request;
use crate::shared::Shared;
use crate::tasks;

pub async fn call(shared: &Arc<Shared>, request: Request) {
    let call = Call::new(shared.clone(), request);
    if let Some(result) = shared.catalog.results.get(&call.name) {
        return call.answer(result.get());
    }
    match call.name.as_str() {
        "job" | "maybe" if shared.options.tasks => tasks::call(&call, call.name == "job"),
        "echo" | "with_form" => inspection::echo(&call),
        "raw" => inspection::raw(&call),
        "params" => inspection::params(&call),
        "seen" => inspection::seen(&call).await,
        "headers" | "region_tool" => inspection::headers(&call),
        "pid" => inspection::pid(&call),
        "env" => inspection::env(&call),
        "cwd" => inspection::cwd(&call),
        "slow" => timing::slow(&call).await,
        "progress" => timing::progress(&call).await,
        "stall" => timing::stall(&call).await,
        "flood" => timing::flood(&call),
        "reorder" => timing::reorder(&call),
        "big" => inspection::big(&call),
        "ask" => nested::ask(&call).await,
        "sample" => nested::sample(&call).await,
        "roots" => nested::roots(&call).await,
        "crash" => std::process::exit(call.argument("code").unwrap_or(1)),
        "twice" => faults::twice(&call),
        "unknown_id" => faults::unknown_id(&call),
        "both" => faults::both(&call),
        "neither" => faults::neither(&call),
        "garbage" => faults::garbage(&call),
        "rpc_error" => faults::rpc_error(&call).await,
        "fail" => faults::fail(&call),
        "spawn_grandchild" => processes::spawn_grandchild(&call),
        "notify" => processes::notify(&call),
        "touch" => crate::subscriptions::touch(&call),
        "end_streams" => processes::end_streams(&call),
        "batch" => faults::batch(&call),
        "ping_client" => nested::ping(&call).await,
        "add_tool" => processes::add_tool(&call),
        _ if is_listed(&call) => inspection::echo(&call),
        name => call.refuse(&Refusal::new(200, -32602, format!("there is no tool {name}"))),
    }
}

/// Tools from a file, or added later, return their arguments.
fn is_listed(call: &Call) -> bool {
    let name = format!(r#""name":{}"#, crate::message::quoted(&call.name));
    call.shared.tools().iter().any(|tool| tool.get().replace(": ", ":").contains(&name))
}
