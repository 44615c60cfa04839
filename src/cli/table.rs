//! Tables with aligned columns.

use std::borrow::Cow;

use super::output;

/// The space between two columns.
const GAP: &str = "  ";

/// The minimum width of the last column, even on a narrow terminal.
const MIN_LAST_COLUMN: usize = 20;

/// Renders rows below a header, each cell harmless and on one line; every column is as wide as its widest cell. On a terminal, the last column is truncated to
/// the width of the screen.
pub(super) fn render(header: &[&str], rows: &[Vec<String>]) -> String {
    render_for(header, rows, output::width())
}

fn render_for(header: &[&str], rows: &[Vec<String>], screen: Option<usize>) -> String {
    let rows: Vec<Vec<Cow<'_, str>>> =
        rows.iter().map(|row| row.iter().map(|cell| output::one_line(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(header.get(column).map(|name| name.len())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let before: usize = widths.iter().rev().skip(1).map(|width| width + GAP.len()).sum();
    let last_width = screen.map_or(usize::MAX, |screen| screen.saturating_sub(before).max(MIN_LAST_COLUMN));
    let line = |cells: Vec<&str>| -> String {
        let last = cells.len().saturating_sub(1);
        let cells = cells.iter().zip(&widths).enumerate();
        let padded: Vec<String> = cells
            .map(|(at, (cell, width))| if at == last { cut(cell, last_width) } else { format!("{cell:<width$}") })
            .collect();
        padded.join(GAP).trim_end().to_owned()
    };
    let mut lines = vec![line(header.to_vec())];
    lines.extend(rows.iter().map(|row| line(row.iter().map(AsRef::as_ref).collect())));
    lines.join("\n")
}

/// The first line of a text.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("").trim()
}

/// Truncates a line to `limit` characters, with an ellipsis.
pub(super) fn cut(line: &str, limit: usize) -> String {
    if line.chars().count() <= limit {
        return line.to_owned();
    }
    let cut: String = line.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// `1 tool`, `2 tools`.
pub(super) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let long = "Reads a file and says what is in it";
        [["read_file", long], ["ls", "Lists"]].map(|row| row.map(str::to_owned).to_vec()).to_vec()
    }

    #[test]
    fn the_last_column_ends_where_the_screen_does() {
        assert_eq!(
            render_for(&["TOOL", "DESCRIPTION"], &rows(), Some(40)),
            "TOOL       DESCRIPTION\nread_file  Reads a file and says what i…\nls         Lists"
        );
    }

    #[test]
    fn a_cell_cannot_leave_its_place() {
        let row = vec!["a\u{1b}[2J\rb".to_owned(), "x\ny".to_owned()];
        assert_eq!(
            render_for(&["TOOL", "DESCRIPTION"], &[row], None),
            "TOOL              DESCRIPTION\na\\u{1b}[2J\\u{d}b  x\\ny"
        );
    }

    #[test]
    fn a_narrow_screen_leaves_something_to_read_and_no_screen_everything() {
        let narrow = render_for(&["TOOL", "DESCRIPTION"], &rows(), Some(5));
        assert!(narrow.contains("read_file  Reads a file and sa…\n"), "{narrow}");
        assert!(render_for(&["TOOL", "DESCRIPTION"], &rows(), None).contains("says what is in it\n"));
    }
}
