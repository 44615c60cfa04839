//! A config without its secrets, for code that must not learn them: the text of each file, with stand-ins.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::files::ConfigFiles;
use super::load::load_files;
use super::sections::server::env_files;
use super::syntax::stand_ins::with_stand_ins;
use super::syntax::substitute::VariableLookup;
use super::syntax::tree;
use proxy_base::diagnostic::Diagnostic;

/// What a variable with an address stands for.
const ADDRESS: &str = "https://hidden.invalid/";
/// What any other variable stands for: as long as the keys that a config may demand.
const WORD: &str = "hidden-hidden-hidden-hidden-hidden-hidden-hidden";

/// A config that can be read without its secrets.
#[derive(Clone, Debug)]
pub struct ShareableConfig {
    /// The config files and those they include, each with its text. Other characters stand for the secrets.
    pub files: Vec<(PathBuf, String)>,
    /// The files of variables that the config names. What is in them is secret.
    pub env_files: Vec<PathBuf>,
    /// The variables that the config uses and that are set, with values that stand for theirs.
    pub variables: Vec<(String, String)>,
}

impl ShareableConfig {
    /// The config in these files. `secrets` are the values that must not be in it, wherever its keys sound secret.
    ///
    /// # Errors
    /// The errors of a config that does not load.
    pub fn of(
        paths: &[PathBuf],
        environment: &VariableLookup,
        secrets: &[String],
    ) -> Result<ShareableConfig, Vec<Diagnostic>> {
        let used = RefCell::new(BTreeMap::new());
        let recorded = |name: &str| {
            let value = environment(name)?;
            used.borrow_mut().insert(name.to_owned(), stand_in(&value));
            Some(value)
        };
        load_files(paths, &recorded)?;
        let mut read = ConfigFiles::new(&recorded);
        paths.iter().for_each(|path| read.add(path));
        let texts = read.read.texts.into_iter();
        let files = texts.filter_map(|(path, text)| Some((path.clone(), shared(&path, &text?, secrets)?))).collect();
        let env_files = env_files(&read.document, &recorded);
        Ok(ShareableConfig { files, env_files, variables: used.into_inner().into_iter().collect() })
    }
}

/// The text of a file without its secrets. `None` if the file does not parse.
fn shared(path: &Path, text: &str, secrets: &[String]) -> Option<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Some(with_stand_ins(text, &tree::parse(path, text).ok()?, secrets))
}

/// A value that is as good as another one where a config is only read.
fn stand_in(value: &str) -> String {
    if value.parse::<f64>().is_ok() {
        return "1".to_owned();
    }
    match value {
        "true" | "false" | "" => value.to_owned(),
        _ if value.contains("://") => ADDRESS.to_owned(),
        _ => WORD.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_text;

    const SECRET: &str = "s3cret-of-the-company";

    fn environment(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some(SECRET.to_owned()),
            "URL" => Some(format!("https://h/?key={SECRET}")),
            _ => None,
        }
    }

    /// The text as it is shared.
    fn shared_text(file: &str, text: &str) -> String {
        let shown = shared(Path::new(file), text, &[SECRET.to_owned()]).unwrap();
        assert!(!shown.contains("s3cret"), "{shown}");
        let loaded = load_text(Path::new(file), &shown, &environment);
        loaded.unwrap_or_else(|errors| panic!("{shown}\n{errors:?}"));
        shown
    }

    #[test]
    fn only_secrets_are_replaced_and_the_rest_still_loads() {
        let yaml = format!(
            "mcpServers:\n  a: {{command: x, args: [--token, {SECRET}, --api-key={SECRET}], env: {{K: \"{SECRET}\", LEVEL: debug}}}}\n  \
             b:\n    url: https://h/mcp?key={SECRET}\n    headers:\n      Authorization: Bearer {SECRET}\n      X: >-\n        {SECRET}\n"
        );
        let shown = shared_text("proxy.yaml", &yaml);
        for kept in ["LEVEL: debug", "https://h/mcp?key=", "Bearer ", "--token"] {
            assert!(shown.contains(kept), "{kept} in {shown}");
        }
        let json = format!(r#"{{"mcpServers": {{"a": {{"command": "x", "env": {{"K": "a\"{SECRET}"}}}}}}}}"#);
        shared_text("proxy.json", &json);
        let toml = format!("[mcpServers.a]\ncommand = \"x\"\nenv = {{ K = '{SECRET}' }}\n");
        shared_text("proxy.toml", &toml);
    }

    #[test]
    fn a_variable_has_a_value_that_stands_for_its_own() {
        let folder = std::env::temp_dir().join(format!("shareable-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("proxy.yaml");
        std::fs::write(folder.join("vars"), format!("KEY={SECRET}\n")).unwrap();
        let text = "mcpServers:\n  a: {url: '${URL}', headers: {A: 'Bearer ${TOKEN}'}}\n  \
                    b: {command: x, envFile: vars}\n";
        std::fs::write(&file, text).unwrap();
        let shared = ShareableConfig::of(std::slice::from_ref(&file), &environment, &[SECRET.to_owned()]).unwrap();
        assert!(!format!("{shared:?}").contains("s3cret"), "{shared:?}");
        assert_eq!(shared.env_files, [folder.join("vars")]);
        let variables = |name: &str| shared.variables.iter().find(|(known, _)| known == name).map(|(_, v)| v.clone());
        load_text(&file, &shared.files[0].1, &variables).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }
}
