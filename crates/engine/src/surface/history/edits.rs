//! The members in which a published definition differs from the server's, and where the script changed them.

use super::MemberEdit;
use crate::surface::PublishedItem;
use proxy_json::differences;
use proxy_model::{Definition, ItemKind};

/// The members in which a published definition differs from that of the server, without the name or URI.
pub(super) fn changed_members(kind: ItemKind, before: &Definition, now: &Definition) -> Vec<String> {
    if before.raw().get() == now.raw().get() {
        return Vec::new();
    }
    let parsed = |definition: &Definition| serde_json::from_str(definition.raw().get()).unwrap_or_default();
    // The proxy removes `execution` from a tool that cannot run as a task.
    let is_of_script = |name: &String| name != kind.key_member() && name != "execution";
    differences(&parsed(before), &parsed(now)).into_iter().filter(is_of_script).collect()
}

/// The edits that these members have their values of, in the script's order. A member that no edit names differs because the
/// script published the handler of one item with the definition of another: that is decided where it is published.
pub(super) fn edits_of(members: &[String], entry: &PublishedItem) -> Vec<MemberEdit> {
    let last_edit = |member: &String| entry.edits.iter().rposition(|edit| edit.members.contains(&member.as_str()));
    let made = entry.edits.iter().enumerate().map(|(index, edit)| {
        let members = members.iter().filter(|member| last_edit(member) == Some(index)).cloned().collect();
        MemberEdit { members, at: edit.site.clone(), why: edit.why.as_deref().map(str::to_owned) }
    });
    let rest = entry.site.iter().map(|site| {
        let members = members.iter().filter(|member| last_edit(member).is_none()).cloned().collect();
        MemberEdit { members, at: site.clone(), why: None }
    });
    made.chain(rest).filter(|edit: &MemberEdit| !edit.members.is_empty()).collect()
}
