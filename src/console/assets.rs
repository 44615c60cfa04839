//! The files of the page, which are part of the binary.

/// A file of the page.
#[derive(Debug)]
pub(super) struct Asset {
    /// Its path below `page/`.
    name: &'static str,
    pub(super) content_type: &'static str,
    pub(super) bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        &[$(Asset {
            name: $name,
            content_type: content_type($name),
            bytes: include_bytes!(concat!("page/", $name)),
        }),*]
    };
}

static ASSETS: &[Asset] = assets![
    "api.js",
    "diff.js",
    "filter.js",
    "format.js",
    "index.html",
    "json.js",
    "live.js",
    "main.js",
    "navigation.js",
    "parts.js",
    "preact.js",
    "provenance.js",
    "sse.js",
    "starlark.js",
    "style.css",
    "table.js",
    "text.js",
    "value.js",
    "form/fields.js",
    "form/form.js",
    "form/schema.js",
    "form/state.js",
    "form/try_it.js",
    "views/calls.js",
    "views/script.js",
    "views/servers.js",
    "views/surface.js",
    "views/tools.js",
];

const fn content_type(name: &str) -> &'static str {
    match name.as_bytes() {
        [.., b'.', b'h', b't', b'm', b'l'] => "text/html; charset=utf-8",
        [.., b'.', b'j', b's'] => "text/javascript; charset=utf-8",
        [.., b'.', b'c', b's', b's'] => "text/css; charset=utf-8",
        _ => panic!("a file of the page has an unknown type"),
    }
}

/// The file at a path of the port.
pub(super) fn find(path: &str) -> Option<&'static Asset> {
    let name = if path == "/" { "index.html" } else { path.strip_prefix('/')? };
    ASSETS.iter().find(|asset| asset.name == name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sha2::{Digest, Sha256};

    use super::*;
    use proxy_json::hex;

    /// The SHA-256 of `htm/preact/standalone.module.js`: this third-party file must not change unnoticed.
    const PREACT: &str = "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7";

    fn collect(folder: &Path, files: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.path() {
                path if path.is_dir() => collect(&path, files),
                path => files.push(path.to_str().unwrap().split_once("console/page/").unwrap().1.to_owned()),
            }
        }
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let mut files = Vec::new();
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console/page"), &mut files);
        files.retain(|file| !file.ends_with(".LICENSE"));
        files.sort();
        let mut served: Vec<&str> = ASSETS.iter().map(|asset| asset.name).collect();
        served.sort_unstable();
        assert_eq!(served, files);
        assert!(find("/").is_some() && find("").is_none() && find("//main.js").is_none());
        assert_eq!(find("/views/tools.js").unwrap().content_type, "text/javascript; charset=utf-8");
    }

    #[test]
    fn the_file_of_others_is_the_one_that_was_reviewed() {
        assert_eq!(hex(&Sha256::digest(find("/preact.js").unwrap().bytes)), PREACT);
    }

    #[test]
    fn the_page_is_small() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.bytes.len()).sum();
        assert!(bytes < 150_000, "{bytes}");
    }
}
