//! The kind of a script file, which determines its built-ins.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use starlark::environment::Globals;
use starlark::syntax::ast::{AstStmt, Expr, Stmt};

use crate::testing;
use proxy_builtins as builtins;
use proxy_engine::extension;
use proxy_script::{Paths, Source, is_operator, on_big_stack, parse};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A session script, and the files it loads.
    Session,
    Extension,
    /// `*_test.star`.
    Test,
    /// A file of functions that scripts of any role may load.
    Library,
}

impl Role {
    /// The role of a file, from its name and content.
    pub fn of(source: &Source) -> Role {
        match Role::of_text(source) {
            Role::Session if is_library(source) => Role::Library,
            role => role,
        }
    }

    /// The role of a text that may not parse, such as a file that is being edited. Never [`Role::Library`].
    pub fn of_text(source: &Source) -> Role {
        if source.path.as_deref().is_some_and(is_test) {
            Role::Test
        } else if source.text.contains("def describe_extension") {
            Role::Extension
        } else {
            Role::Session
        }
    }

    pub fn globals(self) -> &'static Globals {
        match self {
            Role::Session => builtins::session(),
            Role::Extension => extension::globals(),
            // Tests can load session scripts and extensions, and both can load a library.
            Role::Test | Role::Library => testing::globals(),
        }
    }

    /// The names of all built-ins.
    pub fn names(self) -> &'static HashSet<String> {
        static SESSION: LazyLock<HashSet<String>> = LazyLock::new(|| names(builtins::session()));
        static EXTENSION: LazyLock<HashSet<String>> = LazyLock::new(|| names(extension::globals()));
        static TEST: LazyLock<HashSet<String>> = LazyLock::new(|| names(testing::globals()));
        match self {
            Role::Session => &SESSION,
            Role::Extension => &EXTENSION,
            Role::Test | Role::Library => &TEST,
        }
    }

    /// The kind of file in which a name is a built-in, if it is none for this role.
    pub fn elsewhere(self, name: &str) -> Option<&'static str> {
        [(Role::Session, "session scripts"), (Role::Extension, "extensions"), (Role::Test, "tests")]
            .into_iter()
            .find(|(role, _)| *role != self && role.names().contains(name))
            .map(|(_, files)| files)
    }

    pub(super) fn paths(self) -> Paths {
        match self {
            Role::Session => Paths::Full,
            Role::Extension | Role::Test | Role::Library => Paths::Short,
        }
    }
}

fn names(globals: &Globals) -> HashSet<String> {
    globals.names().map(|name| name.as_str().to_owned()).filter(|name| !is_operator(name)).collect()
}

pub fn is_test(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().ends_with("_test.star"))
}

/// Whether a file consists of definitions only, so that it is useful only to be loaded.
pub fn is_library(source: &Source) -> bool {
    holds(source, |statement| only_defines(statement) && !is_blank(statement))
}

/// Whether a file has no statements, but perhaps comments.
pub fn is_empty(source: &Source) -> bool {
    holds(source, is_blank)
}

fn holds(source: &Source, test: impl FnOnce(&AstStmt) -> bool + Send) -> bool {
    on_big_stack(|| parse(source).is_ok_and(|module| test(module.statement()))).unwrap_or(false)
}

fn is_blank(statement: &AstStmt) -> bool {
    match &statement.node {
        Stmt::Statements(all) => all.iter().all(is_blank),
        Stmt::Expression(expression) => matches!(expression.node, Expr::Literal(_)),
        Stmt::Pass => true,
        _ => false,
    }
}

fn only_defines(statement: &AstStmt) -> bool {
    match &statement.node {
        Stmt::Statements(all) => all.iter().all(only_defines),
        Stmt::Expression(expression) => matches!(expression.node, Expr::Literal(_)),
        Stmt::Def(_) | Stmt::Load(_) | Stmt::Assign(_) | Stmt::Pass => true,
        _ => false,
    }
}
