//! Evaluates a file after everything it loads. Each file runs once per run; a cycle is an error that names it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use starlark::environment::{FrozenModule, Module};
use starlark::eval::{Evaluator, ReturnFileLoader};
use starlark::syntax::AstModule;
use starlark::values::dict::AllocDict;

use super::resolve::resolve;
use super::{Failure, Program, ScriptError, Source, oversize, parse, report};

pub(super) struct Loader<'a> {
    program: &'a Program<'a>,
    /// Canonical, because what is checked against it is.
    root: Option<PathBuf>,
    done: HashMap<String, FrozenModule>,
    /// The files being loaded now, outermost first.
    open: Vec<(String, String)>,
    /// Every file read, for whoever watches them.
    pub files: Vec<PathBuf>,
    /// Of every text that was run.
    pub digest: Sha256,
}

impl<'a> Loader<'a> {
    pub(super) fn new(program: &'a Program<'a>) -> Self {
        let root = program.root.and_then(|root| non_empty(root).canonicalize().ok());
        Loader { program, root, done: HashMap::new(), open: Vec::new(), files: Vec::new(), digest: Sha256::new() }
    }

    /// Runs the script itself. Only here can built-ins collect something.
    pub(super) fn main(&mut self) -> Result<FrozenModule, Failure> {
        self.module(self.program.source, self.program.collects)
    }

    fn module(&mut self, source: &Source, collects: bool) -> Result<FrozenModule, Failure> {
        let (ast, modules) = self.ready(source)?;
        self.run(ast, &modules, collects)
    }

    /// A file as it is before it runs: parsed, and everything it loads has run.
    pub(super) fn ready(&mut self, source: &Source) -> Result<(AstModule, Vec<(String, FrozenModule)>), Failure> {
        let ast = parse::parse(source)?;
        oversize::check(&ast, source, self.program.limits)?;
        self.digest.update(source.text.len().to_le_bytes());
        self.digest.update(source.text.as_bytes());
        self.open.push((key(source), source.name.clone()));
        let mut modules = Vec::new();
        for load in ast.loads() {
            let loaded = self.load(load.module_id, source).map_err(|fault| match fault {
                Fault::ScriptError(complaint) => complaint.at(report::place(&load.span)).into(),
                Fault::Failure(failure) => *failure,
            })?;
            modules.push((load.module_id.to_owned(), loaded));
        }
        self.open.pop();
        Ok((ast, modules))
    }

    fn load(&mut self, id: &str, from: &Source) -> Result<FrozenModule, Fault> {
        let program = self.program;
        let files = &program.source.files;
        let source = resolve(id, from, files, self.root.as_deref(), program.embedded, program.paths)
            .map_err(Fault::ScriptError)?;
        let key = key(&source);
        if let Some(module) = self.done.get(&key) {
            return Ok(module.clone());
        }
        if let Some(start) = self.open.iter().position(|(open, _)| *open == key) {
            let mut cycle: Vec<&str> = self.open[start..].iter().map(|(_, name)| name.as_str()).collect();
            cycle.push(&source.name);
            return Err(Fault::ScriptError(ScriptError::new(format!(
                "files load each other in a circle: {}",
                cycle.join(" -> ")
            ))));
        }
        self.files.extend(source.path.clone());
        let module = self.module(&source, false).map_err(|failure| Fault::Failure(Box::new(failure)))?;
        self.done.insert(key, module.clone());
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
                super::evaluate::prepare(&mut evaluator, context, limits)?;
                evaluator.set_loader(&loader);
                let run = catch_unwind(AssertUnwindSafe(|| evaluator.eval_module(ast, globals).map(drop)));
                run.map_err(|payload| Failure::broke_down(payload, limits))?
                    .map_err(|error| Failure::of(&error, context, limits))?;
            }
            super::evaluate::freeze(module)
        })
    }
}

enum Fault {
    /// About the `load()` statement itself.
    ScriptError(ScriptError),
    /// About the file it loads.
    Failure(Box<Failure>),
}

/// Two spellings of one file are one file.
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
