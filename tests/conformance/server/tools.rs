//! All tools together, and which module answers for which.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, Tool};

use crate::audience::{Audience, Kind};
use crate::call::Call;
use crate::fixtures::text;
use crate::tasks::Tasks;
use crate::{changes, content, elicitation, input_required, logging, progress, schemas, tasks};

/// The first of them must be one that can be called without arguments.
pub fn definitions(audience: &Audience) -> Vec<Tool> {
    let mut tools = content::definitions();
    tools.push(progress::definition());
    tools.extend(logging::definitions());
    tools.extend(elicitation::definitions());
    tools.extend(input_required::definitions());
    tools.extend(schemas::definitions());
    tools.extend(changes::definitions());
    tools.extend(tasks::definitions());
    if audience.has_extra(Kind::Tools) {
        tools.push(changes::tool_that_comes_and_goes());
    }
    tools
}

pub async fn call(call: &Call, audience: &Audience, tasks: &Tasks) -> Result<CallToolResponse, ErrorData> {
    if let Some(result) = content::answer(&call.name) {
        return Ok(result.into());
    }
    if let Some(outcome) = elicitation::call(call).await {
        return outcome;
    }
    if let Some(outcome) = input_required::call(call).await {
        return outcome;
    }
    if let Some(outcome) = tasks.call(call).await {
        return outcome;
    }
    match call.name.as_str() {
        progress::NAME => progress::report(call).await,
        schemas::WITH_HEADER => return Ok(text(call.text("value"))),
        changes::OF_TOOLS => audience.change(Kind::Tools).await,
        changes::OF_PROMPTS => audience.change(Kind::Prompts).await,
        name if !logging::messages(name).is_empty() => logging::log(call, audience.log_level()).await,
        name => return Err(ErrorData::invalid_params(format!("there is no tool `{name}` to call"), None)),
    }
    Ok(text("Done."))
}
