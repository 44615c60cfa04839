//! The list "The way of a request" in docs/architecture.md names functions. Each of them must exist and call the next.

use std::fs;
use std::path::Path;

struct Step {
    file: String,
    function: String,
    /// The text of the file without comments and unit tests.
    code: String,
}

fn steps() -> Vec<Step> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/architecture.md")).expect("the document exists");
    let section = text.split("## The way of a request").nth(1).expect("the section exists");
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let steps = lines.map(|line| {
        let mut names = line.split('`').skip(1).step_by(2);
        let (file, function) = (names.next().expect("a file"), names.next().expect("a function"));
        let text = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        Step { file: file.to_owned(), function: function.to_owned(), code: code.join("\n") }
    });
    steps.collect()
}

/// Whether the code contains `before` and `name(`, with nothing of an identifier in between.
fn contains_call(code: &str, name: &str) -> bool {
    let call = format!("{name}(");
    code.match_indices(&call).any(|(at, _)| {
        let before = &code[..at];
        let is_word = before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        !is_word && !before.trim_end().ends_with("fn")
    })
}

fn defines(code: &str, name: &str) -> bool {
    [format!("fn {name}("), format!("fn {name}<")].iter().any(|definition| code.contains(definition))
}

#[test]
fn every_function_on_the_way_of_a_request_exists_and_calls_the_next() {
    let steps = steps();
    assert!((10..=20).contains(&steps.len()), "{} steps", steps.len());
    for step in &steps {
        assert!(defines(&step.code, &step.function), "{} has no function `{}`", step.file, step.function);
    }
    for pair in steps.windows(2) {
        let (step, next) = (&pair[0], &pair[1]);
        assert!(contains_call(&step.code, &next.function), "{} does not call `{}`", step.file, next.function);
    }
}
