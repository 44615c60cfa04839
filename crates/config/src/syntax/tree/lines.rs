//! Conversion of lines and columns to byte offsets.

use std::cell::Cell;

/// The start offsets of all lines. The byte offsets of the YAML scanner are wrong after a comment with non-ASCII
/// characters, while its lines and columns are right.
pub(super) struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// Where the last question ended. The scanner asks from left to right, and JSON can be one very long line.
    last: Cell<Place>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    line: usize,
    column: usize,
    offset: usize,
}

impl<'a> LineIndex<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let breaks = (0..bytes.len()).filter(|&index| match bytes[index] {
            b'\n' => true,
            b'\r' => bytes.get(index + 1) != Some(&b'\n'),
            _ => false,
        });
        let starts = std::iter::once(0).chain(breaks.map(|index| index + 1)).collect();
        LineIndex { text, starts, last: Cell::default() }
    }

    /// The byte offset of a line, counted from 1, and a column in characters, counted from 0.
    pub(super) fn offset(&self, line: usize, column: usize) -> usize {
        let Some(&start) = self.starts.get(line.saturating_sub(1)) else { return self.text.len() };
        let last = self.last.get();
        let is_behind = last.line == line && last.column <= column;
        let from = if is_behind { last } else { Place { line, column: 0, offset: start } };
        let rest = &self.text[from.offset..];
        let length = rest.char_indices().nth(column - from.column).map_or(rest.len(), |(index, _)| index);
        let offset = from.offset + length;
        // A column beyond the end has no place from which to go on.
        if offset < self.text.len() {
            self.last.set(Place { line, column, offset });
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters_and_every_kind_of_line_break_counts() {
        let lines = LineIndex::of("é: 1\r\nb: 2\rc: 3\n");
        assert_eq!(lines.offset(1, 3), 4);
        assert_eq!(lines.offset(2, 0), 7);
        assert_eq!(lines.offset(3, 0), 12);
        assert_eq!(lines.offset(9, 0), 17);
        // In any order, also on one line and beyond its end.
        assert_eq!([3, 1, 4, 3, 99, 2].map(|column| lines.offset(1, column)), [4, 2, 5, 4, 17, 3]);
    }

    #[test]
    fn a_long_line_is_gone_through_once() {
        let text = format!("{{\"ü\": [{}0]}}", "1, ".repeat(300_000));
        let lines = LineIndex::of(&text);
        let started = std::time::Instant::now();
        // Each number begins one column after the last one's end; from the beginning, this takes minutes.
        for number in 0..300_000 {
            assert_eq!(lines.offset(1, 7 + 3 * number), 8 + 3 * number);
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }
}
