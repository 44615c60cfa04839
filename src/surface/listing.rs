//! The listed items of one kind as text, whole or in pages.

use std::borrow::Cow;
use std::sync::Arc;

/// The JSON array, and where in it each item is.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) text: Arc<str>,
    /// An item's place among all that is published, and where its text ends.
    items: Vec<(usize, usize)>,
}

/// Some items in a row.
#[derive(Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// The JSON array.
    pub items: Cow<'a, str>,
    /// The place of the last one among all that is published, if more follow.
    pub last: Option<usize>,
}

impl Listing {
    /// Of items with their places, in order.
    pub(crate) fn new<'a>(listed: impl Iterator<Item = (usize, &'a str)>) -> Self {
        let (mut text, mut items) = (String::from("["), Vec::new());
        for (place, item) in listed {
            if !items.is_empty() {
                text.push(',');
            }
            text.push_str(item);
            items.push((place, text.len()));
        }
        text.push(']');
        Listing { text: text.into(), items }
    }

    /// Every item with its place.
    pub(crate) fn items(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut start = 1;
        self.items.iter().map(move |(place, end)| {
            let item = &self.text[start..*end];
            start = end + 1;
            (*place, item)
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// At most `size` items behind a place, or from the start.
    pub(crate) fn page(&self, behind: Option<usize>, size: usize) -> Page<'_> {
        let first = behind.map_or(0, |behind| self.items.partition_point(|(place, _)| *place <= behind));
        let rest = &self.items[first..];
        if first == 0 && rest.len() <= size {
            return Page { items: Cow::Borrowed(&self.text), last: None };
        }
        let taken = &rest[..rest.len().min(size)];
        let Some((last, end)) = taken.last().copied() else { return Page { items: "[]".into(), last: None } };
        // Behind the bracket, or behind the comma after the item before.
        let start = if first == 0 { 1 } else { self.items[first - 1].1 + 1 };
        let items = format!("[{}]", &self.text[start..end]).into();
        Page { items, last: (taken.len() < rest.len()).then_some(last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(listing: &Listing, size: usize) -> Vec<String> {
        let (mut behind, mut pages) = (None, Vec::new());
        loop {
            let page = listing.page(behind, size);
            pages.push(page.items.into_owned());
            behind = page.last;
            if behind.is_none() {
                return pages;
            }
        }
    }

    #[test]
    fn pages_hold_every_item_once_and_in_order() {
        // One of the published items, at place 1, is not listed.
        let listing = Listing::new([(0, "{}"), (2, r#"{"b":1}"#), (3, "3")].into_iter());
        assert_eq!(&*listing.text, r#"[{},{"b":1},3]"#);
        assert_eq!(pages(&listing, 1), ["[{}]", r#"[{"b":1}]"#, "[3]"]);
        assert_eq!(pages(&listing, 2), [r#"[{},{"b":1}]"#, "[3]"]);
        assert_eq!(pages(&listing, 3), [r#"[{},{"b":1},3]"#]);
        assert_eq!(pages(&Listing::new(std::iter::empty()), 3), ["[]"]);
    }

    #[test]
    fn a_place_whose_item_is_no_longer_listed_is_a_place_all_the_same() {
        let listing = Listing::new([(0, "0"), (2, "2"), (3, "3")].into_iter());
        assert_eq!(listing.page(Some(1), 5).items, "[2,3]");
        assert_eq!(listing.page(Some(3), 5), Page { items: "[]".into(), last: None });
    }
}
