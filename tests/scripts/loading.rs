//! `load()`: what a script may read, and what not.

use super::{refused, started, world};

#[tokio::test]
async fn files_below_the_config_and_the_shipped_library_load() {
    let proxy = world(
        "echo",
        "
load('//lib/names.star', 'named')
load('@proxy//lib@1.star', 'aggregate')
for meta, call in aggregate(backends(), {'conflictResolution': 'prefix'}):
    publish(meta.replace(name = named(meta.name)), call)
",
    )
    .file("lib/names.star", "load('suffix.star', 'SUFFIX')\ndef named(name):\n    return name + SUFFIX\n")
    .file("lib/suffix.star", "SUFFIX = '_v2'\n");
    assert_eq!(started(proxy).await.tools().await, ["fake_echo_v2"]);
}

#[tokio::test]
async fn nothing_outside_of_the_folder_loads() {
    for (path, expected) in [
        ("/etc/x.star", "cannot load `/etc/x.star`: absolute paths are not allowed"),
        ("//../outside.star", "cannot load `//../outside.star`: "),
        ("//secrets.txt", "cannot load `//secrets.txt`: only `*.star` files can be loaded"),
        ("//none.star", "cannot load `//none.star`: there is no such file"),
        ("@else//x.star", "cannot load `@else//x.star`: there is no such library"),
        ("@proxy//lib@9.star", "cannot load `@proxy//lib@9.star`: there is no such embedded file"),
    ] {
        let text = refused(&format!("load('{path}', 'x')\n")).await;
        assert!(text.starts_with(&format!("error: {expected}")), "{text}");
        assert!(text.contains("--> policy.star:1:"), "{text}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_out_of_the_folder_does_not_load() {
    let proxy = world("echo", "load('//link.star', 'x')\n");
    let outside = proxy.directory.path().with_extension("star");
    std::fs::write(&outside, "x = 1\n").unwrap();
    std::os::unix::fs::symlink(&outside, proxy.directory.path().join("link.star")).unwrap();
    let finished = proxy.refused().await;
    std::fs::remove_file(&outside).unwrap();
    let expected = "cannot load `//link.star`: it is outside the folder that scripts may load from";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
}

#[tokio::test]
async fn a_circle_is_named() {
    let proxy = world("echo", "load('//a.star', 'x')\n")
        .file("a.star", "load('b.star', 'x')\n")
        .file("b.star", "load('a.star', 'x')\n");
    let finished = proxy.refused().await;
    let expected = "load cycle: a.star -> b.star -> a.star";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
}

#[tokio::test]
async fn a_script_has_no_files_no_network_and_no_environment() {
    for name in ["open", "exec", "http", "env", "data"] {
        let text = refused(&format!("x = {name}\n")).await;
        assert!(text.starts_with(&format!("error: Variable `{name}` not found")), "{text}");
    }
}
