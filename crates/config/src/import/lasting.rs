//! What an imported server loses because the other program no longer starts it: values that follow the workspace, and values
//! that the program asks for or keeps.

use super::shown::one_line;
use super::{FixedVariable, Imported, ImportedServer, ImportedTarget, ImportedText, NeededVariable};
use proxy_base::diagnostic::Diagnostic;

impl ImportedServer {
    /// The variables that differed for each workspace.
    pub fn fixed_variables(&self) -> Vec<&FixedVariable> {
        let mut all = Vec::new();
        for variable in self.texts().into_iter().flat_map(|text| &text.fixed) {
            if !all.contains(&variable) {
                all.push(variable);
            }
        }
        all
    }

    /// The environment variables that the server needs now.
    pub fn needed_variables(&self) -> Vec<&NeededVariable> {
        let mut all = Vec::new();
        for variable in self.texts().into_iter().flat_map(|text| &text.needed) {
            if !all.contains(&variable) {
                all.push(variable);
            }
        }
        all
    }

    fn texts(&self) -> Vec<&ImportedText> {
        match &self.target {
            ImportedTarget::Command(command) => std::iter::once(&command.command)
                .chain(&command.args)
                .chain(command.env.iter().map(|(_, value)| value))
                .chain(&command.env_file)
                .chain(&command.cwd)
                .collect(),
            ImportedTarget::Url { url, headers, .. } => {
                std::iter::once(url).chain(headers.iter().map(|(_, value)| value)).collect()
            }
        }
    }
}

/// A warning for each server with a value that followed the workspace.
pub fn fixed_values(imported: &Imported) -> Vec<Diagnostic> {
    let warning = |server: &ImportedServer| {
        let fixed = server.fixed_variables();
        let values = fixed.iter().map(|variable| format!("`{}` is {}", variable.written, one_line(&variable.value)));
        let values: Vec<String> = values.collect();
        let message =
            format!("`{}` is the same for every workspace now: {}", one_line(&server.name), values.join(", "));
        (!fixed.is_empty()).then(|| Diagnostic::warning(message))
    };
    imported.entries.iter().filter_map(warning).collect()
}
