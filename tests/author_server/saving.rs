//! Saving a script: below the folder, never through a link, and nothing but a script.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::{Author, config, locked, world};
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;

const TEXT: &str = "passthrough()\n";

#[tokio::test]
async fn a_script_is_saved_in_its_folder_and_replaced_only_if_that_is_said() {
    let mut author = Author::start(world().await).await;
    let saved = author.data("save", json!({"path": "scripts/policy.star", "text": TEXT})).await;
    assert_eq!(saved, json!({"path": "scripts/policy.star", "bytes": TEXT.len(), "replaced": false}));
    assert_eq!(author.text_of("scripts/policy.star"), TEXT);
    let there = author.failure("save", json!({"path": "scripts/policy.star", "text": "x = 1\n"})).await;
    assert!(there.contains("is there already") && there.contains("`replace: true`"), "{there}");
    assert_eq!(author.text_of("scripts/policy.star"), TEXT);
    let file = author.world.directory.path().join("scripts/policy.star");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let replaced = json!({"path": "scripts/policy.star", "text": "x = 1\n", "replace": true});
    assert_eq!(author.data("save", replaced).await["replaced"], true);
    assert_eq!(author.text_of("scripts/policy.star"), "x = 1\n");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "only its owner reads it, as before");
    let left = std::fs::read_dir(file.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "nothing is left beside it");
}

#[tokio::test]
async fn nothing_is_saved_outside_or_as_something_else_than_a_script() {
    let mut author = Author::start(world().await).await;
    let outside = author.world.directory.path().parent().unwrap().join("outside.star");
    let absolute = outside.display().to_string();
    for (path, told) in [
        ("../outside.star", "is not below the folder"),
        ("scripts/../../outside.star", "is not below the folder"),
        (absolute.as_str(), "is not below the folder"),
        (".git/hooks.star", "hidden"),
        ("proxy.yaml", "does not end in `.star`"),
        ("proxy.lock", "does not end in `.star`"),
        ("run.sh", "does not end in `.star`"),
        ("policy.star\u{202e}.star", "characters"),
        ("", "not the name of a file"),
    ] {
        let refused = author.failure("save", json!({"path": path, "text": TEXT, "replace": true})).await;
        assert!(refused.contains(told), "{path}: {refused}");
    }
    assert!(!outside.exists());
    let huge = author.failure("save", json!({"path": "a.star", "text": "#".repeat(2 << 20)})).await;
    assert!(huge.contains("a script may have 1048576"), "{huge}");
    let broken = author.failure("save", json!({"path": "a.star", "text": "def (:\n"})).await;
    assert!(broken.contains("a.star:1"), "{broken}");
    assert!(!author.has("a.star"));
    author.world.run(["lock", "--check"]).await.expect(0);
}

#[tokio::test]
async fn nothing_is_saved_through_a_link() {
    let mut author = Author::start(world().await).await;
    let folder = author.world.directory.path().to_owned();
    let outside = author.world.directory.directory("elsewhere");
    std::fs::write(outside.join("there.star"), "old\n").unwrap();
    symlink(outside.join("there.star"), folder.join("file.star")).unwrap();
    symlink(outside.join("new.star"), folder.join("dangling.star")).unwrap();
    symlink("proxy.yaml", folder.join("config.star")).unwrap();
    symlink(&outside, folder.join("linked")).unwrap();
    std::fs::create_dir(folder.join("folder.star")).unwrap();
    let config = author.text_of("proxy.yaml");
    for path in ["file.star", "dangling.star", "config.star", "linked/new.star", "linked/deep/new.star", "folder.star"]
    {
        let refused = author.failure("save", json!({"path": path, "text": TEXT, "replace": true})).await;
        assert!(refused.contains("link") || refused.contains("no file"), "{path}: {refused}");
    }
    assert_eq!(std::fs::read_to_string(outside.join("there.star")).unwrap(), "old\n");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(author.text_of("proxy.yaml"), config);
    // Another name of the same file is replaced, not written through.
    std::fs::hard_link(folder.join("proxy.yaml"), folder.join("hard.star")).unwrap();
    author.data("save", json!({"path": "hard.star", "text": TEXT, "replace": true})).await;
    assert_eq!(author.text_of("proxy.yaml"), config);
}

#[tokio::test]
async fn an_extension_is_not_saved_because_it_would_have_the_rights_of_the_proxy() {
    let world = Proxy::new(&config().section("extensions: {paths: [tools]}")).file("tools/clock.star", "x = 1\n");
    let mut author = Author::start(locked(world).await).await;
    let extension = "def describe_extension():\n    return Extension(name = \"x\", exec = [\"sh\"])\n";
    for (path, text) in [("x.star", extension), ("tools/helper.star", TEXT), ("tools/deep/helper.star", TEXT)] {
        let refused = author.failure("save", json!({"path": path, "text": text})).await;
        assert!(refused.contains("only people save extensions"), "{path}: {refused}");
    }
    author.data("save", json!({"path": "toolshed.star", "text": TEXT})).await;
}

#[tokio::test]
async fn what_an_extension_loads_is_not_saved_either() {
    let extension = "load(\"helper\", \"greet\")\nload(\"//parts/later.star\", \"x\")\n\n\
                     def describe_extension():\n    return Extension(name = \"x\", exec = [\"sh\"])\n";
    let helper = "load(\"parts/deep.star\", \"deep\")\n\ndef greet():\n    return deep\n";
    let config = config().section("extensions: {paths: [ext/main.star]}\nsessionInit: {scriptFile: policy.star}");
    let world =
        Proxy::new(&config).file("policy.star", "load(\"ext/own.star\", \"own\")\n").file("ext/own.star", "own = 1\n");
    world.directory.directory("ext/parts");
    let world = world
        .file("ext/main.star", extension)
        .file("ext/helper.star", helper)
        .file("ext/shared/deep.star", "deep = 1\n");
    symlink("../shared/deep.star", world.directory.path().join("ext/parts/deep.star")).unwrap();
    let mut author = Author::start(world).await;
    for path in ["ext/main.star", "ext/helper.star", "ext/shared/deep.star", "ext/parts/later.star"] {
        let refused = author.failure("save", json!({"path": path, "text": TEXT, "replace": true})).await;
        assert!(refused.contains("only people save extensions"), "{path}: {refused}");
    }
    // What only the policy loads has no more rights than the policy.
    for path in ["ext/own.star", "policy.star", "helper.star"] {
        author.data("save", json!({"path": path, "text": TEXT, "replace": true})).await;
    }
    author.world.directory.write("ext/helper.star", "def (:\n");
    author.data("save", json!({"path": "policy.star", "text": TEXT, "replace": true})).await;
    let unknown = author.failure("save", json!({"path": "ext/own.star", "text": TEXT, "replace": true})).await;
    assert!(unknown.contains("`main.star` or a file that it loads does not parse"), "{unknown}");
}

#[tokio::test]
async fn what_is_elsewhere_is_not_shown_as_what_a_draft_replaces() {
    let mut author = Author::start(world().await).await;
    let folder = author.world.directory.path().to_owned();
    let outside = TempDir::new();
    outside.write("there.star", "s3cret = 1\n");
    symlink(outside.path(), folder.join("linked")).unwrap();
    author.world.directory.directory("scripts");
    author.world.directory.write("scripts/here.star", "here = 1\n");
    let files = json!({"linked/there.star": "x = 1\n", "scripts/here.star": "here = 2\n"});
    let diff = author.call("diff", json!({"files": files})).await;
    assert!(!diff.raw.contains("s3cret"), "{}", diff.raw);
    let diff = author.data("diff", json!({"files": {"scripts/here.star": "here = 2\n"}})).await;
    assert!(diff["texts"][0]["text"].as_str().unwrap().contains("-here = 1\n+here = 2\n"), "{diff:#}");
}
