//! Blocks that are tests: each passes as it stands, as a file beside the example extensions and the script that its
//! section shows before it. The first Cedar policies of its page are in `policies/main.cedar`.

use std::fs;
use std::path::Path;

use super::markdown::{self, Block};
use super::{first_minutes, pages, root};
use crate::support::finished::Finished;
use crate::support::programs;
use crate::support::temp_dir::TempDir;

#[tokio::test]
async fn every_test_passes() {
    let (mut tested, mut with_script) = (0, 0);
    for page in pages() {
        let mut blocks = markdown::blocks(&page);
        let policies = blocks.iter().find(|block| block.language == "cedar").map(|block| block.text.clone());
        blocks.retain(|block| block.language == "python" && !first_minutes::is_of_section(block));
        for (at, test) in blocks.iter().enumerate().filter(|(_, block)| is_test(block)) {
            let folder = TempDir::new();
            for examples in ["extensions", "scripts"] {
                copy(&root().join(examples), &folder.directory(examples));
            }
            if let Some(policies) = &policies {
                folder.write("policies/main.cedar", policies);
            }
            if let Some(script) = script_of(test, &blocks[..at]) {
                folder.write(&format!("extensions/{}", file_name(script, test)), &script.text);
                with_script += 1;
            }
            let file = folder.write("extensions/from_the_documents_test.star", &test.text);
            let mut command = programs::proxy();
            command.current_dir(folder.path()).arg("test").arg(file);
            let finished = Finished::run(command).await;
            assert_eq!(finished.code, 0, "{}:\n{}{}", test.place, finished.stdout, finished.stderr);
            tested += 1;
        }
    }
    assert!(tested >= 20 && with_script >= 10, "only {tested} tests were found, {with_script} of them with a script");
}

fn is_test(block: &Block) -> bool {
    block.text.contains("def test_")
}

/// The last script of the test's section before the test.
fn script_of<'a>(test: &Block, before: &'a [Block]) -> Option<&'a Block> {
    before.iter().rfind(|block| block.section == test.section && !is_test(block))
}

/// Where the test looks for the script, which may be an extension.
fn file_name<'a>(script: &Block, test: &'a Block) -> &'a str {
    let extension = test.text.split("testing.extension(\"").nth(1).and_then(|rest| rest.split('"').next());
    extension.filter(|_| script.text.contains("def describe_extension")).unwrap_or("policy.star")
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten().flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("it can be copied");
    }
}
