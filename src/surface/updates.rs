//! Where the updates of a published resource come from, and under which name a client knows them.

use std::sync::Arc;

use super::surface::Surface;
use crate::builtins::Handler;
use crate::model::ItemKind;

/// The backend's own resource behind a published one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateSource {
    pub backend: Arc<str>,
    pub original: String,
}

/// Why a resource cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoUpdates {
    /// Nothing of that URI is published.
    Unknown,
    /// The script makes it: nobody can tell when it changes.
    MadeByScript,
}

impl UpdateSource {
    /// The published URI of what was updated: the one that is followed, or something below it.
    pub fn published(&self, followed: &str, updated: &str) -> String {
        match updated.strip_prefix(&self.original) {
            Some(below) => format!("{followed}{below}"),
            None => followed.to_owned(),
        }
    }
}

impl Surface {
    /// What to follow for a published URI. A script's own handler of a backend's resource changes with that resource.
    pub fn updates_of(&self, uri: &str) -> Result<UpdateSource, NoUpdates> {
        let Some(entry) = self.find(ItemKind::Resource, uri) else {
            let backend = self.owner_of_unlisted(uri).ok_or(NoUpdates::Unknown)?;
            return Ok(UpdateSource { backend: Arc::clone(backend), original: uri.to_owned() });
        };
        let (target, wrapped) = match &entry.handler {
            Handler::Backend(target) => (target, false),
            Handler::Script(_) => (entry.origin.as_ref().ok_or(NoUpdates::MadeByScript)?, true),
        };
        let original = match target.kind {
            ItemKind::Resource => target.name.to_string(),
            // A URI that fits a template is the server's own, unless the script has made another template of it.
            _ if !wrapped || *target.name == *entry.definition.key() => uri.to_owned(),
            _ => return Err(NoUpdates::MadeByScript),
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
