//! Circles between the folders of a crate: each folder has a place in an order, lowest first, or nobody can say what it is for.
//! What a front gives out counts as what it is, wherever it is defined.

use std::collections::{BTreeMap, BTreeSet};

use super::circles::{Arrows, circles};
use super::imports::Modules;
use super::{SourceFile, sources};

/// Circles that are known, and why they stay.
const KNOWN: [(&str, &str); 1] = [("engine: gateway:", "the gateway owns the rounds and surfaces that act through it")];

/// The circles among the modules of each folder in which at least one is a folder itself, as `crate: folder: a, b`.
fn folder_circles(files: &[SourceFile]) -> Vec<String> {
    let mut packages: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in files {
        packages.entry(file.package()).or_default().push(file);
    }
    let mut found = Vec::new();
    for (package, members) in packages {
        let by_path: BTreeMap<&str, &SourceFile> = members.iter().map(|file| (file.path.as_str(), *file)).collect();
        let folders: BTreeSet<&[String]> =
            members.iter().flat_map(|file| (1..file.inner.len()).map(|length| &file.inner[..length])).collect();
        let modules = Modules::new(members.iter().copied());
        let mut levels: BTreeMap<&[String], Arrows<'_>> = BTreeMap::new();
        for file in modules.files().filter(|file| !file.is_test()) {
            for path in modules.named(file, true) {
                let (from, to) = (&file.inner, &by_path[path].inner);
                let shared = from.iter().zip(to).take_while(|(one, other)| one == other).count();
                if let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) {
                    levels.entry(&from[..shared]).or_default().entry(one).or_default().insert(other);
                }
            }
        }
        for (parent, arrows) in levels {
            for circle in circles(&arrows) {
                let is_folder = |name: &&str| {
                    let path: Vec<String> = parent.iter().cloned().chain([(*name).to_owned()]).collect();
                    folders.contains(path.as_slice())
                };
                if circle.iter().any(is_folder) {
                    let names = Vec::from_iter(circle).join(", ");
                    found.push(format!("{package}: {}: {names}", parent.join("::")));
                }
            }
        }
    }
    found
}

#[test]
fn folders_have_an_order() {
    let found = folder_circles(&sources());
    let is_known = |circle: &String| KNOWN.iter().any(|(known, _)| circle.starts_with(known));
    let new: Vec<&String> = found.iter().filter(|circle| !is_known(circle)).collect();
    assert!(new.is_empty(), "\n{new:#?}");
    for (known, why) in KNOWN {
        assert!(
            found.iter().any(|circle| circle.starts_with(known)),
            "`{known}` is open now ({why}): take it off the list"
        );
    }
}

#[test]
fn a_circle_of_folders_is_found_through_what_fronts_give_out() {
    let file = |path: &str, text: &str| SourceFile::new(path, text.to_owned());
    let files = [
        file("crates/x/src/lib.rs", "mod a;\nmod b;\npub use b::inner::Thing;\n"),
        file("crates/x/src/a/mod.rs", "mod one;\n"),
        file("crates/x/src/a/one.rs", "use crate::Thing;\npub struct One;\n"),
        file("crates/x/src/b/mod.rs", "pub mod inner;\n"),
        file("crates/x/src/b/inner.rs", "use crate::a::one::One;\npub struct Thing;\n"),
        file("crates/x/src/c.rs", "use crate::a::one::One;\n"),
    ];
    assert_eq!(folder_circles(&files), ["x: : a, b"]);
}
