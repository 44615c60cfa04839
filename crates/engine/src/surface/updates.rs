//! Maps a published resource to what its updates come from, and updated URIs back to published ones.

use std::sync::Arc;

use super::published_surface::Surface;
use proxy_builtins::Handler;
use proxy_model::ItemKind;

/// What the updates of a published resource come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UpdateSource {
    /// The resource of a backend, by the backend's own URI.
    Backend { backend: Arc<str>, original: String },
    /// The script's own handler, which is run again and again (`refresh`).
    Script,
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
        let below = match self {
            UpdateSource::Backend { original, .. } => updated.strip_prefix(original.as_str()),
            UpdateSource::Script => None,
        };
        below.map_or_else(|| subscribed.to_owned(), |below| format!("{subscribed}{below}"))
    }

    /// The backend; empty for the script's own resources.
    pub fn backend(&self) -> &str {
        match self {
            UpdateSource::Backend { backend, .. } => backend,
            UpdateSource::Script => "",
        }
    }
}

impl Surface {
    /// What to follow for a published URI. A script handler that wraps a backend resource has the updates of that resource,
    /// unless it has a `refresh` of its own; one that wraps a template has none.
    pub fn updates_of(&self, uri: &str) -> Result<UpdateSource, NoUpdates> {
        let Some(entry) = self.find(ItemKind::Resource, uri) else {
            let backend = self.owner_of_unlisted(uri).ok_or(NoUpdates::Unknown)?;
            return Ok(UpdateSource::Backend { backend: Arc::clone(backend), original: uri.to_owned() });
        };
        if entry.refresh.is_some() {
            return Ok(UpdateSource::Script);
        }
        let (target, original) = match (&entry.handler, &entry.origin) {
            // A URI that matches a template is also the server's URI.
            (Handler::Backend(target), _) if target.kind == ItemKind::ResourceTemplate => (target, uri.to_owned()),
            (Handler::Backend(target), _) => (target, target.name.to_string()),
            (Handler::Script(_), Some(origin)) if origin.kind == ItemKind::Resource => {
                (origin, origin.name.to_string())
            }
            (Handler::Script(_), _) => return Err(NoUpdates::GeneratedByScript),
        };
        Ok(UpdateSource::Backend { backend: Arc::clone(&target.backend), original })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_renamed_resource_is_below_its_new_name() {
        let source = UpdateSource::Backend { backend: "files".into(), original: "file:///a".to_owned() };
        assert_eq!(source.published("team://files", "file:///a"), "team://files");
        assert_eq!(source.published("team://files", "file:///a/b?c"), "team://files/b?c");
        assert_eq!(UpdateSource::Script.published("team://files", "team://files"), "team://files");
    }
}
