//! What clients of both eras get of servers of other people, compared field by field with a direct connection: the brief
//! form of `tests/compare/run`, with one server of each era and handlers around everything.

use std::path::Path;
use std::process::Command;

use crate::support::real_servers::{missing, target_directory};

/// The exit code of the script if a server cannot be installed.
const NOT_INSTALLED: i32 = 3;

#[test]
#[ignore = "real servers of other people, which are installed first"]
fn every_difference_to_a_direct_connection_has_a_reason() {
    let programs = Path::new(env!("CARGO_BIN_EXE_proxy")).parent().expect("the program is in a folder");
    let mut command = Command::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compare/run"));
    command.args(["python-1", "typescript-2", "rmcp", "--brief", "--way", "passthrough", "--way", "handler"]);
    command.arg("--programs").arg(programs).arg("--target").arg(target_directory().join("compare"));
    let Ok(output) = command.output() else { return missing("there is no python3").unwrap_or_default() };
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(NOT_INSTALLED) {
        return missing(&told).unwrap_or_default();
    }
    assert!(output.status.success(), "{told}");
    // Three servers, two eras, two ways.
    assert_eq!(told.matches("\n== ").count() + usize::from(told.starts_with("== ")), 12, "{told}");
}
