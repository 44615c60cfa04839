//! Which files a script may load.

use std::path::PathBuf;
use std::sync::Arc;

use starlark::environment::Globals;

use crate::{Context, Embedded, Limits, Paths, Program, Source, evaluate, on_big_stack};

const SHIPPED: &[Embedded] = &[Embedded { name: "lib@1.star", text: "def twice(x):\n    return 2 * x\n" }];

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("loader-{name}-{}", std::process::id()));
        for (file, text) in files {
            let file = path.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        Folder(path)
    }

    /// Runs `main.star`: the files it loaded, or the error.
    fn run(&self) -> Result<usize, String> {
        let path = self.0.join("root/main.star");
        let source = Source::at("main.star", std::fs::read_to_string(&path).unwrap(), path);
        let run = || {
            let limits = Limits::SESSION_SCRIPT;
            let context = Context::top(Arc::new(()), &limits);
            let globals = Globals::standard();
            evaluate(&Program {
                source: &source,
                globals: &globals,
                context: &context,
                limits: &limits,
                root: Some(&self.0.join("root")),
                embedded: SHIPPED,
                paths: Paths::Full,
                collects: false,
            })
            .map(|done| done.files.len())
            .map_err(|failure| failure.diagnostic.to_string())
        };
        on_big_stack(run).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_load_from_the_root_beside_and_from_the_binary_each_once() {
    let folder = Folder::new(
        "all",
        &[
            (
                "root/main.star",
                "load('//lib/a.star', 'a')\nload('lib/b.star', 'b')\nload('@proxy//lib@1.star', 'twice')\nx = twice(a + b)\n",
            ),
            ("root/lib/a.star", "load('b.star', 'b')\na = b\n"),
            ("root/lib/b.star", "b = 1\n"),
        ],
    );
    assert_eq!(folder.run(), Ok(2));
}

#[test]
fn a_cycle_is_named() {
    let folder = Folder::new(
        "cycle",
        &[
            ("root/main.star", "load('a.star', 'a')\n"),
            ("root/a.star", "load('b.star', 'b')\na = 1\n"),
            ("root/b.star", "load('a.star', 'a')\nb = 1\n"),
        ],
    );
    let text = folder.run().unwrap_err();
    assert!(text.contains("load cycle: a.star -> b.star -> a.star"), "{text}");
    assert!(text.contains("b.star:1:"), "{text}");
}

#[test]
fn escapes_are_refused() {
    let folder = Folder::new("escape", &[("outside.star", "x = 1\n"), ("root/data.json", "{}")]);
    for (load, expected) in [
        ("../outside.star", "cannot load `../outside.star`: it is outside the folder"),
        ("//../outside.star", "cannot load `//../outside.star`: it is outside the folder"),
        ("link.star", "cannot load `link.star`: it is outside the folder"),
        ("/etc/passwd.star", "absolute paths are not allowed"),
        ("data.json", "only `*.star` files can be loaded"),
        ("gone.star", "cannot load `gone.star`: there is no such file"),
        ("@proxy//lib@2.star", "did you mean `@proxy//lib@1.star`?"),
        ("@proxy//rates.star", "the embedded files are `@proxy//lib@1.star`"),
        ("@other//x.star", "there is no such library"),
    ] {
        std::fs::write(folder.0.join("root/main.star"), format!("load('{load}', 'x')\n")).unwrap();
        let _ = std::os::unix::fs::symlink(folder.0.join("outside.star"), folder.0.join("root/link.star"));
        let text = folder.run().unwrap_err();
        assert!(text.contains(expected), "{load}: {text}");
        assert!(text.contains("main.star:1:"), "{text}");
    }
}

#[test]
fn a_misspelt_file_is_suggested_unless_it_is_outside_of_the_folder() {
    let files = [("outside.star", "x = 1\n"), ("root/lib/helpers.star", "x = 1\n")];
    let folder = Folder::new("misspelt", &files);
    for (load, expected) in [
        ("lib/helper.star", "did you mean `lib/helpers.star`?"),
        ("//lib/helper.star", "did you mean `//lib/helpers.star`?"),
        ("lib/rates.star", "`//x.star` is relative to the config's folder"),
        ("../outsid.star", "`//x.star` is relative to the config's folder"),
    ] {
        std::fs::write(folder.0.join("root/main.star"), format!("load('{load}', 'x')\n")).unwrap();
        let text = folder.run().unwrap_err();
        assert!(text.contains(expected), "{load}: {text}");
    }
}

#[test]
fn an_error_in_a_loaded_file_names_that_file() {
    let folder =
        Folder::new("inner", &[("root/main.star", "load('a.star', 'a')\n"), ("root/a.star", "a = 1\nb = a + 'x'\n")]);
    let text = folder.run().unwrap_err();
    assert!(text.contains("a.star:2:5"), "{text}");
}
