//! Tools in Python: a `TypedDict` for input and output, and a function, as a stub or with a body that calls the tool.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::Value;

use super::client_tool::ClientTool;
use super::names::{UniqueNames, pascal, snake};
use super::shape::{ObjectField, SchemaShape, Type};
use proxy_model::Definition;

/// Words that cannot name a function, and names that the module uses itself.
const TAKEN: [&str; 90] = [
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "match",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "type",
    "while",
    "with",
    "yield",
    "Any",
    "Client",
    "Exception",
    "Literal",
    "NoReturn",
    "OSError",
    "Optional",
    "Sequence",
    "ToolError",
    "Tuple",
    "TypedDict",
    "Union",
    "ValueError",
    "annotations",
    "base64",
    "bool",
    "cast",
    "dict",
    "float",
    "int",
    "isinstance",
    "json",
    "len",
    "list",
    "os",
    "re",
    "shared_client",
    "str",
    "subprocess",
    "super",
    "threading",
    "urllib",
    "_Answer",
    "_ChildConnection",
    "_HeaderArgument",
    "_HttpConnection",
    "_PROTOCOL_VERSION",
    "_answer_in_stream",
    "_arguments",
    "_header_value",
    "_meta",
    "_output",
    "_parsed",
    "_result_of",
    "_shared",
    "args",
    "arguments",
    "client",
    "print",
    "object",
    "property",
    "bytes",
    "set",
];

/// Types and stubs of all tools.
pub fn python<'a>(tools: impl Iterator<Item = &'a Definition>) -> String {
    let mut names = UniqueNames::without(&TAKEN);
    let stubs: Vec<String> = tools.map(|tool| function(tool, None, &mut names)).collect();
    let imports =
        "from __future__ import annotations\n\nfrom typing import Any, Literal, NoReturn, Optional, TypedDict, Union";
    format!("{imports}\n\n{}", stubs.join("\n"))
}

/// The functions of a module that calls these tools.
pub(super) fn python_functions(tools: &[ClientTool<'_>]) -> String {
    let mut names = UniqueNames::without(&TAKEN);
    let made: Vec<String> = tools.iter().map(|tool| function(tool.definition, Some(tool), &mut names)).collect();
    made.join("\n\n")
}

/// The types and the function of a tool; with a body if it is to be called.
fn function(tool: &Definition, called: Option<&ClientTool<'_>>, names: &mut UniqueNames) -> String {
    let base = pascal(tool.key());
    let function = names.take(&snake(tool.key()));
    let input = SchemaShape::of(&tool.member("inputSchema").unwrap_or_default());
    let mut text = String::new();
    let given = type_declared(&format!("{base}Arguments"), &base, &input, names, &mut text);
    let result = match tool.member("outputSchema") {
        Some(schema) => type_declared(&format!("{base}Result"), &base, &SchemaShape::of(&schema), names, &mut text),
        None => "Any".to_owned(),
    };
    let args = if input.is_optional() { format!("Optional[{given}] = None") } else { given.clone() };
    let words = [tool.text("title"), tool.text("description"), format!("Tool `{}`.", tool.key())];
    let words: Vec<&str> = words.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    let doc = doc_string(&words.join("\n\n"));
    // Writing to a `String` cannot fail.
    let _ = match called {
        None => writeln!(text, "def {function}(args: {args}) -> {result}:\n    {doc}\n    ..."),
        Some(called) => {
            let call = format!(
                "(client or shared_client()).call_tool({}, _arguments(args, arguments){})",
                python_literal(tool.key()),
                called.header_list(["(", ")"], python_literal)
            );
            let returned = if result == "Any" { call } else { format!("cast({result}, {call})") };
            // What is required may also be among the keywords, which no type can say in Python 3.10.
            writeln!(
                text,
                "def {function}(\n    args: Optional[{given}] = None, *, client: Optional[Client] = None, **arguments: Any\n) -> {result}:\n    {doc}\n    return {returned}"
            )
        }
    };
    text
}

/// Declares a type with its parts, and returns how to refer to it.
fn type_declared(wanted: &str, base: &str, shape: &SchemaShape, names: &mut UniqueNames, text: &mut String) -> String {
    let mut parts = HashMap::new();
    for pointer in shape.parts.keys() {
        let last = pointer.rsplit(['/', '#']).next().unwrap_or_default();
        let part = names.take(&format!("{base}{}", pascal(if last.is_empty() { "Self" } else { last })));
        parts.insert(pointer.as_str(), part);
    }
    let name = names.take(wanted);
    let mut writer = PythonWriter { parts, names, text };
    for (pointer, kind) in &shape.parts {
        let part = writer.parts[pointer.as_str()].clone();
        writer.declare(&part, kind);
    }
    writer.declare(&name, &shape.kind);
    quoted(&name)
}

struct PythonWriter<'a, 'n> {
    parts: HashMap<&'a str, String>,
    names: &'n mut UniqueNames,
    text: &'n mut String,
}

impl PythonWriter<'_, '_> {
    fn declare(&mut self, name: &str, kind: &Type) {
        match kind {
            Type::Object(fields, _) if !fields.is_empty() => self.typed_dict(name, fields),
            other => {
                let kind = self.kind(other, name);
                let _ = writeln!(self.text, "{name} = {kind}\n");
            }
        }
    }

    /// Keys may be no identifiers, so the types are made by calls; what is required and what is not are two of them.
    fn typed_dict(&mut self, name: &str, fields: &[ObjectField]) {
        let (required, optional): (Vec<&ObjectField>, Vec<&ObjectField>) =
            fields.iter().partition(|field| field.required);
        let mut bases = Vec::new();
        for (fields, suffix, total) in [(required, "Required", ""), (optional, "Optional", ", total=False")] {
            if fields.is_empty() {
                continue;
            }
            let members: Vec<String> = fields.iter().map(|field| self.member(name, field)).collect();
            let base = self.names.take(&format!("_{name}{suffix}"));
            let _ = writeln!(self.text, "{base} = TypedDict({}, {{\n{}}}{total})\n", quoted(&base), members.concat());
            bases.push(base);
        }
        let _ = writeln!(self.text, "\nclass {name}({}):\n    pass\n\n", bases.join(", "));
    }

    fn member(&mut self, name: &str, field: &ObjectField) -> String {
        let kind = self.kind(&field.kind, &format!("{name}{}", pascal(&field.name)));
        let lines = field.description.trim().lines().filter(|line| !line.trim().is_empty());
        let comments: String = lines.map(|line| format!("    # {}\n", harmless(line.trim_end()))).collect();
        format!("{comments}    {}: {kind},\n", python_literal(&field.name))
    }

    /// A type; an object inside of it gets a name that begins so.
    fn kind(&mut self, kind: &Type, name: &str) -> String {
        match kind {
            Type::Anything | Type::Both(_) => "Any".to_owned(),
            Type::Nothing => "NoReturn".to_owned(),
            Type::Null => "None".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Integer => "int".to_owned(),
            Type::Number => "float".to_owned(),
            Type::Text => "str".to_owned(),
            Type::Literal(value) => literal(value),
            Type::List(item) => format!("list[{}]", self.kind(item, &format!("{name}Item"))),
            Type::Tuple(..) => "list[Any]".to_owned(),
            Type::Map(value) => format!("dict[str, {}]", self.kind(value, &format!("{name}Value"))),
            Type::Object(fields, _) if fields.is_empty() => "dict[str, Any]".to_owned(),
            Type::Object(fields, _) => {
                let own = self.names.take(name);
                self.typed_dict(&own, fields);
                quoted(&own)
            }
            Type::Either(kinds) => {
                let mut all: Vec<String> = kinds.iter().map(|kind| self.kind(kind, name)).collect();
                all.dedup();
                format!("Union[{}]", all.join(", "))
            }
            Type::Part(pointer) => {
                self.parts.get(pointer.as_str()).map_or_else(|| "Any".to_owned(), |name| quoted(name))
            }
        }
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("Literal[{}]", python_literal(text)),
        Value::Bool(true) => "Literal[True]".to_owned(),
        Value::Bool(false) => "Literal[False]".to_owned(),
        Value::Number(number) if number.is_i64() || number.is_u64() => format!("Literal[{number}]"),
        Value::Number(_) => "float".to_owned(),
        Value::Null => "None".to_owned(),
        Value::Array(_) | Value::Object(_) => "Any".to_owned(),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// A string literal without other characters than ASCII.
fn python_literal(text: &str) -> String {
    let mut literal = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => literal.extend(['\\', letter]),
            ' '..='~' => literal.push(letter),
            other => literal.push_str(&format!("\\U{:08x}", u32::from(other))),
        }
    }
    literal + "\""
}

/// A doc string whose text cannot terminate it.
fn doc_string(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| harmless(line).replace('\\', "\\\\").replace('"', "\\\"")).collect();
    let indented = lines.iter().enumerate().map(|(number, line)| match (number, line.trim().is_empty()) {
        (0, _) => line.trim_end().to_owned(),
        (_, true) => String::new(),
        _ => format!("    {}", line.trim_end()),
    });
    let body = indented.collect::<Vec<_>>().join("\n");
    if lines.len() > 1 { format!("\"\"\"{body}\n    \"\"\"") } else { format!("\"\"\"{body}\"\"\"") }
}

/// A line without characters that end one.
fn harmless(line: &str) -> String {
    line.chars().map(|letter| if letter.is_control() && letter != '\t' { ' ' } else { letter }).collect()
}
