//! Signature help: the parameters of the function that is being called, and which of them comes next.

use lsp_types::{
    Documentation, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp, SignatureInformation,
};

use super::definition::loaded_function;
use super::document::ScriptDocument;
use super::infer::Inferred;
use super::syntax;
use super::workspace::WorkspaceState;
use crate::reference::{self, BuiltinEntry};

pub(super) fn signature_help(
    document: &ScriptDocument,
    offset: usize,
    workspace: &WorkspaceState,
) -> Option<SignatureHelp> {
    let before = &document.text[..offset];
    let open = syntax::open_brackets(before);
    let call = open.iter().rev().find(|open| open.bracket == '(')?;
    let function = syntax::expression_before(before, call.offset);
    let (label, text) = signature(function, document, call.offset, workspace)?;
    let last_comma = call.commas.last().map_or(call.offset, |comma| *comma);
    let active = active_parameter(&parameters(&label), call.commas.len(), &before[last_comma + 1..]);
    let parameters = parameters(&label)
        .into_iter()
        .map(|name| ParameterInformation { label: ParameterLabel::Simple(name.to_owned()), documentation: None });
    let signature = SignatureInformation {
        parameters: Some(parameters.collect()),
        documentation: (!text.is_empty())
            .then_some(Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: text })),
        active_parameter: active,
        label,
    };
    Some(SignatureHelp { signatures: vec![signature], active_signature: Some(0), active_parameter: active })
}

/// The signature and the documentation of a function: of the file, of a file that it loads, or a built-in.
fn signature(
    function: &str,
    document: &ScriptDocument,
    at: usize,
    workspace: &WorkspaceState,
) -> Option<(String, String)> {
    let last = function.rsplit('.').next().filter(|name| !name.is_empty())?;
    // `def f(` is no call.
    let line = document.line_before(at).1.trim_start();
    if line.starts_with("def ") {
        return None;
    }
    if let Some(found) = defined_function(&document.text, function) {
        return Some(found);
    }
    if let Some((file, name)) = loaded_function(&document.source(), function, workspace) {
        return defined_function(&file.text, &name);
    }
    let of_type = || {
        let owner = function.len() - last.len();
        let start = at - function.len();
        let kind = Inferred::before(&document.text, start + owner.checked_sub(1)?)?;
        reference::find(&format!("{}.{last}", kind.type_name()?)).into_iter().next()
    };
    let entry: &BuiltinEntry = of_type().or_else(|| match reference::find(function)[..] {
        [entry] => Some(entry),
        _ => None,
    })?;
    // The name of the type is not part of the call.
    let label = if function.contains('.') && reference::find(function).iter().all(|known| known.name != function) {
        entry.signature.split_once('.').map_or(entry.signature.as_str(), |(_, rest)| rest)
    } else {
        &entry.signature
    };
    entry.signature.contains('(').then(|| (label.to_owned(), entry.text.clone()))
}

/// The signature of a function in a text, and its docstring.
pub(super) fn defined_function(text: &str, name: &str) -> Option<(String, String)> {
    let span = syntax::definition(text, name)?;
    let rest = &text[span.end..];
    let (inside, _) = syntax::balanced(rest).filter(|_| rest.starts_with('('))?;
    let inside = inside.split_whitespace().collect::<Vec<_>>().join(" ");
    Some((format!("{name}({inside})"), syntax::docstring(text, name).unwrap_or_default().to_owned()))
}

/// The parameters in a signature, as written there.
fn parameters(label: &str) -> Vec<&str> {
    let Some((inside, _)) = label.find('(').and_then(|open| syntax::balanced(&label[open..])) else {
        return Vec::new();
    };
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (offset, character) in inside.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(inside[start..offset].trim());
                start = offset + 1;
            }
            _ => {}
        }
    }
    parts.push(inside[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// The parameter that an argument is for: the one that it names, or the one at its position.
fn active_parameter(parameters: &[&str], position: usize, argument: &str) -> Option<u32> {
    let name = |parameter: &str| {
        parameter.trim_start_matches('*').split([' ', '=', ':']).next().unwrap_or_default().to_owned()
    };
    let named =
        argument.split_once('=').map(|(name, _)| name.trim()).filter(|word| word.chars().all(syntax::is_name_part));
    let found = match named.filter(|word| !word.is_empty()) {
        Some(word) => parameters.iter().position(|parameter| name(parameter) == word),
        None => {
            // Behind a `*`, arguments are named.
            let positional = parameters.iter().position(|parameter| *parameter == "*").unwrap_or(usize::MAX);
            let rest = parameters.iter().position(|parameter| parameter.starts_with('*') && parameter.len() > 1);
            (position < positional).then_some(position.min(rest.unwrap_or(usize::MAX)))
        }
    };
    found.filter(|index| *index < parameters.len()).and_then(|index| u32::try_from(index).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_that_comes_next() {
        let label = "f(a, b = {\"x\": (1, 2)}, *, c, d = 1)";
        let known = parameters(label);
        assert_eq!(known, ["a", "b = {\"x\": (1, 2)}", "*", "c", "d = 1"]);
        assert_eq!(active_parameter(&known, 0, ""), Some(0));
        assert_eq!(active_parameter(&known, 1, " 5"), Some(1));
        assert_eq!(active_parameter(&known, 2, " "), None);
        assert_eq!(active_parameter(&known, 2, " d = "), Some(4));
        assert_eq!(active_parameter(&["*values"], 3, "x"), Some(0));
    }
}
