//! What a file is for, which decides the names it knows.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use starlark::environment::Globals;
use starlark::syntax::ast::{AstStmt, Expr, Stmt};

use crate::author::testing;
use crate::builtins;
use crate::extension;
use crate::script::{Paths, Source, on_big_stack, parse};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A session script, with what it loads.
    Session,
    Extension,
    /// `*_test.star`.
    Test,
    /// Functions for others to load; by whom cannot be known.
    Library,
}

impl Role {
    /// What a file looks like, from its name and its text.
    pub fn of(source: &Source) -> Role {
        match Role::of_text(source) {
            Role::Session if is_library(source) => Role::Library,
            role => role,
        }
    }

    /// The same for a text that may not parse just now.
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
            // A test knows what everything that it tests knows; a library may be loaded by anything.
            Role::Test | Role::Library => testing::globals(),
        }
    }

    /// Every name that a file knows without making it.
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

    /// Where a name would be known, if not here.
    pub fn elsewhere(self, name: &str) -> Option<&'static str> {
        [(Role::Session, "session scripts"), (Role::Extension, "extensions"), (Role::Test, "tests")]
            .into_iter()
            .find(|(role, _)| *role != self && role.names().contains(name))
            .map(|(_, where_known)| where_known)
    }

    pub(super) fn paths(self) -> Paths {
        match self {
            Role::Session => Paths::Full,
            Role::Extension | Role::Test | Role::Library => Paths::Short,
        }
    }
}

fn names(globals: &Globals) -> HashSet<String> {
    globals.names().map(|name| name.as_str().to_owned()).collect()
}

pub fn is_test(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().ends_with("_test.star"))
}

/// Whether a file only makes names: it does nothing when it runs, so it is there to be loaded.
pub fn is_library(source: &Source) -> bool {
    on_big_stack(|| parse(source).is_ok_and(|module| only_makes_names(module.statement()))).unwrap_or(false)
}

fn only_makes_names(statement: &AstStmt) -> bool {
    match &statement.node {
        Stmt::Statements(all) => all.iter().all(only_makes_names),
        Stmt::Expression(expression) => matches!(expression.node, Expr::Literal(_)),
        Stmt::Def(_) | Stmt::Load(_) | Stmt::Assign(_) | Stmt::Pass => true,
        _ => false,
    }
}
