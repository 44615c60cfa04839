//! Evaluates a file after the files it loads. Each file is evaluated once per run; a load cycle is an error.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use starlark::environment::{FrozenModule, Module};
use starlark::eval::{Evaluator, ReturnFileLoader};
use starlark::syntax::AstModule;
use starlark::syntax::ast::{AstExpr, Expr};
use starlark::values::dict::AllocDict;

use crate::errors::report;
use crate::guards::oversize;
use crate::loading::parse::parse;
use crate::loading::resolve::resolve;
use crate::run::{evaluator, operators};
use crate::{Failure, Program, ScriptError, Source};

pub(crate) struct Loader<'a> {
    program: &'a Program<'a>,
    /// Canonical, because it is compared with canonical paths.
    root: Option<PathBuf>,
    loaded: HashMap<String, FrozenModule>,
    /// The key and name of each file that is being loaded, outermost first.
    loading: Vec<(String, String)>,
    /// Every file that was read, to be watched for changes.
    pub files: Vec<PathBuf>,
    /// The digest of every text that was evaluated.
    pub digest: Sha256,
    /// The names that the script and its own files use, without those of embedded files.
    pub names: HashSet<String>,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(program: &'a Program<'a>) -> Self {
        let root = program.root.and_then(|root| non_empty(root).canonicalize().ok());
        Loader {
            program,
            root,
            loaded: HashMap::new(),
            loading: Vec::new(),
            files: Vec::new(),
            digest: Sha256::new(),
            names: HashSet::new(),
        }
    }

    /// Evaluates the script itself. Built-ins collect values here, but not in loaded files.
    pub(crate) fn main(&mut self) -> Result<FrozenModule, Failure> {
        self.module(self.program.source, self.program.collects)
    }

    fn module(&mut self, source: &Source, collects: bool) -> Result<FrozenModule, Failure> {
        let (ast, modules) = self.ready(source)?;
        self.run(ast, &modules, collects)
    }

    /// Parses a file and evaluates the files it loads.
    pub(crate) fn ready(&mut self, source: &Source) -> Result<(AstModule, Vec<(String, FrozenModule)>), Failure> {
        let mut ast = parse(source)?;
        oversize::check(&ast, source, self.program.limits)?;
        if source.path.is_some() || self.loading.is_empty() {
            ast.statement().visit_expr(|expression| add_names(expression, &mut self.names));
        }
        operators::call_operators(&mut ast, self.program.globals);
        self.digest.update(source.text.len().to_le_bytes());
        self.digest.update(source.text.as_bytes());
        self.loading.push((key(source), source.name.clone()));
        let mut modules = Vec::new();
        for load in ast.loads() {
            let loaded = self.load(load.module_id, source).map_err(|error| match error {
                LoadError::Statement(error) => error.at(report::place(&load.span)).into(),
                LoadError::File(failure) => *failure,
            })?;
            modules.push((load.module_id.to_owned(), loaded));
        }
        self.loading.pop();
        Ok((ast, modules))
    }

    fn load(&mut self, id: &str, from: &Source) -> Result<FrozenModule, LoadError> {
        let program = self.program;
        let files = &program.source.files;
        let source = resolve(id, from, files, self.root.as_deref(), program.embedded, program.paths)
            .map_err(LoadError::Statement)?;
        let key = key(&source);
        if let Some(module) = self.loaded.get(&key) {
            return Ok(module.clone());
        }
        if let Some(start) = self.loading.iter().position(|(loading, _)| *loading == key) {
            let mut cycle: Vec<&str> = self.loading[start..].iter().map(|(_, name)| name.as_str()).collect();
            cycle.push(&source.name);
            return Err(LoadError::Statement(ScriptError::new(format!("load cycle: {}", cycle.join(" -> ")))));
        }
        self.files.extend(source.path.clone());
        let module = self.module(&source, false).map_err(|failure| LoadError::File(Box::new(failure)))?;
        self.loaded.insert(key, module.clone());
        Ok(module)
    }

    fn run(&self, ast: AstModule, modules: &[(String, FrozenModule)], collects: bool) -> Result<FrozenModule, Failure> {
        let Program { globals, context, limits, .. } = *self.program;
        let known: HashMap<&str, &FrozenModule> = modules.iter().map(|(id, module)| (id.as_str(), module)).collect();
        let loader = ReturnFileLoader { modules: &known };
        Module::with_temp_heap(|module| {
            if collects {
                module.set_extra_value(module.heap().alloc(AllocDict::EMPTY));
            }
            {
                let mut evaluator = Evaluator::new(&module);
                evaluator::prepare(&mut evaluator, context, limits)?;
                evaluator.set_loader(&loader);
                let run = catch_unwind(AssertUnwindSafe(|| evaluator.eval_module(ast, globals).map(drop)));
                run.map_err(|payload| Failure::panicked_in_run(payload, limits))?
                    .map_err(|error| Failure::of(&error, context, limits))?;
            }
            evaluator::freeze(module)
        })
    }
}

/// Adds the names that an expression uses.
fn add_names(expression: &AstExpr, names: &mut HashSet<String>) {
    if let Expr::Identifier(name) = &expression.node {
        names.insert(name.node.ident.clone());
    }
    expression.node.visit_expr(|inner| add_names(inner, names));
}

enum LoadError {
    /// The `load()` statement itself is wrong.
    Statement(ScriptError),
    /// The loaded file failed.
    File(Box<Failure>),
}

/// Identifies a file whatever the spelling of its path.
fn key(source: &Source) -> String {
    match source.path.as_deref().and_then(|path| path.canonicalize().ok()) {
        Some(path) => path.display().to_string(),
        None => source.name.clone(),
    }
}

fn non_empty(root: &Path) -> &Path {
    if root.as_os_str().is_empty() { Path::new(".") } else { root }
}

#[cfg(test)]
#[path = "loader_tests.rs"]
mod tests;
