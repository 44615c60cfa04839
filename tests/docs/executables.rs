//! Extensions made of executables: the documents show the extension and its script, and together they work.

use std::os::unix::fs::PermissionsExt;

use super::markdown::{self, Block};
use super::root;
use crate::support::finished::Finished;
use crate::support::programs;
use crate::support::temp_dir::TempDir;

/// The extension on a page that runs an executable of its folder.
fn extension(blocks: &[Block]) -> &Block {
    let is_one = |block: &&Block| block.language == "python" && block.text.contains("command([\"./");
    blocks.iter().find(is_one).expect("an extension")
}

#[tokio::test]
async fn an_extension_and_its_script_work_together() {
    for page in ["docs/guides/extensions.md", "docs/getting-started/from-mcp-bash.md"] {
        let blocks = markdown::blocks(&root().join(page));
        let extension = extension(&blocks);
        let script = blocks.iter().find(|block| block.language == "sh").expect("a script");
        let file =
            extension.text.split("command([\"./").nth(1).and_then(|rest| rest.split('"').next()).expect("a file");
        let folder = TempDir::new();
        folder.write("greeter.star", &extension.text);
        let file = folder.write(file, &script.text);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("the mode can be set");
        let mut command = programs::proxy();
        command.current_dir(folder.path()).args(["call", "--extension", "greeter.star", "greet", "name=Ann"]);
        let finished = Finished::run(command).await.expect(0);
        assert_eq!(finished.stdout, "Hello, Ann!\n", "{}: {}", script.place, finished.stderr);
    }
}
