//! The extensions that are embedded in the binary, and available without a config.

use proxy_script::Source;

/// An embedded extension.
pub struct Bundled {
    pub name: &'static str,
    /// In one line.
    pub summary: &'static str,
    /// The Starlark text.
    pub source: &'static str,
}

pub const BUNDLED: &[Bundled] = &[
    Bundled { name: "hello", summary: "greets people", source: include_str!("../../../../extensions/hello.star") },
    Bundled {
        name: "text",
        summary: "counts, searches, changes and fingerprints text",
        source: include_str!("../../../../extensions/text.star"),
    },
];

impl Bundled {
    pub fn script(&self) -> Source {
        Source::new(format!("@proxy//{}.star", self.name), self.source)
    }
}
