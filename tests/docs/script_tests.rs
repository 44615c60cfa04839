//! Blocks that are tests: each passes as it stands, as a file beside the example extensions.

use std::fs;
use std::path::Path;

use super::{blocks, first_minutes, root};
use crate::support::finished::Finished;
use crate::support::programs;
use crate::support::temp_dir::TempDir;

#[tokio::test]
async fn every_test_passes() {
    let folder = TempDir::new();
    for examples in ["extensions", "scripts"] {
        copy(&root().join(examples), &folder.directory(examples));
    }
    let mut blocks = blocks(&["python"]);
    blocks.retain(|block| block.text.contains("def test_") && !first_minutes::is_of_section(block));
    assert!(!blocks.is_empty());
    for block in blocks {
        let file = folder.write("extensions/from_the_documents_test.star", &block.text);
        let mut command = programs::proxy();
        command.current_dir(folder.path()).arg("test").arg(file);
        let finished = Finished::run(command).await;
        assert_eq!(finished.code, 0, "{}:\n{}{}", block.place, finished.stdout, finished.stderr);
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten().flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("it can be copied");
    }
}
