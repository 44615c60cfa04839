//! The schemas of a tool, compiled when they are first needed and kept with the tool's definition.

use std::sync::OnceLock;

use serde_json::Value;

use proxy_json::{InvalidSchema, Schema};

/// The two schemas that a tool may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSchema {
    Input,
    Output,
}

impl ToolSchema {
    /// The member of the tool's definition.
    pub fn member(self) -> &'static str {
        match self {
            ToolSchema::Input => "inputSchema",
            ToolSchema::Output => "outputSchema",
        }
    }
}

/// The compiled schemas of one definition.
#[derive(Debug, Default)]
pub(super) struct CompiledSchemas {
    input: CompiledSchema,
    output: CompiledSchema,
}

/// A copy of a definition is made to be changed, so it compiles its schemas again.
impl Clone for CompiledSchemas {
    fn clone(&self) -> Self {
        CompiledSchemas::default()
    }
}

impl CompiledSchemas {
    pub(super) fn of(&self, schema: ToolSchema) -> &CompiledSchema {
        match schema {
            ToolSchema::Input => &self.input,
            ToolSchema::Output => &self.output,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct CompiledSchema {
    /// `None` if the schema is absent or invalid.
    compiled: OnceLock<Option<Box<Schema>>>,
    /// `None` if the schema is absent or valid.
    fault: OnceLock<Option<Box<InvalidSchema>>>,
}

impl CompiledSchema {
    pub(super) fn compiled(&self, schema: impl FnOnce() -> Option<Value>) -> Option<&Schema> {
        let compiled = self.compiled.get_or_init(|| match Schema::compile(&schema()?) {
            Ok(compiled) => {
                let _ = self.fault.set(None);
                Some(Box::new(compiled))
            }
            Err(fault) => {
                let _ = self.fault.set(Some(Box::new(fault)));
                None
            }
        });
        compiled.as_deref()
    }

    /// Does not keep the compiled schema: it is large, and most tools are forwarded without using it.
    pub(super) fn fault(&self, schema: impl FnOnce() -> Option<Value>) -> Option<&InvalidSchema> {
        self.fault.get_or_init(|| Schema::compile(&schema()?).err().map(Box::new)).as_deref()
    }
}
