//! Signature help: the parameters of the function that is being called, and which of them comes next.

use lsp_types::{
    Documentation, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp, SignatureInformation,
};
use starlark::syntax::ast::{AstExpr, Expr};

use super::complete::type_name;
use super::definition::loaded_function;
use super::definitions::{self, definition, docstring, part, range_of};
use super::document::ScriptDocument;
use super::tree::{Cursor, tree};
use super::workspace::WorkspaceState;
use crate::reference::{self, BuiltinEntry};

pub(super) fn signature_help(
    document: &ScriptDocument,
    offset: usize,
    workspace: &WorkspaceState,
) -> Option<SignatureHelp> {
    let cursor = Cursor::new(&document.text, offset)?;
    let around = cursor.around();
    let (callee, arguments) = around.iter().find_map(|expression| match &expression.node {
        Expr::Call(callee, arguments) if range_of(callee.span).end < offset => Some((callee, &arguments.args)),
        _ => None,
    })?;
    let (label, text) = signature(callee, document, &cursor, workspace)?;
    let position = arguments.iter().position(|argument| cursor.is_in(argument.span)).unwrap_or(arguments.len());
    let name = arguments.get(position).and_then(|argument| argument.node.name());
    let parameters = parameters(&label);
    let active = active_parameter(&parameters, position, name);
    let parameters = parameters
        .into_iter()
        .map(|name| ParameterInformation { label: ParameterLabel::Simple(name), documentation: None });
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
    callee: &AstExpr,
    document: &ScriptDocument,
    cursor: &Cursor,
    workspace: &WorkspaceState,
) -> Option<(String, String)> {
    let function = part(&document.text, range_of(callee.span));
    if let Some(found) = defined_function(&document.text, function) {
        return Some(found);
    }
    if let Some((file, name)) = loaded_function(&document.source(), function, workspace) {
        return defined_function(&file.text, &name);
    }
    let of_type = || match &callee.node {
        Expr::Dot(owner, member) => {
            let owner = type_name(&cursor.holds(owner)?)?;
            reference::find(&format!("{owner}.{}", member.node)).into_iter().next()
        }
        _ => None,
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
    let module = tree(text)?;
    let function = definition(&module, name)?.function?;
    Some((definitions::signature(function, text), docstring(function).unwrap_or_default()))
}

/// The parameters in a signature, as written there.
fn parameters(label: &str) -> Vec<String> {
    let text = format!("def f{}: pass", label.find('(').map_or("()", |open| &label[open..]));
    let module = tree(&text);
    let function = module.as_ref().and_then(|module| definition(module, "f")?.function);
    let written = function.into_iter().flat_map(|function| &function.params);
    written.map(|parameter| text[range_of(parameter.span)].to_owned()).collect()
}

/// The parameter that an argument is for: the one that it names, or the one at its position.
fn active_parameter(parameters: &[String], position: usize, named: Option<&str>) -> Option<u32> {
    let name = |parameter: &str| {
        parameter.trim_start_matches('*').split([' ', '=', ':']).next().unwrap_or_default().to_owned()
    };
    let found = match named {
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
        assert_eq!(active_parameter(&known, 0, None), Some(0));
        assert_eq!(active_parameter(&known, 1, None), Some(1));
        assert_eq!(active_parameter(&known, 2, None), None);
        assert_eq!(active_parameter(&known, 2, Some("d")), Some(4));
        assert_eq!(active_parameter(&parameters("f(*values)"), 3, None), Some(0));
    }

    #[test]
    fn the_parameters_of_every_built_in_are_known() {
        for entry in reference::entries().iter().filter(|entry| entry.signature.contains('(')) {
            assert_eq!(parameters(&entry.signature).is_empty(), entry.signature.ends_with("()"), "{}", entry.signature);
        }
    }
}
