//! Parses a script: the dialect, the size limit, and the guards that run before evaluation.

use starlark::syntax::{AstModule, Dialect, DialectTypes};

use crate::errors::report;
use crate::guards::{capture, lost_write, nesting};
use crate::source::{MAX_SOURCE, Source};
use proxy_base::diagnostic::Diagnostic;

const DIALECT: Dialect = Dialect {
    enable_def: true,
    enable_lambda: true,
    enable_load: true,
    enable_keyword_only_arguments: true,
    enable_positional_only_arguments: true,
    enable_types: DialectTypes::Enable,
    enable_load_reexport: false,
    enable_top_level_stmt: true,
    enable_f_strings: true,
    ..Dialect::Standard
};

pub fn parse(source: &Source) -> Result<AstModule, Diagnostic> {
    let module = parse_unguarded(source)?;
    capture::check(&module, source)?;
    lost_write::check(&module, source)?;
    Ok(module)
}

/// Parses a text without the guards against mistakes, as an editor needs it.
pub fn parse_unguarded(source: &Source) -> Result<AstModule, Diagnostic> {
    if source.text.len() > MAX_SOURCE {
        let size = source.text.len();
        return Err(Diagnostic::error(format!("`{}` has {size} bytes; the maximum is {MAX_SOURCE}", source.name))
            .hint("move data out of the script, or split it into files and `load()` them"));
    }
    nesting::check(source)?;
    AstModule::parse(&source.name, source.text.to_string(), &DIALECT).map_err(|error| report::diagnose(&error))
}
