//! Conversion of lines and columns to byte offsets.

/// The start offsets of all lines. The byte offsets of the YAML scanner are wrong after a comment with non-ASCII
/// characters, while its lines and columns are right.
pub(super) struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
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
        LineIndex { text, starts }
    }

    /// The byte offset of a line, counted from 1, and a column in characters, counted from 0.
    pub(super) fn offset(&self, line: usize, column: usize) -> usize {
        let Some(&start) = self.starts.get(line.saturating_sub(1)) else { return self.text.len() };
        let rest = &self.text[start..];
        start + rest.char_indices().nth(column).map_or(rest.len(), |(index, _)| index)
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
    }
}
