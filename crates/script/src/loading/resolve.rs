//! Resolves the argument of `load()`: a file below the root, a file next to the loading one, or an embedded file.

use std::path::{Path, PathBuf};

use crate::ScriptError;
use crate::files::Files;
use crate::source::{MAX_SOURCE, Source};
use proxy_base::diagnostic::nearest;

/// A file embedded in the binary, loaded as `@proxy//NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    pub name: &'static str,
    pub text: &'static str,
}

/// How `load()` names files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// With the extension `.star`.
    Full,
    /// The extension `.star` may be omitted, as in extensions.
    Short,
}

const EMBEDDED_PREFIX: &str = "@proxy//";
const WHERE: &str = "`//x.star` is relative to the config's folder, `x.star` to this file's folder";

/// The file that `load(id)` in the file `from` refers to. The root must be canonical.
pub fn resolve(
    id: &str,
    from: &Source,
    files: &Files,
    root: Option<&Path>,
    embedded: &[Embedded],
    paths: Paths,
) -> Result<Source, ScriptError> {
    if let Some(name) = id.strip_prefix(EMBEDDED_PREFIX) {
        return embedded_file(name, embedded);
    }
    if id.starts_with('@') {
        return Err(ScriptError::new(format!("cannot load `{id}`: there is no such library"))
            .hint("embedded files begin with `@proxy//`, your own files with `//`"));
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

fn embedded_file(name: &str, embedded: &[Embedded]) -> Result<Source, ScriptError> {
    if let Some(file) = embedded.iter().find(|file| file.name == name) {
        return Ok(Source::new(format!("{EMBEDDED_PREFIX}{name}"), file.text));
    }
    let error = ScriptError::new(format!("cannot load `{EMBEDDED_PREFIX}{name}`: there is no such embedded file"));
    Err(match nearest(name, embedded.iter().map(|file| file.name)) {
        Some(near) => error.hint(format!("did you mean `{EMBEDDED_PREFIX}{near}`?")),
        None if embedded.is_empty() => error.hint("extensions have no embedded files"),
        None => {
            let names: Vec<String> = embedded.iter().map(|file| format!("`{EMBEDDED_PREFIX}{}`", file.name)).collect();
            error.hint(format!("the embedded files are {}", names.join(", ")))
        }
    })
}

/// What to load instead of a missing file: a script beside it whose name is similar. Folders that scripts may not load from
/// are not looked into.
fn similar(id: &str, path: &Path, root: &Path) -> Option<String> {
    let folder = path.parent()?.canonicalize().ok().filter(|folder| folder.starts_with(root))?;
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let stem = path.file_stem()?.to_str()?;
    // A link that leads nowhere is there, too.
    let others = names.iter().filter_map(|name| name.strip_suffix(".star")).filter(|other| *other != stem);
    let near = nearest(stem, others)?;
    let beside = id.rfind('/').map_or("", |slash| &id[..=slash]);
    Some(format!("{beside}{near}.star"))
}

fn read(id: &str, path: &Path, root: &Path) -> Result<Source, ScriptError> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let hint = similar(id, path, root).map(|near| format!("did you mean `{near}`?"));
            ScriptError::new(format!("cannot load `{id}`: there is no such file"))
                .hint(hint.unwrap_or_else(|| WHERE.to_owned()))
        }
        _ => ScriptError::new(format!("cannot load `{id}`: {error}")),
    };
    // Follow links first, so that the path that is checked is the path that is read.
    let real: PathBuf = path.canonicalize().map_err(failed)?;
    let Ok(shown) = real.strip_prefix(root) else {
        return Err(ScriptError::new(format!(
            "cannot load `{id}`: it is outside the folder that scripts may load from"
        )));
    };
    if real.extension().is_none_or(|extension| extension != "star") {
        return Err(ScriptError::new(format!("cannot load `{id}`: only `*.star` files can be loaded")));
    }
    let size = std::fs::metadata(&real).map_err(failed)?.len();
    if size > MAX_SOURCE as u64 {
        return Err(ScriptError::new(format!(
            "cannot load `{id}`: its size is {size} bytes; the maximum is {MAX_SOURCE}"
        )));
    }
    let text = std::fs::read_to_string(&real).map_err(failed)?;
    Ok(Source::at(shown.display().to_string(), text, real))
}
