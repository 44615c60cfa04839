//! `codeMode`: scripts written by a model, and their resource limits.

use std::time::Duration;

use serde_json::{Value, json};

use crate::syntax::reader::ValueReader;

/// Maximum of `memory`: the address space of a worker also contains the program and its stacks.
const MAX_MEMORY: u64 = 256 << 20;

#[derive(Clone, Debug, PartialEq)]
pub struct CodeMode {
    pub enabled: bool,
    /// Maximum number of function calls and loop iterations.
    pub step_limit: u64,
    /// Timeout of the whole script, including tool calls.
    pub timeout: Duration,
    /// Maximum heap size in bytes.
    pub memory: u64,
    /// Maximum number of tool calls.
    pub max_calls: usize,
    /// Maximum size of result and printed output in bytes.
    pub max_output: u64,
    /// Maximum number of concurrent tool calls.
    pub parallel_max_concurrency: usize,
    pub tool_call_timeout: Duration,
    /// Whether scripts are refused where the system refuses a layer of their jail.
    pub require_jail: bool,
}

impl Default for CodeMode {
    fn default() -> Self {
        CodeMode {
            enabled: false,
            step_limit: 1_000_000,
            timeout: Duration::from_secs(60),
            memory: 64 << 20,
            max_calls: 100,
            max_output: 1 << 20,
            parallel_max_concurrency: 10,
            tool_call_timeout: Duration::from_secs(30),
            require_jail: false,
        }
    }
}

impl CodeMode {
    /// The value of `config()["codeMode"]` in scripts.
    pub fn to_json(&self) -> Value {
        json!({
            "enabled": self.enabled,
            "stepLimit": self.step_limit,
            "timeout": self.timeout.as_secs_f64(),
            "memory": self.memory,
            "maxCalls": self.max_calls,
            "maxOutput": self.max_output,
            "parallelMaxConcurrency": self.parallel_max_concurrency,
            "toolCallTimeout": self.tool_call_timeout.as_secs_f64(),
            "requireJail": self.require_jail,
        })
    }
}

pub(crate) fn read_code_mode(reader: &ValueReader) -> Option<CodeMode> {
    let mut code = CodeMode::default();
    let mut fields = reader.fields()?;
    fields.set(&mut code.enabled, "enabled", ValueReader::boolean);
    fields.set(&mut code.step_limit, "stepLimit", |reader| reader.count().map(|count| count as u64));
    fields.set(&mut code.timeout, "timeout", ValueReader::timeout);
    fields.set(&mut code.memory, "memory", |reader| match reader.size()? {
        size if size > MAX_MEMORY => reader.fail("must be at most 256MiB"),
        size => Some(size),
    });
    fields.set(&mut code.max_calls, "maxCalls", ValueReader::whole);
    fields.set(&mut code.max_output, "maxOutput", ValueReader::size);
    fields.set(&mut code.parallel_max_concurrency, "parallelMaxConcurrency", ValueReader::count);
    fields.set(&mut code.tool_call_timeout, "toolCallTimeout", ValueReader::timeout);
    fields.set(&mut code.require_jail, "requireJail", ValueReader::boolean);
    fields.finish();
    Some(code)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::CodeMode;
    use crate::testing::{errors, loaded};

    #[test]
    fn a_script_sees_every_key_with_its_default_in_seconds_and_bytes() {
        let expected = json!({
            "enabled": false, "stepLimit": 1_000_000, "timeout": 60.0, "memory": 67_108_864, "maxCalls": 100,
            "maxOutput": 1_048_576, "parallelMaxConcurrency": 10, "toolCallTimeout": 30.0, "requireJail": false,
        });
        assert_eq!(CodeMode::default().to_json(), expected);
        let config = loaded("codeMode: {enabled: true, timeout: 250ms, memory: 8MiB, maxCalls: 0, maxOutput: 4KiB}\n");
        assert_eq!(config.code_mode.to_json()["timeout"], json!(0.25));
        assert_eq!(config.code_mode.memory, 8 << 20);
        assert_eq!(config.code_mode.max_calls, 0);
        assert_eq!(config.set_sections[0].name, "codeMode");
    }

    #[test]
    fn what_cannot_work_is_told_with_its_key() {
        let found = errors("codeMode: {enabled: 1, stepLimit: 0, timeout: 0s, memory: much, maxcalls: 3}\n");
        for expected in [
            "`codeMode.enabled`: expected `true` or `false`",
            "`codeMode.stepLimit`: expected an integer of at least 1",
            "`codeMode.timeout`: must be greater than zero",
            "`codeMode.memory`: expected a size",
            "did you mean `maxCalls`?",
        ] {
            assert!(found.iter().any(|error| error.contains(expected)), "{expected}: {found:?}");
        }
        assert!(errors("codeMode: {memory: 1GiB}")[0].contains("`codeMode.memory`: must be at most 256MiB"));
    }
}
