//! The files that an extension may access: in its own folder, and in folders that it declares.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::open_path::OpenPath;

/// The folder of an extension, and the additional folders it declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// `None` for an extension that is not a file on disk.
    own: Option<PathBuf>,
    additional: Vec<PathBuf>,
    /// The real paths of the client's folders; `None` if the extension does not use them.
    client: Option<Vec<PathBuf>>,
}

impl Folder {
    /// Resolves symbolic links, because the paths to check are resolved too.
    pub fn new(own: Option<&Path>) -> Self {
        let real = |path: &Path| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            path.canonicalize().unwrap_or_else(|_| path.to_owned())
        };
        Folder { own: own.map(real), additional: Vec::new(), client: None }
    }

    pub fn path(&self) -> Option<&Path> {
        self.own.as_deref()
    }

    /// Adds the folders in `allowed_paths`, which may be relative to the folder of the extension.
    pub fn with(mut self, additional: &[String]) -> Result<Self, String> {
        for text in additional {
            let path = match self.at(text) {
                path if path.is_absolute() => path,
                _ => return Err(format!("`{text}` in `allowed_paths` is relative, and the extension has no folder")),
            };
            self.additional.push(path.canonicalize().unwrap_or(path));
        }
        Ok(self)
    }

    /// Adds the folders of the client, whose links were resolved when the client named them. They are not resolved again: a
    /// folder that has become a link since then leads nowhere else.
    #[must_use]
    pub fn with_client_folders(mut self, real: impl IntoIterator<Item = String>) -> Self {
        self.client = Some(real.into_iter().map(PathBuf::from).collect());
        self
    }

    /// Whether a path is inside of the folders as it is written, links aside.
    pub fn covers(&self, text: &str) -> bool {
        self.check(&normalized(&self.at(text)), text).is_ok()
    }

    fn at(&self, text: &str) -> PathBuf {
        match &self.own {
            Some(own) => own.join(text),
            None => PathBuf::from(text),
        }
    }

    /// Opens a file or folder that exists, if the extension may use it.
    pub fn open(&self, text: &str) -> Result<OpenPath, String> {
        let path = self.at(text);
        // Check first, so that the error does not reveal whether a file outside exists.
        self.check(&normalized(&path), text)?;
        let opened = OpenPath::open(&path).map_err(|error| reason(text, &error))?;
        self.check(opened.path(), text)?;
        Ok(opened)
    }

    /// Opens a file, and creates it if needed, if the extension may use it. Its folder must exist.
    pub fn open_or_create(&self, text: &str) -> Result<OpenPath, String> {
        let path = self.at(text);
        self.check(&normalized(&path), text)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(format!("`{text}` is not the path of a file"));
        };
        let parent = OpenPath::open(parent).map_err(|error| reason(text, &error))?;
        self.check(&parent.path().join(name), text)?;
        match parent.create(name) {
            Ok(created) => Ok(created),
            // Also a link: between the folders they are fine, but what they lead to must exist.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.open(text),
            Err(error) => Err(reason(text, &error)),
        }
    }

    fn check(&self, real: &Path, text: &str) -> Result<(), String> {
        let of_client = self.client.iter().flatten();
        if self.own.iter().chain(&self.additional).chain(of_client).any(|allowed| real.starts_with(allowed)) {
            return Ok(());
        }
        if let Some(client) = &self.client {
            let has = if client.is_empty() { "; the client has none" } else { "" };
            return Err(format!(
                "`{text}` is outside of the folder of the extension and of the client's folders (`@roots`){has}"
            ));
        }
        Err(format!(
            "`{text}` is outside of the folder of the extension; list additional folders in `allowed_paths` of Extension()"
        ))
    }
}

/// Removes `.` and `..` lexically, without access to the file system.
fn normalized(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                result.pop();
            }
            Component::CurDir => {}
            other => result.push(other),
        }
    }
    result
}

fn reason(text: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("file `{text}` not found"),
        _ => format!("`{text}` cannot be used: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct TempFolder(PathBuf);

    impl Drop for TempFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn place(name: &str) -> TempFolder {
        let path = std::env::temp_dir().join(format!("folder-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("own/below")).unwrap();
        fs::create_dir_all(path.join("other")).unwrap();
        for file in ["own/a.txt", "own/below/b.txt", "other/secret.txt", "own-too.txt"] {
            fs::write(path.join(file), file).unwrap();
        }
        std::os::unix::fs::symlink("../other", path.join("own/link")).unwrap();
        std::os::unix::fs::symlink("../other/new.db", path.join("own/dangling.db")).unwrap();
        TempFolder(path)
    }

    #[test]
    fn files_below_the_folder_and_nothing_else() {
        let place = place("below");
        let folder = Folder::new(Some(&place.0.join("own")));
        assert!(folder.open("a.txt").is_ok());
        assert!(folder.open("./below/../below/b.txt").is_ok());
        assert!(folder.open(&place.0.join("own/a.txt").display().to_string()).is_ok());
        assert!(folder.open_or_create("below/new.db").is_ok());
        let outside = place.0.join("own-too.txt").display().to_string();
        for text in [
            "../other/secret.txt",
            "../nothing",
            "below/../../other/secret.txt",
            "/etc/passwd",
            "link/secret.txt",
            &outside,
        ] {
            assert!(folder.open(text).unwrap_err().contains("outside of the folder"), "{text}");
            assert!(folder.open_or_create(text).unwrap_err().contains("outside of the folder"), "{text}");
        }
        assert!(folder.open_or_create("link/new.db").unwrap_err().contains("outside"));
        assert!(folder.open_or_create("dangling.db").is_err());
        assert_eq!(folder.open("none.txt").unwrap_err(), "file `none.txt` not found");
    }

    #[test]
    fn what_was_opened_stays_what_it_was() {
        let place = place("exchanged");
        let folder = Folder::new(Some(&place.0.join("own")));
        let (file, below) = (folder.open("a.txt").unwrap(), folder.open("below").unwrap());
        assert!(file.is_still_there());
        for (name, target) in [("own/a.txt", "../other/secret.txt"), ("own/below", "../other")] {
            fs::rename(place.0.join(name), place.0.join(name.replace("own/", "moved-"))).unwrap();
            std::os::unix::fs::symlink(target, place.0.join(name)).unwrap();
        }
        assert_eq!(file.read(100).unwrap(), b"own/a.txt");
        assert!(!file.is_still_there());
        assert_eq!(fs::read(below.link().join("b.txt")).unwrap(), b"own/below/b.txt");
        assert!(folder.open("a.txt").unwrap_err().contains("outside"));
        assert!(folder.open_or_create("a.txt").unwrap_err().contains("outside"));
        assert!(folder.open_or_create("below/new.txt").unwrap_err().contains("outside"));
        assert!(!place.0.join("other/new.txt").exists());
    }

    #[test]
    fn a_folder_that_is_exchanged_all_the_time_lets_nothing_out() {
        let place = place("race");
        let own = place.0.join("own");
        std::os::unix::fs::symlink("../other", place.0.join("own/outside")).unwrap();
        fs::write(place.0.join("own/below/secret.txt"), "mine").unwrap();
        let folder = Folder::new(Some(&own));
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = rustix::fs::renameat_with(
                        rustix::fs::CWD,
                        own.join("below"),
                        rustix::fs::CWD,
                        own.join("outside"),
                        rustix::fs::RenameFlags::EXCHANGE,
                    );
                }
            });
            let mut read = 0;
            for _ in 0..20_000 {
                if let Ok(file) = folder.open("below/secret.txt") {
                    read += 1;
                    assert_eq!(file.read(100).unwrap(), b"mine");
                }
                let _ = folder.open_or_create("below/created.txt");
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(read > 0);
        });
        assert!(!place.0.join("other/created.txt").exists());
    }

    #[test]
    fn folders_of_the_client_are_what_they_were_when_it_named_them() {
        let place = place("client");
        let (own, root) = (place.0.join("own"), place.0.join("root"));
        fs::create_dir_all(root.join("below")).unwrap();
        fs::write(root.join("below/c.txt"), "c").unwrap();
        std::os::unix::fs::symlink("../other/secret.txt", root.join("out.txt")).unwrap();
        let real = root.canonicalize().unwrap().display().to_string();
        let inside = format!("{real}/below/c.txt");
        let folder = Folder::new(Some(&own));
        assert!(!folder.covers(&inside) && folder.covers("below/new.txt"));
        assert!(folder.open(&inside).unwrap_err().contains("list additional folders"));
        let folder = folder.with_client_folders([real.clone()]);
        assert!(folder.covers(&inside) && folder.open(&inside).is_ok());
        assert!(folder.open_or_create(&format!("{real}/new.db")).is_ok());
        assert!(folder.open(&format!("{real}/out.txt")).unwrap_err().contains("`@roots`"));
        // In the middle of the call the folder becomes a link to another one.
        fs::rename(&root, place.0.join("moved")).unwrap();
        fs::create_dir_all(place.0.join("other/below")).unwrap();
        fs::write(place.0.join("other/below/c.txt"), "secret").unwrap();
        std::os::unix::fs::symlink("other", &root).unwrap();
        assert!(folder.open(&inside).unwrap_err().contains("`@roots`"));
        let none = Folder::new(Some(&own)).with_client_folders([]);
        assert!(none.open(&inside).unwrap_err().contains("the client has none"));
    }

    #[test]
    fn further_folders_are_those_that_are_named() {
        let place = place("further");
        let folder = Folder::new(Some(&place.0.join("own"))).with(&["../other".to_owned()]).unwrap();
        assert!(folder.open("../other/secret.txt").is_ok());
        assert!(folder.open("link/secret.txt").is_ok());
        assert!(folder.open("../own-too.txt").is_err());
        assert!(Folder::new(None).with(&["data".to_owned()]).is_err());
        assert!(Folder::new(None).open("a.txt").is_err());
    }
}
