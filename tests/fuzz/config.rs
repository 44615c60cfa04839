use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use proxy_config::load_text;

use super::damage::damaged_text;
use super::fuzz;

fn load(file: &str, text: &str) -> TestCaseResult {
    match load_text(Path::new(file), text, &|_| None) {
        Ok((_, problems)) | Err(problems) => {
            for problem in problems {
                prop_assert!(!problem.to_string().is_empty());
            }
        }
    }
    Ok(())
}

/// A config file is read or refused with errors that can be rendered.
#[test]
fn yaml_configs_are_read_or_refused() {
    fuzz(&damaged_text(include_str!("../corpus/fuzz/configs.yaml")), |text| load("proxy.yaml", &text));
}

#[test]
fn json_configs_are_read_or_refused() {
    fuzz(&damaged_text(include_str!("../corpus/fuzz/configs.json")), |text| load("proxy.json", &text));
}

/// So is a description of an API, without growing beyond its limit.
#[test]
fn yaml_descriptions_are_read_or_refused() {
    fuzz(&damaged_text(include_str!("../corpus/fuzz/configs.yaml")), |text| {
        if let Err(problem) = proxy_config::read_yaml(&text, 1000) {
            prop_assert!(!problem.is_empty());
        }
        Ok(())
    });
}
