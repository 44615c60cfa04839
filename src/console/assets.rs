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

static ASSETS: &[Asset] = assets!["index.html",];

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
