//! Lists of tools without output schemas, for clients that get the results of some tools in pages: a page does not match the
//! schema of the whole result.

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::Mutex;

use super::definitions;
use super::listing::{Listing, Page};
use proxy_wire::Revision;

/// The maximum number of lists. Few rows of clients have a limit, unless the config was reloaded.
const MAX_LISTINGS: usize = 4 * Revision::SUPPORTED.len();

/// The revision of a client, and the index of its row.
pub(super) type Form = (Revision, Option<usize>);

/// Which tools have no output schema.
#[derive(Clone, Copy)]
pub struct Narrowing<'a> {
    /// Equal for equal answers of `is_paged`.
    pub number: u64,
    /// Whether the results of a tool may come in pages.
    pub is_paged: &'a dyn Fn(&str) -> bool,
}

/// The lists that were asked for, the newest last.
#[derive(Debug, Default)]
pub(super) struct NarrowedListings(Mutex<Vec<Narrowed>>);

/// A list for a form and the [`Narrowing`] of this number. `None` if it has no output schema to remove.
type Narrowed = (Form, u64, Option<Arc<Listing>>);

impl NarrowedListings {
    /// A page of the list that is made from `whole`. `name` gives the name of a published tool by its index.
    pub(super) fn page<'a>(
        &self,
        form: Form,
        narrowing: Narrowing<'_>,
        whole: &'a Listing,
        name: impl Fn(usize) -> &'a str,
        page: impl Fn(&Listing) -> Page<'_>,
    ) -> Page<'a> {
        let known = {
            let listings = self.0.lock();
            let found = listings.iter().find(|(of, number, _)| *of == form && *number == narrowing.number);
            found.map(|(_, _, listing)| listing.clone())
        };
        let listing = known.unwrap_or_else(|| {
            let made = definitions::without_output_schemas(whole, |index| (narrowing.is_paged)(name(index)));
            let made = made.map(Arc::new);
            let mut listings = self.0.lock();
            if listings.len() >= MAX_LISTINGS {
                listings.remove(0);
            }
            listings.push((form, narrowing.number, made.clone()));
            made
        });
        let Page { items, last } = match &listing {
            Some(listing) => page(listing),
            None => page(whole),
        };
        Page { items: Cow::Owned(items.into_owned()), last }
    }

    /// The memory of the lists.
    pub(super) fn bytes(&self) -> usize {
        let listings = self.0.lock();
        listings.iter().filter_map(|(_, _, listing)| listing.as_ref()).map(|listing| listing.text.share()).sum()
    }
}
