//! The contents of a resource that is published under another URI than its server's.

use proxy_json::{Object, Raw, RawRef, array, raw};

/// Replaces the server's own URI in `contents`: the client asked for the published one, and can read nothing else.
pub(super) fn with_published_uri(result: Raw, original: &str, published: &str) -> Raw {
    let Ok(object) = Object::of(&result) else { return result };
    let contents = object.get("contents").and_then(|contents| serde_json::from_str(contents.get()).ok());
    let Some(contents): Option<Vec<&RawRef>> = contents else { return result };
    let published = raw(published);
    let renamed = contents.into_iter().map(|content| match Object::of(content) {
        Ok(object) if object.string("uri").as_deref() == Some(original) => {
            object.edit().set("uri", &published).finish_raw()
        }
        _ => content.to_owned(),
    });
    let renamed = array(renamed);
    object.edit().set("contents", &renamed).finish_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_uri_that_was_asked_for_is_replaced() {
        let result = r#"{"contents":[{"uri":"a://1","text":"x","n":1.0},{"uri":"a://2","text":"y"}],"_meta":{"k":1}}"#;
        let renamed = with_published_uri(proxy_json::valid(result.to_owned()).unwrap(), "a://1", "b://1");
        assert_eq!(renamed.get(), result.replace("a://1", "b://1"));
    }
}
