//! The listed items of one kind as JSON text, complete or in pages.

use std::borrow::Cow;

use super::shared_text::SharedText;

/// The JSON array of the listed items, and the position of each item in it.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) text: SharedText,
    /// The index of each listed item among the published items, and the end of its text.
    items: Vec<(usize, usize)>,
}

/// A page of consecutive items.
#[derive(Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// The JSON array.
    pub items: Cow<'a, str>,
    /// The index of the page's last item among the published items; `None` on the last page.
    pub last: Option<usize>,
}

impl Listing {
    /// Joins the listed items, each given with its index among the published items, in ascending order.
    pub(crate) fn new<'a>(listed: impl Iterator<Item = (usize, &'a str)>) -> Self {
        let (mut text, mut items) = (String::from("["), Vec::new());
        for (index, item) in listed {
            if !items.is_empty() {
                text.push(',');
            }
            text.push_str(item);
            items.push((index, text.len()));
        }
        text.push(']');
        Listing { text: text.into(), items }
    }

    /// Every listed item with its index among the published items.
    pub(crate) fn items(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut start = 1;
        self.items.iter().map(move |(index, end)| {
            let item = &self.text[start..*end];
            start = end + 1;
            (*index, item)
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// At most `size` items after the published item with index `after`, or from the start.
    pub(crate) fn page(&self, after: Option<usize>, size: usize) -> Page<'_> {
        let first = after.map_or(0, |after| self.items.partition_point(|(index, _)| *index <= after));
        let rest = &self.items[first..];
        if first == 0 && rest.len() <= size {
            return Page { items: Cow::Borrowed(&self.text), last: None };
        }
        let selected = &rest[..rest.len().min(size)];
        let Some((last, end)) = selected.last().copied() else { return Page { items: "[]".into(), last: None } };
        // Skips the opening bracket, or the comma after the previous item.
        let start = if first == 0 { 1 } else { self.items[first - 1].1 + 1 };
        let items = format!("[{}]", &self.text[start..end]).into();
        Page { items, last: (selected.len() < rest.len()).then_some(last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(listing: &Listing, size: usize) -> Vec<String> {
        let (mut after, mut pages) = (None, Vec::new());
        loop {
            let page = listing.page(after, size);
            pages.push(page.items.into_owned());
            after = page.last;
            if after.is_none() {
                return pages;
            }
        }
    }

    #[test]
    fn pages_hold_every_item_once_and_in_order() {
        // The published item with index 1 is not listed.
        let listing = Listing::new([(0, "{}"), (2, r#"{"b":1}"#), (3, "3")].into_iter());
        assert_eq!(&*listing.text, r#"[{},{"b":1},3]"#);
        assert_eq!(pages(&listing, 1), ["[{}]", r#"[{"b":1}]"#, "[3]"]);
        assert_eq!(pages(&listing, 2), [r#"[{},{"b":1}]"#, "[3]"]);
        assert_eq!(pages(&listing, 3), [r#"[{},{"b":1},3]"#]);
        assert_eq!(pages(&Listing::new(std::iter::empty()), 3), ["[]"]);
    }

    #[test]
    fn a_page_can_begin_after_an_item_that_is_not_listed() {
        let listing = Listing::new([(0, "0"), (2, "2"), (3, "3")].into_iter());
        assert_eq!(listing.page(Some(1), 5).items, "[2,3]");
        assert_eq!(listing.page(Some(3), 5), Page { items: "[]".into(), last: None });
    }
}
