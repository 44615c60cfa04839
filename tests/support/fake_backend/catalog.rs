//! The tools this server lists: built in, from a file byte for byte, or malformed on purpose.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::options::Options;

pub struct Catalog {
    pub tools: Vec<Box<RawValue>>,
    /// Results of tools from a file, by tool name, returned verbatim.
    pub results: BTreeMap<String, Box<RawValue>>,
}

/// Name, description and the properties of the input schema.
const BUILTIN: [(&str, &str, &str); 33] = [
    ("echo", "Returns its arguments.", ""),
    ("raw", "Returns the result given as an object, or as text, verbatim.", r#""result":{}"#),
    ("params", "Returns the raw params of this request.", ""),
    ("seen", "What reached this server; waits until a message holds `wait_for`.", r#""wait_for":{"type":"string"}"#),
    ("headers", "The HTTP headers of this request.", ""),
    ("pid", "The process id.", ""),
    ("env", "The environment.", ""),
    ("cwd", "The working directory.", ""),
    ("slow", "Waits before it answers.", r#""ms":{"type":"integer"}"#),
    (
        "progress",
        "Sends progress, then answers.",
        r#""n":{"type":"integer"},"ms":{"type":"integer"},"values":{"type":"array"}"#,
    ),
    ("stall", "Never answers.", ""),
    ("flood", "Sends log messages, then answers.", r#""n":{"type":"integer"}"#),
    ("reorder", "Answers groups of calls in reverse order.", r#""n":{"type":"integer"}"#),
    ("big", "Answers with a text of n bytes.", r#""n":{"type":"integer"}"#),
    (
        "ask",
        "Asks the user for a colour.",
        r#""message":{"type":"string"},"rounds":{"type":"integer"},"via":{"type":"string"}"#,
    ),
    ("sample", "Asks the client's model.", ""),
    ("ping_client", "Asks whether the client is there.", ""),
    ("notify", "Sends a notification.", r#""method":{"type":"string"},"params":{},"to":{"type":"string"}"#),
    ("touch", "Tells of updates of a resource.", r#""uri":{"type":"string"},"n":{"type":"integer"}"#),
    ("end_streams", "Ends every listening stream.", ""),
    ("batch", "Answers inside an array.", ""),
    ("roots", "Asks for the client's roots.", ""),
    ("crash", "Exits at once.", r#""code":{"type":"integer"}"#),
    ("twice", "Answers twice.", ""),
    ("unknown_id", "First answers an id nobody asked about.", ""),
    ("both", "Answers with a result and an error.", ""),
    ("neither", "Answers with neither a result nor an error.", ""),
    ("garbage", "Writes lines that are not JSON, then answers.", ""),
    ("rpc_error", "Answers with this error.", r#""code":{"type":"integer"},"message":{"type":"string"},"data":{}"#),
    ("fail", "Answers with isError.", r#""message":{"type":"string"}"#),
    ("spawn_grandchild", "Starts a process of its own.", r#""hold_stdout":{"type":"boolean"}"#),
    ("add_tool", "Adds a tool and tells so.", r#""name":{"type":"string"}"#),
    ("region_tool", "Wants some arguments in headers.", REGION_PROPERTIES),
];

const REGION_PROPERTIES: &str = r#""region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"},"options":{"type":"object","properties":{"fast":{"type":"boolean","x-mcp-header":"Fast"}}}"#;

const BAD_HEADERS: [(&str, &str, &str); 5] = [
    ("bad_header_number", "", r#""n":{"type":"number","x-mcp-header":"N"}"#),
    ("bad_header_items", "", r#""n":{"type":"array","items":{"type":"string","x-mcp-header":"N"}}"#),
    (
        "bad_header_duplicate",
        "",
        r#""a":{"type":"string","x-mcp-header":"Twice"},"b":{"type":"string","x-mcp-header":"tWICE"}"#,
    ),
    ("bad_header_empty", "", r#""n":{"type":"string","x-mcp-header":""}"#),
    ("bad_header_space", "", r#""n":{"type":"string","x-mcp-header":"a b"}"#),
];

impl Catalog {
    pub fn load(options: &Options) -> Self {
        let mut tools: Vec<Box<RawValue>> = options.tools_file.as_deref().map(read).unwrap_or_default();
        if options.tools_file.is_none() || options.builtin_tools {
            tools.extend(builtin(options.only.as_deref()));
        }
        if options.malformed_tool {
            // In the middle, so that a reader that gives up there also loses good tools.
            tools.insert(tools.len() / 2, raw(r#"{"name":"malformed","description":"It has no inputSchema."}"#.into()));
        }
        if options.bad_headers {
            tools.extend(BAD_HEADERS.map(|(name, description, properties)| tool(name, description, properties)));
        }
        if options.tasks {
            tools.extend(crate::tasks::TOOLS.map(|(name, support)| {
                let plain = tool(name, "Works as a task.", "");
                let head = plain.get().trim_end_matches('}');
                raw(format!(r#"{head}}}}},"execution":{{"taskSupport":"{support}"}}}}"#))
            }));
        }
        Self { tools, results: options.results_file.as_deref().map(read).unwrap_or_default() }
    }
}

/// What a file that may change says of `tools`, `prompts`, `resources` or `resourceTemplates`, if anything.
pub fn live_items(path: &str, kind: &str) -> Option<Vec<Box<RawValue>>> {
    let items = read::<BTreeMap<String, Box<RawValue>>>(path).remove(kind)?;
    Some(serde_json::from_str(items.get()).unwrap_or_else(|problem| panic!("{path} is not as expected: {problem}")))
}

/// The tools in a file that may change. In their texts, `{list}` stands for this number.
pub fn live_tools(path: &str, list: usize) -> Vec<Box<RawValue>> {
    let tools = live_items(path, "tools").unwrap_or_default();
    tools.iter().map(|tool| raw(tool.get().replace("{list}", &list.to_string()))).collect()
}

/// The instructions in a file that may change.
pub fn live_instructions(path: &str) -> Option<String> {
    let instructions = read::<BTreeMap<String, Box<RawValue>>>(path).remove("instructions")?;
    serde_json::from_str(instructions.get()).ok()
}

fn builtin(only: Option<&[String]>) -> Vec<Box<RawValue>> {
    let all = BUILTIN.iter();
    match only {
        None => all.map(|(name, description, properties)| tool(name, description, properties)).collect(),
        Some(names) => names
            .iter()
            .map(|name| match BUILTIN.iter().find(|(known, ..)| known == name) {
                Some((name, description, properties)) => tool(name, description, properties),
                None => tool(name, "Returns its arguments.", ""),
            })
            .collect(),
    }
}

pub fn tool(name: &str, description: &str, properties: &str) -> Box<RawValue> {
    let (name, description) = (crate::message::quoted(name), crate::message::quoted(description));
    raw(format!(
        r#"{{"name":{name},"description":{description},"inputSchema":{{"type":"object","properties":{{{properties}}}}}}}"#
    ))
}

fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).expect("built-in tools are valid JSON")
}

fn read<T: DeserializeOwned>(path: &str) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|problem| panic!("cannot read {path}: {problem}"));
    serde_json::from_str(&text).unwrap_or_else(|problem| panic!("{path} is not as expected: {problem}"))
}
