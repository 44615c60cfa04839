//! Maps a published resource to the backend resource whose updates concern it, and updated URIs back to published ones.

use std::sync::Arc;

use super::contents::Surface;
use crate::builtins::Handler;
use crate::model::ItemKind;

/// The backend resource behind a published resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateSource {
    pub backend: Arc<str>,
    pub original: String,
}

/// Why a resource has no updates to subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoUpdates {
    /// No resource with this URI is published.
    Unknown,
    /// The script generates the content, so the proxy cannot know when it changes; or it decides on each read which
    /// URIs of a template there are, so that a subscription could reach what cannot be read.
    GeneratedByScript,
}

impl UpdateSource {
    /// The published URI of an updated resource: the subscribed URI, or a URI below it.
    pub fn published(&self, subscribed: &str, updated: &str) -> String {
        match updated.strip_prefix(&self.original) {
            Some(below) => format!("{subscribed}{below}"),
            None => subscribed.to_owned(),
        }
    }
}

impl Surface {
    /// The backend resource to subscribe to for a published URI. A script handler that wraps a backend resource has the
    /// updates of that resource; one that wraps a template has none.
    pub fn updates_of(&self, uri: &str) -> Result<UpdateSource, NoUpdates> {
        let Some(entry) = self.find(ItemKind::Resource, uri) else {
            let backend = self.owner_of_unlisted(uri).ok_or(NoUpdates::Unknown)?;
            return Ok(UpdateSource { backend: Arc::clone(backend), original: uri.to_owned() });
        };
        let (target, original) = match (&entry.handler, &entry.origin) {
            // A URI that matches a template is also the server's URI.
            (Handler::Backend(target), _) if target.kind == ItemKind::ResourceTemplate => (target, uri.to_owned()),
            (Handler::Backend(target), _) => (target, target.name.to_string()),
            (Handler::Script(_), Some(origin)) if origin.kind == ItemKind::Resource => {
                (origin, origin.name.to_string())
            }
            (Handler::Script(_), _) => return Err(NoUpdates::GeneratedByScript),
        };
        Ok(UpdateSource { backend: Arc::clone(&target.backend), original })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_renamed_resource_is_below_its_new_name() {
        let source = UpdateSource { backend: "files".into(), original: "file:///a".to_owned() };
        assert_eq!(source.published("team://files", "file:///a"), "team://files");
        assert_eq!(source.published("team://files", "file:///a/b?c"), "team://files/b?c");
    }
}
