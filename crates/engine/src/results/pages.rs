//! Splits a payload into pages. JSON is cut between the elements of its largest array: the first page is the whole value
//! with the first elements of that array, and every other page an array of the next ones, each with the bytes of the
//! original. Text, and an element that is larger than a page, is cut at line ends.

use std::ops::Range;

use super::payload::Payload;
use super::size::TextSize;
use proxy_json::RawRef;
use proxy_search::estimate_tokens;

/// How deep the array may be nested between whose elements a value is cut.
const MAX_DEPTH: usize = 16;
/// The size of the brackets around the elements of a page.
const BRACKETS: TextSize = TextSize { tokens: 2, bytes: 2 };

/// Where a payload is cut.
#[derive(Debug)]
pub(crate) struct Pages {
    /// The array between whose elements the payload is cut; `None` if it is cut as text.
    array: Option<Range<usize>>,
    pages: Vec<Page>,
    tokens: usize,
}

/// A part of the payload.
#[derive(Debug)]
struct Page {
    range: Range<usize>,
    /// Whether the part consists of whole elements of the array.
    has_elements: bool,
    size: TextSize,
    /// The number of elements up to the end of this page.
    elements: usize,
}

impl Pages {
    /// Splits the payload into pages of at most this size.
    pub(super) fn of(payload: &Payload, limit: TextSize) -> Self {
        let by_element = match payload {
            Payload::Json(raw) => raw.largest_array(MAX_DEPTH).and_then(|array| Self::of_array(raw, array, limit)),
            Payload::Text(_) => None,
        };
        by_element.unwrap_or_else(|| Self::of_text(payload.text(), limit))
    }

    fn of_text(text: &str, limit: TextSize) -> Self {
        let mut pages = Vec::new();
        let mut cutter = TextCutter { text, limit, pages: &mut pages };
        let tokens = cutter.cut(0..text.len(), 0);
        Pages { array: None, pages, tokens }
    }

    /// `None` if what surrounds the array is larger than a page.
    fn of_array(value: &RawRef, array: &RawRef, limit: TextSize) -> Option<Self> {
        let text = value.get();
        let span = value.range_of(array)?;
        let frame = TextSize::of(&text[..=span.start]) + TextSize::of(&text[span.end - 1..]);
        if !frame.is_within(limit) {
            return None;
        }
        let mut pages = Vec::new();
        let mut total = frame.tokens;
        // The page that is being filled. The first one has the frame, and may have no elements.
        let mut open =
            Some(Page { range: span.start + 1..span.start + 1, has_elements: true, size: frame, elements: 0 });
        let mut done = span.start + 1;
        let mut count = 0;
        for element in array.elements()? {
            let range = value.range_of(element)?;
            let size = TextSize::of(&text[done..range.end]);
            total += size.tokens;
            done = range.end;
            count += 1;
            if let Some(page) = open.as_mut().filter(|page| (page.size + size).is_within(limit)) {
                page.range.end = range.end;
                page.size = page.size + size;
                page.elements = count;
                continue;
            }
            pages.extend(open.take());
            if (size + BRACKETS).is_within(limit) {
                open = Some(Page { range, has_elements: true, size: size + BRACKETS, elements: count });
            } else {
                TextCutter { text, limit, pages: &mut pages }.cut(range, count);
            }
        }
        pages.extend(open);
        Some(Pages { array: Some(span), pages, tokens: total })
    }

    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// The tokens of the whole payload.
    pub(super) fn tokens(&self) -> usize {
        self.tokens
    }

    /// The tokens of a page, counted from 1.
    pub(super) fn tokens_of(&self, number: usize) -> usize {
        self.page(number).map_or(0, |page| page.size.tokens)
    }

    /// The text of a page, counted from 1.
    pub(super) fn text(&self, payload: &str, number: usize) -> Option<String> {
        let page = self.page(number)?;
        let part = &payload[page.range.clone()];
        Some(match &self.array {
            Some(array) if page.has_elements && number == 1 => {
                format!("{}{part}{}", &payload[..=array.start], &payload[array.end - 1..])
            }
            Some(_) if page.has_elements => format!("[{part}]"),
            _ => part.to_owned(),
        })
    }

    /// Where the array begins between whose elements the payload is cut, and how many of them the first page has.
    pub(super) fn array(&self) -> Option<(usize, usize)> {
        Some((self.array.as_ref()?.start, self.pages.first()?.elements))
    }

    fn page(&self, number: usize) -> Option<&Page> {
        self.pages.get(number.checked_sub(1)?)
    }
}

/// Cuts a part of a text into pages.
struct TextCutter<'a> {
    text: &'a str,
    limit: TextSize,
    pages: &'a mut Vec<Page>,
}

impl TextCutter<'_> {
    /// Returns the tokens of all pages together.
    fn cut(&mut self, mut range: Range<usize>, elements: usize) -> usize {
        let mut total = 0;
        while !range.is_empty() {
            let (length, tokens) = self.next_page(&self.text[range.clone()]);
            let end = range.start + length;
            let size = TextSize { tokens, bytes: length };
            self.pages.push(Page { range: range.start..end, has_elements: false, size, elements });
            total += tokens;
            range.start = end;
        }
        total
    }

    /// The length of the next page, and its tokens.
    fn next_page(&self, rest: &str) -> (usize, usize) {
        let most = self.limit.beginning_of(rest);
        if most == rest.len() {
            return (most, estimate_tokens(rest));
        }
        // A page that ended at the line end of a short first line would hold next to nothing.
        let end = match memchr::memrchr(b'\n', &rest.as_bytes()[..most]).map(|at| at + 1) {
            Some(end) if end > most / 2 => end,
            _ => most.max(rest.chars().next().map_or(1, char::len_utf8)),
        };
        (end, estimate_tokens(&rest[..end]))
    }
}
