//! Reads the file of a value.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::expression::SourceProblem;
use super::value::{self, MAX_BYTES, MAX_END};
use proxy_model::Secret;

const WRITABLE_BY_OTHERS: u32 = 0o002;

/// The value in a file. `shown` is how the config writes it.
pub(super) fn read(path: &Path, shown: &str) -> Result<Secret, SourceProblem> {
    let fail =
        |problem: String, hint: String| SourceProblem::new(format!("cannot use the file `{shown}`: {problem}"), hint);
    let bytes = bytes(path).map_err(|problem| match problem {
        FileProblem::WritableByOthers => fail("every user may write it".to_owned(), format!("run `chmod o-w {shown}`")),
        FileProblem::NotAFile => fail("it is not a regular file".to_owned(), HINT.to_owned()),
        FileProblem::Unreadable(error) => {
            let hint = if shown.starts_with('~') { "`~` is not replaced: write the whole path" } else { HINT };
            fail(error.to_string(), hint.to_owned())
        }
    })?;
    value::of_file(bytes).map_err(|problem| fail(problem.to_owned(), HINT.to_owned()))
}

const HINT: &str =
    "a file with 1 byte to 64 KiB of UTF-8 is needed; its path is relative to the folder of the config file";

enum FileProblem {
    NotAFile,
    WritableByOthers,
    Unreadable(std::io::Error),
}

impl From<std::io::Error> for FileProblem {
    fn from(error: std::io::Error) -> Self {
        FileProblem::Unreadable(error)
    }
}

/// At most so many bytes that it shows whether there are too many.
fn bytes(path: &Path) -> Result<Vec<u8>, FileProblem> {
    // Before opening, because a named pipe would wait for a writer.
    check(&path.metadata()?)?;
    let file = File::open(path)?;
    check(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take((MAX_BYTES + MAX_END + 1) as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check(metadata: &Metadata) -> Result<(), FileProblem> {
    if !metadata.is_file() {
        return Err(FileProblem::NotAFile);
    }
    if metadata.permissions().mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(FileProblem::WritableByOthers);
    }
    Ok(())
}

/// Differs whenever the value in a file, or the reason why there is none, does. It does not contain the value.
pub(crate) fn fingerprint(path: &Path) -> Vec<u8> {
    match bytes(path) {
        Ok(bytes) => Sha256::digest(bytes).to_vec(),
        Err(FileProblem::NotAFile) => b"not a file".to_vec(),
        Err(FileProblem::WritableByOthers) => b"writable by others".to_vec(),
        Err(FileProblem::Unreadable(error)) => error.to_string().into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_readable_regular_file_that_not_everybody_may_write_has_a_value() {
        let folder = std::env::temp_dir().join(format!("secret-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let problem = |name: &str| read(&folder.join(name), name).unwrap_err();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
        write("empty", b"");
        write("line", b"\n");
        write("large", &vec![b'x'; MAX_BYTES + 3]);
        write("latin", b"caf\xe9");
        write("open", b"s3cret");
        fs::set_permissions(folder.join("open"), fs::Permissions::from_mode(0o666)).unwrap();
        fs::create_dir_all(folder.join("folder")).unwrap();
        for (name, expected) in [
            ("empty", "it is empty"),
            ("line", "it is empty"),
            ("large", "it is larger than 64 KiB"),
            ("latin", "it is not UTF-8"),
            ("open", "every user may write it"),
            ("folder", "it is not a regular file"),
            ("missing", "No such file"),
        ] {
            let problem = problem(name);
            assert!(problem.message.contains(&format!("cannot use the file `{name}`: {expected}")), "{problem:?}");
            assert!(!problem.message.contains("s3cret"));
        }
        assert_eq!(problem("open").hint, "run `chmod o-w open`");
        assert!(problem("~/x").hint.contains("`~` is not replaced"));
        let before = fingerprint(&folder.join("open"));
        fs::set_permissions(folder.join("open"), fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&folder.join("open"), "open").unwrap().reveal(), "s3cret");
        assert_ne!(fingerprint(&folder.join("open")), before);
        fs::remove_dir_all(folder).unwrap();
    }
}
