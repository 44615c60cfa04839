//! Tools that change what there is. The change is real: what is listed before and after differs.

use rmcp::model::{Prompt, Tool};
use serde_json::json;

use crate::fixtures::tool;

pub const OF_TOOLS: &str = "test_trigger_tool_change";
pub const OF_PROMPTS: &str = "test_trigger_prompt_change";

pub fn definitions() -> Vec<Tool> {
    let none = json!({});
    vec![
        tool(OF_TOOLS, "Adds a tool, or takes it away again.", &none),
        tool(OF_PROMPTS, "Adds a prompt, or takes it away again.", &none),
    ]
}

pub fn tool_that_comes_and_goes() -> Tool {
    tool("test_passing_tool", "Is not always there.", &json!({}))
}

pub fn prompt_that_comes_and_goes() -> Prompt {
    Prompt::new("test_passing_prompt", Some("Is not always there."), None)
}
