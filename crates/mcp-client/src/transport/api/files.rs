//! The file of a description, and the files that it refers to. They are below its folder.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use proxy_base::watch::FileStamp;
use proxy_openapi::OtherFiles;

/// The maximum size of a description with all its files.
pub(super) const MAX_BYTES: usize = 20 << 20;
/// The maximum number of values in a YAML file.
const MAX_VALUES: usize = 1_000_000;

/// Reads files below a folder, as many as there is room for.
pub(super) struct DescriptionFolder {
    /// Without links.
    folder: PathBuf,
    room: Cell<usize>,
    /// What was asked for, and what it looked like before it was read: what changes meanwhile is read again.
    files: RefCell<Vec<(PathBuf, FileStamp)>>,
}

impl DescriptionFolder {
    /// The folder of a description, and the text of it. The error is a clause without a path.
    pub(super) fn open(description: &Path) -> Result<(Self, String), String> {
        let folder = description.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().map_err(|error| error.to_string())?;
        let files = RefCell::new(vec![(description.to_owned(), FileStamp::of(description))]);
        let opened = DescriptionFolder { folder, room: Cell::new(MAX_BYTES), files };
        let text = opened.text(description)?;
        Ok((opened, text))
    }

    /// The files that were read or that could not be, the description first, as they were before that.
    pub(super) fn into_files(self) -> Vec<(PathBuf, FileStamp)> {
        self.files.into_inner()
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        // Before opening, because a named pipe would wait for a writer.
        let metadata = path.metadata().map_err(|error| reason(&error))?;
        if !metadata.is_file() {
            return Err("it is not a file".to_owned());
        }
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(|error| reason(&error))?;
        file.take(self.room.get() as u64 + 1).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
        let left = self.room.get().checked_sub(bytes.len());
        let too_large = || format!("the description is larger than {} MiB", MAX_BYTES >> 20);
        self.room.set(left.ok_or_else(too_large)?);
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
    }
}

impl OtherFiles for DescriptionFolder {
    fn read(&self, path: &str) -> Result<Value, String> {
        let named = self.folder.join(path);
        let stamp = FileStamp::of(&named);
        self.files.borrow_mut().push((named.clone(), stamp));
        let real = named.canonicalize().map_err(|error| reason(&error))?;
        if !real.starts_with(&self.folder) {
            return Err("it is a link that leads out of the folder of the description".to_owned());
        }
        parsed(&self.text(&real)?)
    }
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "the file cannot be read".to_owned(),
        _ => error.to_string(),
    }
}

/// Whether a text is JSON, if it is either that or YAML.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '['])
}

/// The value of a file in JSON or YAML.
pub(super) fn parsed(text: &str) -> Result<Value, String> {
    if !is_json(text) {
        return proxy_config::read_yaml(text, MAX_VALUES);
    }
    let text = text.trim_start_matches('\u{feff}');
    if proxy_json::too_deep(text.as_bytes()) {
        return Err(format!("it nests more than {} levels deep", proxy_json::MAX_DEPTH));
    }
    serde_json::from_str(text).map_err(|error| format!("invalid JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("description-{name}-{}", std::process::id()));
            std::fs::create_dir_all(root.join("api/parts")).unwrap();
            Scratch(root)
        }

        fn write(&self, path: &str, text: &str) {
            std::fs::write(self.0.join(path), text).unwrap();
        }

        fn open(&self) -> DescriptionFolder {
            DescriptionFolder::open(&self.0.join("api/api.yaml")).unwrap().0
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_link_out_of_the_folder_is_not_followed() {
        let scratch = Scratch::new("links");
        scratch.write("api/api.yaml", "openapi: 3.0.0\n");
        scratch.write("secret.yaml", "key: s3cret\n");
        scratch.write("api/parts/a.json", "{\"a\": 1}");
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(scratch.0.join(to), scratch.0.join(at)).unwrap();
        link("secret.yaml", "api/out.yaml");
        link("api/parts/a.json", "api/in.json");
        link(".", "api/up");
        let folder = scratch.open();
        assert_eq!(folder.read("parts/a.json"), Ok(json!({"a": 1})));
        assert_eq!(folder.read("in.json"), Ok(json!({"a": 1})), "a link within the folder");
        for out in ["out.yaml", "up/secret.yaml"] {
            assert!(folder.read(out).unwrap_err().contains("leads out of the folder"), "{out}");
        }
        assert_eq!(folder.read("none.yaml").unwrap_err(), "there is no such file");
        assert_eq!(folder.read("parts").unwrap_err(), "it is not a file");
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_or_comes_later_is_noticed() {
        let scratch = Scratch::new("changes");
        scratch.write("api/api.yaml", "openapi: 3.0.0\n");
        scratch.write("api/a.json", "[1]");
        let folder = scratch.open();
        assert_eq!(folder.read("a.json"), Ok(json!([1])));
        assert!(folder.read("later.json").is_err());
        scratch.write("api/a.json", "[1, 2]");
        scratch.write("api/later.json", "[]");
        let changed = |(file, stamp): &(PathBuf, FileStamp)| *stamp != FileStamp::of(file);
        assert_eq!(folder.into_files().iter().map(changed).collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn all_files_together_have_a_limit() {
        let scratch = Scratch::new("large");
        scratch.write("api/api.yaml", "openapi: 3.0.0\n");
        scratch.write("api/large.json", &format!("[\"{}\"]", "x".repeat(MAX_BYTES / 2)));
        let folder = scratch.open();
        assert!(folder.read("large.json").is_ok());
        assert_eq!(folder.read("large.json").unwrap_err(), "the description is larger than 20 MiB");
    }
}
