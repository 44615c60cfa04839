//! Dense lines that cost a reader more than they save. The numbers may only fall: whoever lowers one lowers it here.

use super::sources;

/// What is counted, how it is recognized in a line, and how often it may still be there.
type Counted = (&'static str, fn(&str) -> bool, usize);

const COUNTED: [Counted; 4] = [
    ("tuple `let`s (`let (a, b) = (x, y)`): one statement a line", is_tuple_let, 427),
    ("tuple assignments: one statement a line", is_tuple_assignment, 38),
    ("`option.filter(|_| condition)`: write `if`", |line| line.contains(".filter(|_| "), 111),
    ("`match` on a bool: write `if`", |line| line.starts_with("true => "), 52),
];

fn is_tuple_let(line: &str) -> bool {
    line.starts_with("let (") && line.contains(") = (")
}

fn is_tuple_assignment(line: &str) -> bool {
    line.starts_with('(') && line.contains(") = (")
}

#[test]
fn dense_lines_become_fewer() {
    let codes: Vec<String> = sources().iter().map(super::SourceFile::code).collect();
    for (what, is_one, allowed) in COUNTED {
        let found = codes.iter().flat_map(|code| code.lines()).filter(|line| is_one(line.trim_start())).count();
        assert!(found <= allowed, "{found} {what}; at most {allowed} as before");
        assert!(found == allowed, "{found} {what}: lower the number in {} to that", file!());
    }
}
