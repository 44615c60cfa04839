//! What a `load()` names: a file below the root, a file beside the loading one, or a file shipped in the binary.

use std::path::{Path, PathBuf};

use super::{Files, MAX_SOURCE, ScriptError, Source};
use crate::diagnostic::nearest;

/// A file shipped in the binary, loaded as `@proxy//NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    pub name: &'static str,
    pub text: &'static str,
}

/// How files are named in `load()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// With their `.star`.
    Full,
    /// The ending may be left out, as extensions do.
    Short,
}

const SHIPPED: &str = "@proxy//";
const WHERE: &str = "`//x.star` is a file below the folder of the config, `x.star` one beside this file";

/// The file that `id` means in a `load()` of `from`. The root must be canonical.
pub fn resolve(
    id: &str,
    from: &Source,
    files: &Files,
    root: Option<&Path>,
    embedded: &[Embedded],
    paths: Paths,
) -> Result<Source, ScriptError> {
    if let Some(name) = id.strip_prefix(SHIPPED) {
        return shipped(name, embedded);
    }
    if id.starts_with('@') {
        return Err(ScriptError::new(format!("cannot load `{id}`: there is no such library"))
            .hint("shipped files begin with `@proxy//`, own files with `//`"));
    }
    let root = root.ok_or_else(|| ScriptError::new(format!("cannot load `{id}`: this script has no folder")))?;
    let mut relative = id.to_owned();
    if paths == Paths::Short && !relative.ends_with(".star") {
        relative.push_str(".star");
    }
    if !relative.ends_with(".star") {
        return Err(ScriptError::new(format!("cannot load `{id}`: only `*.star` files can be loaded")));
    }
    let path = match relative.strip_prefix("//") {
        Some(below) => root.join(below.trim_start_matches('/')),
        None if Path::new(&relative).is_absolute() => {
            return Err(ScriptError::new(format!("cannot load `{id}`: absolute paths are not allowed")).hint(WHERE));
        }
        None => from.path.as_deref().and_then(Path::parent).unwrap_or(root).join(&relative),
    };
    files.read(&path, || read(id, &path, root))
}

fn shipped(name: &str, embedded: &[Embedded]) -> Result<Source, ScriptError> {
    if let Some(file) = embedded.iter().find(|file| file.name == name) {
        return Ok(Source::new(format!("{SHIPPED}{name}"), file.text));
    }
    let complaint = ScriptError::new(format!("cannot load `{SHIPPED}{name}`: no such file is shipped"));
    Err(match nearest(name, embedded.iter().map(|file| file.name)) {
        Some(near) => complaint.hint(format!("did you mean `{SHIPPED}{near}`?")),
        None => complaint,
    })
}

fn read(id: &str, path: &Path, root: &Path) -> Result<Source, ScriptError> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            ScriptError::new(format!("cannot load `{id}`: there is no such file")).hint(WHERE)
        }
        _ => ScriptError::new(format!("cannot load `{id}`: {error}")),
    };
    // Links are followed first, so that what is checked is what is read.
    let real: PathBuf = path.canonicalize().map_err(failed)?;
    let Ok(shown) = real.strip_prefix(root) else {
        return Err(ScriptError::new(format!(
            "cannot load `{id}`: it is outside of the folder that scripts may load from"
        )));
    };
    if real.extension().is_none_or(|extension| extension != "star") {
        return Err(ScriptError::new(format!("cannot load `{id}`: only `*.star` files can be loaded")));
    }
    let size = std::fs::metadata(&real).map_err(failed)?.len();
    if size > MAX_SOURCE as u64 {
        return Err(ScriptError::new(format!(
            "cannot load `{id}`: it has {size} bytes; a script may have {MAX_SOURCE}"
        )));
    }
    let text = std::fs::read_to_string(&real).map_err(failed)?;
    Ok(Source::at(shown.display().to_string(), text, real))
}
