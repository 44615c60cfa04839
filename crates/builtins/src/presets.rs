//! The session scripts that are part of the binary, and the library they share. A change of behaviour is a new version of a
//! preset; old versions stay available, and a name without a version refers to the newest one.

use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_script::{Embedded, Source};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    pub name: &'static str,
    pub version: u32,
    /// One line for `proxy list-presets`.
    pub summary: &'static str,
    /// The Starlark text.
    pub source: &'static str,
}

/// Sorted by name; versions of the same name newest first.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "approval",
        version: 1,
        summary: "all tools; tools without `readOnlyHint` ask the user for approval",
        source: include_str!("../../../presets/approval@1.star"),
    },
    Preset {
        name: "code-mode",
        version: 1,
        summary: "`execute_tool_script`, which runs scripts that call tools, instead of all tools",
        source: include_str!("../../../presets/code-mode@1.star"),
    },
    Preset {
        name: "default",
        version: 1,
        summary: "everything, as configured in `aggregation`, `optimizer` and `codeMode`",
        source: include_str!("../../../presets/default@1.star"),
    },
    Preset {
        name: "optimizer",
        version: 1,
        summary: "`find_tool`, `describe_tool` and `call_tool` instead of all tools",
        source: include_str!("../../../presets/optimizer@1.star"),
    },
    Preset {
        name: "passthrough",
        version: 1,
        summary: "everything, unchanged; two tools with the same name are an error",
        source: include_str!("../../../presets/passthrough@1.star"),
    },
    Preset {
        name: "read-only",
        version: 1,
        summary: "only tools with `readOnlyHint`",
        source: include_str!("../../../presets/read-only@1.star"),
    },
];

/// The files that `load("@proxy//...")` finds.
pub const LIBRARY: &[Embedded] = &[Embedded { name: "lib@1.star", text: include_str!("../../../presets/lib@1.star") }];

impl Preset {
    /// The name with the version, such as `default@1`.
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    pub fn script(&self) -> Source {
        Source::new(format!("@proxy//{}.star", self.full_name()), self.source)
    }
}

/// A file for scripts to load, as `proxy list-presets` lists it.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// The name with the version, such as `lib@1`.
    pub name: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
}

/// The presets' library, for use in your own scripts.
pub const LIBRARIES: &[Library] = &[Library {
    name: "lib@1",
    summary: "the presets' functions for your own scripts: `load(\"@proxy//lib@1.star\", ...)`",
    source: LIBRARY[0].text,
}];

/// The source of a preset or a library by its name, such as `default`, `default@1` or `lib@1`.
pub fn source_of(requested: &str) -> Result<&'static str, Diagnostic> {
    let plain = requested.strip_prefix("@proxy//").unwrap_or(requested);
    let plain = plain.strip_suffix(".star").unwrap_or(plain);
    let is_asked = |library: &&Library| library.name == plain || library.name.split('@').next() == Some(plain);
    match LIBRARIES.iter().find(is_asked) {
        Some(library) => Ok(library.source),
        None => find(plain).map(|preset| preset.source),
    }
}

/// Finds a preset by its name, such as `default` or `default@1`.
pub fn find(requested: &str) -> Result<&'static Preset, Diagnostic> {
    let found = PRESETS.iter().find(|preset| preset.name == requested || preset.full_name() == requested);
    if let Some(preset) = found {
        return Ok(preset);
    }
    let (name, _) = requested.split_once('@').unwrap_or((requested, ""));
    let versions: Vec<String> =
        PRESETS.iter().filter(|preset| preset.name == name).map(|preset| format!("`{}`", preset.full_name())).collect();
    if !versions.is_empty() {
        return Err(Diagnostic::error(format!("unknown preset `{requested}`"))
            .hint(format!("the versions are {}", versions.join(", "))));
    }
    let known = PRESETS.iter().map(|preset| preset.name);
    let hint = match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the presets are {}", known.collect::<Vec<_>>().join(", ")),
    };
    Err(Diagnostic::error(format!("unknown preset `{requested}`")).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_found_by_name_and_version() {
        assert_eq!(find("default").unwrap().full_name(), "default@1");
        assert_eq!(find("passthrough@1").unwrap().name, "passthrough");
        assert_eq!(find("defualt").unwrap_err().hint.unwrap(), "did you mean `default`?");
        assert_eq!(find("default@7").unwrap_err().hint.unwrap(), "the versions are `default@1`");
    }
}
