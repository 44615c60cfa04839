use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use proxy_config::import::{Surroundings, commands, file_of, import, render_yaml};
use proxy_config::load_text;

use super::damage::{damaged, damaged_text};
use super::fuzz;
use crate::support::temp_dir::TempDir;

/// The configs of other clients: the name of a file, and what such a file has in it.
const CONFIGS: [(&str, &str); 5] = [
    ("client.json", include_str!("../corpus/clients/gemini/settings.json")),
    ("opencode.jsonc", include_str!("../corpus/clients/opencode/opencode.jsonc")),
    (".claude.json", include_str!("../corpus/clients/claude-code/claude.json")),
    ("config.toml", include_str!("../corpus/clients/codex/config.toml")),
    ("config.yaml", include_str!("../corpus/clients/goose/config.yaml")),
];

/// A config of another client is refused with errors that can be rendered, or becomes a file that can be read.
fn check(folder: &TempDir, file: &str, text: &str) -> TestCaseResult {
    let path = folder.write(file, text);
    let surroundings = Surroundings {
        home: None,
        config_folder: None,
        current_folder: folder.path().to_owned(),
        moved: HashMap::default(),
    };
    match import(&[file_of(&path, &surroundings)], &surroundings) {
        Err(problems) => {
            for problem in problems {
                prop_assert!(!problem.to_string().is_empty());
            }
        }
        Ok(imported) => {
            prop_assert_eq!(commands(&imported).len(), imported.entries.len());
            let yaml = render_yaml(&imported);
            let loaded = load_text(&folder.path().join("proxy.yaml"), &yaml, &|_| Some("x".to_owned()));
            for problem in loaded.err().into_iter().flatten() {
                let is_ours =
                    ["invalid YAML", "unknown key", "duplicate key"].iter().any(|bad| problem.message.contains(bad));
                prop_assert!(!is_ours, "{}\n{}", problem, yaml);
            }
        }
    }
    Ok(())
}

#[test]
fn configs_of_other_clients_are_imported_or_refused() {
    let folder = TempDir::new();
    let damaged = CONFIGS.map(|(file, text)| damaged_text(text).prop_map(move |text| (file, text)).boxed());
    fuzz(&proptest::strategy::Union::new(damaged), |(file, text)| check(&folder, file, &text));
}

#[test]
fn files_of_variables_are_read_or_refused() {
    let folder = TempDir::new();
    let corpus = "# mine\nexport A=1\nB='x\ny' # z\nC=\"a\\n\\\"b\"\r\nD = e # f\n====\nA\n='\"\n";
    fuzz(&damaged(corpus), |bytes| {
        std::fs::write(folder.path().join("my.env"), &bytes).expect("a file can be written");
        let config = "mcpServers: { a: { command: x, envFile: my.env } }";
        if let Err(problems) = load_text(&folder.path().join("proxy.yaml"), config, &|_| None) {
            for problem in problems {
                prop_assert!(!problem.to_string().is_empty());
            }
        }
        Ok(())
    });
}
