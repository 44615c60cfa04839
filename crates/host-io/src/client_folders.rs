//! The folders that a client opens (MCP roots), on this machine.

use serde_json::{Value, json};
use url::Url;

use proxy_json::{Raw, RawRef, raw};

/// More folders are an invalid answer: each is looked up in the file system.
const MAX_FOLDERS: usize = 256;

/// Checks a client's answer to `roots/list`, and adds the real path of each folder. From then on the folder is what it is
/// now: one that becomes a link later leads nowhere else.
///
/// Reads the file system, so it must not run on the runtime thread.
///
/// # Errors
/// If the answer is not a list of roots.
pub fn resolved(answer: &RawRef) -> Result<Raw, String> {
    let answer: Value = serde_json::from_str(answer.get()).map_err(|error| error.to_string())?;
    let roots = answer.get("roots").and_then(Value::as_array).ok_or("it has no list `roots`")?;
    if roots.len() > MAX_FOLDERS {
        return Err(format!("it has {} roots; at most {MAX_FOLDERS} are allowed", roots.len()));
    }
    let folder = |root: &Value| {
        let uri = root.get("uri").and_then(Value::as_str).ok_or("a root has no `uri`")?;
        let name = root.get("name").and_then(Value::as_str).unwrap_or_default();
        Ok(json!({"uri": uri, "name": name, "path": path(uri).unwrap_or_default()}))
    };
    let folders = roots.iter().map(folder).collect::<Result<Vec<Value>, String>>()?;
    Ok(raw(&json!({ "roots": folders })))
}

/// The real path of a `file:` URI of this machine. A folder that does not exist has the path that the URI spells.
fn path(uri: &str) -> Option<String> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    if url.host_str().is_some_and(|host| host != "localhost") {
        return None;
    }
    let path = url.to_file_path().ok()?;
    let real = path.canonicalize().unwrap_or(path);
    real.into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(answer: Value) -> Result<Value, String> {
        resolved(&raw(&answer)).map(|found| serde_json::from_str(found.get()).unwrap())
    }

    fn path_of(uri: &str) -> String {
        let found = resolve(json!({"roots": [{"uri": uri, "name": "x", "path": "/etc"}]})).unwrap();
        found["roots"][0]["path"].as_str().unwrap().to_owned()
    }

    #[test]
    fn folders_of_this_machine_have_a_path_and_others_have_none() {
        assert_eq!(path_of("file:///no/such%20folder"), "/no/such folder");
        assert_eq!(path_of("file:///no/such/%2e%2e/other"), "/no/other");
        assert_eq!(path_of("file://localhost/no/such"), "/no/such");
        for uri in ["https://example.com/x", "file://elsewhere/x", "no uri", "", "untitled:1"] {
            assert_eq!(path_of(uri), "", "{uri}");
        }
    }

    #[test]
    fn a_link_is_followed_once_and_for_all() {
        let folder = std::env::temp_dir().join(format!("client-folders-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("real")).unwrap();
        let real = folder.join("real").canonicalize().unwrap();
        let _ = std::fs::remove_file(folder.join("link"));
        std::os::unix::fs::symlink("real", folder.join("link")).unwrap();
        let uri = Url::from_file_path(folder.join("link")).unwrap();
        let found = path_of(uri.as_str());
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, real.to_str().unwrap());
    }

    #[test]
    fn what_is_no_list_of_roots_is_invalid() {
        for (answer, problem) in [
            (json!({}), "no list `roots`"),
            (json!({"roots": "x"}), "no list `roots`"),
            (json!({"roots": [{"name": "x"}]}), "no `uri`"),
            (json!({"roots": vec![json!({"uri": "file:///x"}); 257]}), "at most 256"),
        ] {
            assert!(resolve(answer.clone()).unwrap_err().contains(problem), "{answer}");
        }
    }
}
