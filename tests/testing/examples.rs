//! The tests that come with the examples.

use std::path::Path;

use crate::support::finished::Finished;
use crate::support::programs;

#[tokio::test]
async fn the_examples_pass_their_own_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = programs::proxy();
    let folders = ["scripts", "extensions"];
    command.current_dir(root).arg("test").args(folders);
    let finished = Finished::run(command).await.expect(0);
    for folder in folders {
        for entry in std::fs::read_dir(root.join(folder)).expect("it is there").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".star").filter(|stem| !stem.ends_with("_test")) else { continue };
            assert!(
                finished.stdout.contains(&format!("{folder}/{stem}_test.star::test_")),
                "{folder}/{name} has no tests"
            );
        }
    }
}
