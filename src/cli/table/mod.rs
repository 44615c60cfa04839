//! Tables with aligned columns that fit the terminal. Columns that matter less are left out before text is cut, and names
//! and states are cut last of all.

mod cells;
mod columns;

use super::output;
pub(super) use cells::cut;
use cells::{padded, width, wrap};
use columns::{Fit, state_colour};

/// The space between two columns.
const GAP: usize = 2;
/// The indentation of lines below a row.
const INDENT: &str = "    ";
/// The width that a column of text has before other columns are left out for it.
const ENOUGH_TEXT: usize = 24;
/// The minimum width of a text column beside others. On narrower terminals, the text is below them.
const MIN_TEXT: usize = 16;
/// The minimum width to which a column is cut that is neither text nor the first.
const MIN_KEPT: usize = 6;

/// Renders rows below a header, each cell escaped and on one line; every column is as wide as its widest cell. On a
/// terminal, the table is fitted to the width.
pub(super) fn render(header: &[&str], rows: &[Vec<String>]) -> String {
    render_for(header, rows, output::width(), output::stdout_colour())
}

fn render_for(header: &[&str], rows: &[Vec<String>], screen: Option<usize>, colour: bool) -> String {
    let rows = rows.iter().map(|row| row.iter().map(|cell| output::one_line(cell).into_owned()).collect()).collect();
    let mut table = Table { header: header.iter().map(ToString::to_string).collect(), rows, colour };
    let Some(screen) = screen else { return table.beside(&table.widths()) };
    table.leave_out_columns(screen);
    let widths = table.widths();
    let others: usize = table.total(&widths) - table.text_column().map_or(0, |text| widths[text]);
    match table.text_column() {
        _ if table.total(&widths) <= screen => table.beside(&widths),
        Some(text) if others + MIN_TEXT <= screen => {
            let mut widths = widths;
            widths[text] = screen - others;
            table.beside(&widths)
        }
        _ => table.below(screen),
    }
}

struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    colour: bool,
}

impl Table {
    fn fit(&self, column: usize) -> Fit {
        Fit::of(&self.header[column])
    }

    /// The natural widths of the columns.
    fn widths(&self) -> Vec<usize> {
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column)).map(|cell| width(cell));
        let natural = |column: usize| cells(column).chain([width(&self.header[column])]).max().unwrap_or(0);
        (0..self.header.len()).map(natural).collect()
    }

    /// The width that a column of text has before other columns are left out for it. Words that wrap stay whole.
    fn enough(&self, text: usize, screen: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(text)).filter(|_| self.fit(text) == Fit::Wrap);
        let longest_word = cells.flat_map(|cell| cell.split(' ')).map(width).max().unwrap_or(0);
        longest_word.clamp(ENOUGH_TEXT, (screen / 2).max(ENOUGH_TEXT))
    }

    fn total(&self, widths: &[usize]) -> usize {
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    /// The last column, if it has text.
    fn text_column(&self) -> Option<usize> {
        let last = self.header.len().checked_sub(1)?;
        matches!(self.fit(last), Fit::Cut | Fit::Wrap).then_some(last)
    }

    /// Omits columns until there is enough room for text.
    fn leave_out_columns(&mut self, screen: usize) {
        loop {
            let mut widths = self.widths();
            if let Some(text) = self.text_column() {
                widths[text] = widths[text].min(self.enough(text, screen));
            }
            if self.total(&widths) <= screen {
                return;
            }
            let optional = (0..self.header.len()).filter_map(|column| match self.fit(column) {
                Fit::Optional(rank) => Some((rank, column)),
                _ => None,
            });
            let Some((_, column)) = optional.min() else { return };
            self.header.remove(column);
            for row in self.rows.iter_mut().filter(|row| row.len() > column) {
                row.remove(column);
            }
        }
    }

    /// All columns side by side.
    fn beside(&self, widths: &[usize]) -> String {
        let rows = std::iter::once(&self.header).chain(&self.rows).enumerate();
        rows.flat_map(|(number, row)| self.lines(row, widths, number > 0)).collect::<Vec<_>>().join("\n")
    }

    /// The lines of a row: one, unless a cell continues.
    fn lines(&self, row: &[String], widths: &[usize], is_data: bool) -> Vec<String> {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match self.fit(column) {
            Fit::Wrap => wrap(cell, *width),
            _ => vec![cut(cell, *width)],
        });
        let cells: Vec<Vec<String>> = cells.collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let line = |at: usize| {
            let parts = cells.iter().zip(widths).enumerate().map(|(column, (lines, width))| {
                self.painted(column, lines.get(at).map_or("", String::as_str), *width, is_data)
            });
            parts.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }

    /// A cell of a width, in the colour of its state.
    fn painted(&self, column: usize, cell: &str, width: usize, is_data: bool) -> String {
        let text = padded(cell, width);
        match state_colour(&self.header[column], cell).filter(|_| self.colour && is_data) {
            Some(colour) => format!("{colour}{cell}\x1b[0m{}", &text[cell.len()..]),
            None => text,
        }
    }

    /// The text of each row below its other cells. If these do not fit beside the name either, they are below it too.
    fn below(&self, screen: usize) -> String {
        let text = self.text_column();
        let mut widths = self.widths();
        widths.truncate(text.unwrap_or(widths.len()));
        // The widest column except the first is narrowed, repeatedly.
        while self.total(&widths) > screen {
            let widest = widths.iter_mut().skip(1).max().filter(|width| **width > MIN_KEPT);
            let Some(widest) = widest else { break };
            *widest -= 1;
        }
        let is_beside = self.total(&widths) <= screen;
        let indented = screen.saturating_sub(INDENT.len());
        let mut lines = Vec::new();
        for (number, row) in std::iter::once(&self.header).chain(&self.rows).enumerate() {
            let others = &row[..row.len().min(widths.len())];
            match others.split_first() {
                Some((name, rest)) if !is_beside => {
                    lines.extend(wrap(name, screen));
                    let rest: Vec<&str> = rest.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
                    lines.extend((!rest.is_empty()).then(|| format!("{INDENT}{}", cut(&rest.join("  "), indented))));
                }
                _ => lines.extend(self.lines(others, &widths, number > 0)),
            }
            let Some(text) = text.and_then(|text| row.get(text)).filter(|text| !text.is_empty()) else { continue };
            let below = match self.fit(self.header.len() - 1) {
                Fit::Wrap => wrap(text, indented),
                _ => vec![cut(text, indented)],
            };
            lines.extend(below.into_iter().map(|line| format!("{INDENT}{line}")));
        }
        lines.join("\n")
    }
}

/// The first line of a text.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("").trim()
}

/// `1 tool`, `2 tools`.
pub(super) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<const N: usize, const M: usize>(rows: [[&str; N]; M]) -> Vec<Vec<String>> {
        rows.map(|row| row.map(str::to_owned).to_vec()).to_vec()
    }

    fn tools() -> Vec<Vec<String>> {
        rows([["read_file", "Reads a file and says what is in it"], ["ls", "Lists"]])
    }

    fn at(screen: usize, header: &[&str], rows: &[Vec<String>]) -> String {
        let table = render_for(header, rows, Some(screen), false);
        assert!(table.lines().all(|line| width(line) <= screen), "{table}");
        table
    }

    #[test]
    fn the_last_column_ends_where_the_screen_does() {
        assert_eq!(
            at(40, &["TOOL", "DESCRIPTION"], &tools()),
            "TOOL       DESCRIPTION\nread_file  Reads a file and says what i…\nls         Lists"
        );
        assert!(render_for(&["TOOL", "DESCRIPTION"], &tools(), None, false).contains("says what is in it\n"));
    }

    #[test]
    fn a_cell_cannot_leave_its_place() {
        let row = vec!["a\u{1b}[2J\rb".to_owned(), "x\ny".to_owned()];
        assert_eq!(
            render_for(&["TOOL", "DESCRIPTION"], &[row], None, false),
            "TOOL              DESCRIPTION\na\\u{1b}[2J\\u{d}b  x\\ny"
        );
    }

    #[test]
    fn columns_that_matter_less_are_left_out_and_an_error_is_never_cut() {
        let header = ["SERVER", "STATUS", "KIND", "VERSION", "TOOLS", "ERROR"];
        let servers = rows([
            ["files", "ready", "stdio", "1.0.0", "14", ""],
            ["github", "failed", "stdio", "", "0", "the command `docker` was not found"],
        ]);
        assert_eq!(
            at(60, &header, &servers),
            "SERVER  STATUS  KIND   TOOLS  ERROR\nfiles   ready   stdio  14\n\
             github  failed  stdio  0      the command `docker` was not\n                              found"
        );
        assert_eq!(
            at(40, &header, &servers),
            "SERVER  STATUS  ERROR\nfiles   ready\ngithub  failed  the command `docker` was\n                not found"
        );
        let painted = render_for(&header, &servers, Some(60), true);
        assert!(painted.contains("files   \x1b[32mready\x1b[0m   stdio"), "{painted:?}");
        assert!(painted.contains("github  \x1b[31mfailed\x1b[0m  stdio"), "{painted:?}");
        let reasons = render_for(&["SERVER", "STATE"], &rows([["a", "failed: no"]]), None, true);
        assert!(reasons.ends_with("\x1b[31mfailed: no\x1b[0m"), "{reasons:?}");
    }

    #[test]
    fn where_there_is_no_room_beside_a_name_the_rest_is_below() {
        let long = rows([["a_tool_with_a_long_name_of_34_chars", "orchard", "Plants a tree in the orchard"]]);
        assert_eq!(
            at(40, &["TOOL", "SERVER", "DESCRIPTION"], &long),
            "TOOL\n    SERVER\n    DESCRIPTION\na_tool_with_a_long_name_of_34_chars\n    orchard\n    Plants a tree in the orchard"
        );
        let shorter = rows([["a_tool_with_a_name_of_25", "orchard", "Plants a tree in the orchard by the sea"]]);
        assert_eq!(
            at(40, &["TOOL", "SERVER", "DESCRIPTION"], &shorter),
            "TOOL                      SERVER\n    DESCRIPTION\na_tool_with_a_name_of_25  orchard\n    Plants a tree in the orchard by the…"
        );
        let endless = rows([[&"n".repeat(50), "s", "d"]]);
        assert!(at(40, &["TOOL", "SERVER", "DESCRIPTION"], &endless).contains(&format!(
            "{}\n{}\n",
            "n".repeat(40),
            "n".repeat(10)
        )));
        let pairs = rows([["a", &"long state of a server ".repeat(3)]]);
        at(40, &["SERVER", "STATE"], &pairs);
    }

    #[test]
    fn wide_letters_take_the_room_they_have() {
        let table = at(40, &["TOOL", "DESCRIPTION"], &rows([["日本", "x"], ["ab", "y"]]));
        assert_eq!(table, "TOOL  DESCRIPTION\n日本  x\nab    y");
    }
}
