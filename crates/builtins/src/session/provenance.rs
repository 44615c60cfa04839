//! Records where and why a script published, changed or skipped an item, for `proxy explain`. Only the top level is
//! recorded. Equal records are kept once, so thousands of items cost one pointer each.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;
use starlark::eval::Evaluator;

use proxy_model::ItemRef;
use proxy_script::{CallSite, CallSites};

/// The number of characters that are kept of a reason.
const MAX_REASON: usize = 500;

/// A change that a script made to a definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DefinitionEdit {
    /// The members that were set or removed.
    pub members: Arc<[&'static str]>,
    pub site: CallSite,
    /// The reason, if the script says so.
    pub why: Option<Arc<str>>,
}

/// Why an item of a server is not published.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SkippedItem {
    pub item: ItemRef,
    pub why: Arc<str>,
    /// Where the script said so; `None` if something else did, such as an option of the command line.
    pub site: Option<CallSite>,
}

/// What a script has decided so far.
#[derive(Debug, Default)]
pub struct Provenance {
    sites: CallSites,
    edits: HashSet<Arc<[DefinitionEdit]>>,
    reasons: HashSet<Arc<str>>,
    skipped: IndexMap<ItemRef, (Arc<str>, CallSite)>,
}

impl Provenance {
    /// The call of the built-in that is being evaluated.
    pub fn site(&mut self, evaluator: &Evaluator<'_, '_, '_>) -> CallSite {
        self.sites.current(evaluator)
    }

    /// The changes of a definition, with the one that the current built-in makes.
    pub fn edits(
        &mut self,
        earlier: &[DefinitionEdit],
        members: &[&'static str],
        why: Option<&str>,
        evaluator: &Evaluator<'_, '_, '_>,
    ) -> Arc<[DefinitionEdit]> {
        let mut edits = earlier.to_vec();
        let why = why.map(|why| self.reason(why));
        edits.push(DefinitionEdit { members: members.into(), site: self.site(evaluator), why });
        if let Some(known) = self.edits.get(edits.as_slice()) {
            return Arc::clone(known);
        }
        let edits: Arc<[DefinitionEdit]> = edits.into();
        self.edits.insert(Arc::clone(&edits));
        edits
    }

    /// Records why an item is not published. The last reason counts.
    pub fn skip(&mut self, item: &ItemRef, why: &str, evaluator: &Evaluator<'_, '_, '_>) {
        let (why, site) = (self.reason(why), self.site(evaluator));
        self.skipped.insert(item.clone(), (why, site));
    }

    fn reason(&mut self, why: &str) -> Arc<str> {
        let end = why.char_indices().nth(MAX_REASON).map_or(why.len(), |(end, _)| end);
        if let Some(known) = self.reasons.get(&why[..end]) {
            return Arc::clone(known);
        }
        let why: Arc<str> = why[..end].into();
        self.reasons.insert(Arc::clone(&why));
        why
    }

    /// The items that were skipped and not published, in the order in which they were skipped first.
    pub fn take_skipped(&mut self, is_published: impl Fn(&ItemRef) -> bool) -> Vec<SkippedItem> {
        let skipped = std::mem::take(&mut self.skipped).into_iter().filter(|(item, _)| !is_published(item));
        skipped.map(|(item, (why, site))| SkippedItem { item, why, site: Some(site) }).collect()
    }
}
