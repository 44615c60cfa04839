//! The lists "Request path" and "The surface" in docs/internals/architecture.md name functions. Each of them must
//! exist. On the way of a request each calls the next; of the surface's each is called by one before it. Every other file
//! that the document names must exist too.

use std::fs;
use std::path::Path;

struct Step {
    file: String,
    function: String,
    /// The text of the file without comments and unit tests.
    code: String,
}

/// The numbered list of a section.
fn steps(section: &str) -> Vec<Step> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/internals/architecture.md")).expect("the document exists");
    let section = text.split(&format!("\n## {section}\n")).nth(1).expect("the section exists");
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

fn assert_functions_exist(steps: &[Step]) {
    for step in steps {
        assert!(defines(&step.code, &step.function), "{} has no function `{}`", step.file, step.function);
    }
}

#[test]
fn every_function_on_the_way_of_a_request_exists_and_calls_the_next() {
    let steps = steps("Request path");
    assert!((10..=20).contains(&steps.len()), "{} steps", steps.len());
    assert_functions_exist(&steps);
    for pair in steps.windows(2) {
        let (step, next) = (&pair[0], &pair[1]);
        assert!(contains_call(&step.code, &next.function), "{} does not call `{}`", step.file, next.function);
    }
}

#[test]
fn every_function_that_makes_a_surface_exists_and_is_called_by_one_before_it() {
    let steps = steps("The surface");
    assert!((5..=15).contains(&steps.len()), "{} steps", steps.len());
    assert_functions_exist(&steps);
    for (index, step) in steps.iter().enumerate().skip(1) {
        let is_called = steps[..index].iter().any(|earlier| contains_call(&earlier.code, &step.function));
        assert!(is_called, "nothing before it calls `{}` of {}", step.function, step.file);
    }
}

#[test]
fn every_file_that_the_document_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/internals/architecture.md")).expect("the document exists");
    let named = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let files: Vec<&str> = named.filter(|name| name.contains('/') && name.ends_with(".rs")).collect();
    assert!(files.len() > 50, "only {} files are named", files.len());
    // A path begins with a crate, or is that of a file as it is.
    let exists = |file: &str| {
        let (first, rest) = file.split_once('/').unwrap_or_default();
        root.join(file).is_file() || root.join("crates").join(first).join("src").join(rest).is_file()
    };
    let missing: Vec<&str> = files.into_iter().filter(|file| !exists(file)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
