//! For each item that a server offers or the script creates: whether it is published, which script line decided this, and
//! why. Plain data for `proxy check`, `proxy explain` and the control socket.

mod edits;
mod trace;

use serde::{Deserialize, Serialize};

use proxy_model::ItemKind;
use proxy_script::CallSite;

pub use trace::histories;

/// An item of a server or of the script, and what a client sees of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemHistory {
    #[serde(with = "noun")]
    pub kind: ItemKind,
    /// The server; empty if the script made the item.
    pub server: String,
    /// The name or URI at the server; for an item of the script, the published one.
    pub name: String,
    pub became: Became,
    /// The published name or URI, unless it is hidden or only found by search.
    pub published_as: Option<String>,
    /// The members of the definition that the script changed, other than the name or URI.
    pub changed: Vec<String>,
    /// Where the script published it.
    pub published_at: Option<CallSite>,
    /// Where the script changed which members, the name or URI included.
    pub edits: Vec<MemberEdit>,
    /// The function of the script that handles the calls.
    pub handler: Option<String>,
    /// Why it is not published, if the script says so.
    pub why: Option<String>,
    /// Where the script says why.
    pub skipped_at: Option<CallSite>,
    /// What policies say about a use by this user; `None` without policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<String>,
    /// How it differs from what the lock approves; `None` if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// Its labels for flow rules, and where they are from; `None` if there are no rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// What the flow rules do with calls of the item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<String>,
}

/// Members of a definition that the script changed at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberEdit {
    pub members: Vec<String>,
    pub at: CallSite,
    /// The reason, if the script says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Became {
    /// Calls go to the server without running the script.
    Forwarded,
    /// A function of the script handles the calls.
    Wrapped,
    /// Not listed, but `find_tool` or code mode reaches it.
    Searchable,
    Hidden,
    /// The script made it.
    Made,
}

impl Became {
    pub const ALL: [Became; 5] = [Became::Forwarded, Became::Wrapped, Became::Searchable, Became::Hidden, Became::Made];

    pub fn as_str(self) -> &'static str {
        match self {
            Became::Forwarded => "forwarded",
            Became::Wrapped => "wrapped",
            Became::Searchable => "searchable",
            Became::Hidden => "hidden",
            Became::Made => "made by the script",
        }
    }
}

impl ItemHistory {
    pub fn is_renamed(&self) -> bool {
        self.published_as.as_ref().is_some_and(|published| *published != self.name)
    }

    /// Where the script decided what becomes of the item.
    pub fn decided_at(&self) -> Option<&CallSite> {
        self.published_at.as_ref().or(self.skipped_at.as_ref())
    }
}

/// The kind of an item by its noun.
mod noun {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use proxy_model::ItemKind;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(kind: &ItemKind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.noun())
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<ItemKind, D::Error> {
        let noun = String::deserialize(deserializer)?;
        let kind = ItemKind::ALL.into_iter().find(|kind| kind.noun() == noun);
        kind.ok_or_else(|| D::Error::custom(format!("unknown kind `{noun}`")))
    }
}
