//! Tools in TypeScript: interfaces for input and output, and a function, declared or with a body that calls the tool.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::Value;

use super::client_tool::{ClientTool, ascii_literal};
use super::names::{UniqueNames, camel, pascal};
use super::shape::{ObjectField, Rest, SchemaShape, Type};
use proxy_model::Definition;

/// Reserved words that cannot name a function in a strict-mode module.
const RESERVED: [&str; 51] = [
    "arguments",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "declare",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "type",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
];

/// Type names that the generated signatures use themselves.
const BUILT_IN: [&str; 6] = ["Array", "Promise", "Record", "Object", "Symbol", "Function"];

/// Names of values and types of the module that calls tools.
const OF_CLIENT: [&str; 27] = [
    "answerInStream",
    "globalThis",
    "headerValue",
    "meta",
    "output",
    "parsed",
    "resultOf",
    "runtime",
    "shared",
    "sharedClient",
    "variable",
    "AbortSignal",
    "ChildConnection",
    "Client",
    "ClientOptions",
    "Connection",
    "Error",
    "HeaderArgument",
    "HttpConnection",
    "JSON",
    "Map",
    "Members",
    "ReadonlyArray",
    "String",
    "ToolError",
    "Uint8Array",
    "undefined",
];

/// A module with declarations of all tools.
pub fn typescript<'a>(tools: impl Iterator<Item = &'a Definition>) -> String {
    let mut functions = UniqueNames::without(&RESERVED);
    let mut types = UniqueNames::without(&BUILT_IN);
    let declarations: Vec<String> = tools.map(|tool| declared(tool, None, &mut functions, &mut types)).collect();
    declarations.join("\n")
}

/// The functions of a module that calls these tools.
pub(super) fn typescript_functions(tools: &[ClientTool<'_>]) -> String {
    let mut functions = UniqueNames::without(&[&RESERVED[..], &OF_CLIENT].concat());
    let mut types = UniqueNames::without(&[&BUILT_IN[..], &OF_CLIENT].concat());
    let made: Vec<String> =
        tools.iter().map(|tool| declared(tool.definition, Some(tool), &mut functions, &mut types)).collect();
    made.join("\n")
}

/// The types and the function of a tool; with a body if it is to be called.
fn declared(
    tool: &Definition,
    called: Option<&ClientTool<'_>>,
    functions: &mut UniqueNames,
    types: &mut UniqueNames,
) -> String {
    let base = pascal(tool.key());
    let function = functions.take(&camel(tool.key()));
    let input = tool.member("inputSchema").unwrap_or_default();
    let mut text = String::new();
    let given = type_declared(&format!("{base}Arguments"), &base, &SchemaShape::of(&input), types, &mut text);
    let result = match tool.member("outputSchema") {
        Some(schema) => type_declared(&format!("{base}Result"), &base, &SchemaShape::of(&schema), types, &mut text),
        None => "unknown".to_owned(),
    };
    let words = [tool.text("title"), tool.text("description")];
    let mut words: Vec<&str> = words.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    let name = format!("Tool `{}`.", tool.key());
    words.push(&name);
    text.push_str(&comment(&words.join("\n\n"), ""));
    let is_optional = SchemaShape::of(&input).is_optional();
    // Writing to a `String` cannot fail.
    let _ = match called {
        None => {
            let mark = if is_optional { "?" } else { "" };
            writeln!(text, "export declare function {function}(args{mark}: {given}): Promise<{result}>;")
        }
        Some(called) => {
            let default = if is_optional { " = {}" } else { "" };
            let (name, headers) = (ascii_literal(tool.key()), called.header_list(["[", "]"], ascii_literal));
            writeln!(
                text,
                "export async function {function}(args: {given}{default}, client: Client = sharedClient()): Promise<{result}> {{\n  \
                 return (await client.callTool({name}, args{headers})) as {result};\n}}"
            )
        }
    };
    text
}

/// Declares a type with its parts, and returns its name.
fn type_declared(wanted: &str, base: &str, shape: &SchemaShape, types: &mut UniqueNames, text: &mut String) -> String {
    let name = types.take(wanted);
    let mut writer = TypeScriptWriter { parts: HashMap::new() };
    for pointer in shape.parts.keys() {
        let last = pointer.rsplit(['/', '#']).next().unwrap_or_default();
        let part = types.take(&format!("{base}{}", pascal(if last.is_empty() { "Self" } else { last })));
        writer.parts.insert(pointer, part);
    }
    for (pointer, kind) in &shape.parts {
        text.push_str(&writer.declaration(&writer.parts[pointer.as_str()], kind));
    }
    text.push_str(&writer.declaration(&name, &shape.kind));
    name
}

struct TypeScriptWriter<'a> {
    parts: HashMap<&'a str, String>,
}

impl TypeScriptWriter<'_> {
    fn declaration(&self, name: &str, kind: &Type) -> String {
        match kind {
            Type::Object(fields, rest) if !fields.is_empty() => {
                format!("export interface {name} {}\n\n", self.object(fields, *rest, ""))
            }
            other => format!("export type {name} = {};\n\n", self.kind(other, "")),
        }
    }

    fn kind(&self, kind: &Type, indent: &str) -> String {
        match kind {
            Type::Anything => "unknown".to_owned(),
            Type::Nothing => "never".to_owned(),
            Type::Null => "null".to_owned(),
            Type::Bool => "boolean".to_owned(),
            Type::Integer | Type::Number => "number".to_owned(),
            Type::Text => "string".to_owned(),
            Type::Literal(value) => literal(value),
            Type::List(item) => format!("Array<{}>", self.kind(item, indent)),
            Type::Tuple(first, rest) => {
                let mut items: Vec<String> = first.iter().map(|item| self.kind(item, indent)).collect();
                items.extend(rest.iter().map(|rest| format!("...Array<{}>", self.kind(rest, indent))));
                format!("[{}]", items.join(", "))
            }
            Type::Map(value) => format!("Record<string, {}>", self.kind(value, indent)),
            Type::Object(fields, Rest::Closed) if fields.is_empty() => "Record<string, never>".to_owned(),
            Type::Object(fields, _) if fields.is_empty() => "Record<string, unknown>".to_owned(),
            Type::Object(fields, rest) => self.object(fields, *rest, indent),
            Type::Either(kinds) => self.joined(kinds, " | ", indent),
            Type::Both(kinds) => self.joined(kinds, " & ", indent),
            Type::Part(pointer) => self.parts.get(pointer.as_str()).cloned().unwrap_or_else(|| "unknown".to_owned()),
        }
    }

    fn joined(&self, kinds: &[Type], by: &str, indent: &str) -> String {
        let of = |kind: &Type| match kind {
            Type::Either(_) | Type::Both(_) => format!("({})", self.kind(kind, indent)),
            _ => self.kind(kind, indent),
        };
        kinds.iter().map(of).collect::<Vec<_>>().join(by)
    }

    fn object(&self, fields: &[ObjectField], rest: Rest, indent: &str) -> String {
        let inner = format!("{indent}  ");
        let mut text = "{\n".to_owned();
        for field in fields {
            text.push_str(&comment(&described(field), &inner));
            let mark = if field.required { "" } else { "?" };
            let _ = writeln!(text, "{inner}{}{mark}: {};", property(&field.name), self.kind(&field.kind, &inner));
        }
        if rest == Rest::Open {
            let _ = writeln!(text, "{inner}[key: string]: unknown;");
        }
        text + indent + "}"
    }
}

fn described(field: &ObjectField) -> String {
    match &field.default {
        Some(default) => format!("{}\n\n@default {default}", field.description).trim().to_owned(),
        None => field.description.clone(),
    }
}

fn property(name: &str) -> String {
    let mut letters = name.chars();
    let plain = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, '_' | '$'))
        && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$'));
    if plain { name.to_owned() } else { literal(&Value::from(name)) }
}

/// A TypeScript string literal: a JSON string with U+2028 and U+2029 escaped, which older compilers treat as line
/// breaks.
fn literal(value: &Value) -> String {
    value.to_string().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A doc comment whose text cannot terminate it.
fn comment(text: &str, indent: &str) -> String {
    let text = text.trim().replace("*/", "*\\/");
    if text.is_empty() {
        return String::new();
    }
    let lines: Vec<&str> = text.split(['\n', '\r', '\u{2028}', '\u{2029}']).map(str::trim_end).collect();
    match lines[..] {
        [line] => format!("{indent}/** {line} */\n"),
        _ => {
            let body: String =
                lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n").collect();
            format!("{indent}/**\n{body}{indent} */\n")
        }
    }
}
