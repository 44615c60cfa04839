//! The description of each config key in `docs/reference/config.md`.

/// A row of a table: the keys it is about, and the text.
struct Row {
    section: &'static str,
    keys: Vec<Vec<String>>,
    text: String,
}

pub(super) struct DescribedKeys {
    rows: Vec<Row>,
    /// The first paragraph of each section.
    sections: Vec<(&'static str, String)>,
}

impl DescribedKeys {
    pub(super) fn read() -> Self {
        Self::parse(include_str!("../../../../docs/reference/config.md"))
    }

    fn parse(page: &'static str) -> Self {
        let (mut rows, mut sections) = (Vec::new(), Vec::new());
        for part in page.split("\n## ").skip(1) {
            let (title, body) = part.split_once('\n').unwrap_or((part, ""));
            let first = body.trim_start().split("\n\n").next().unwrap_or_default();
            if !first.starts_with(['|', '`', '-']) {
                sections.push((title, plain(&first.replace('\n', " "))));
            }
            rows.extend(body.lines().filter_map(|line| row(title, line)));
        }
        DescribedKeys { rows, sections }
    }

    /// The text about the key at this path, such as `serve`, `http`.
    pub(super) fn about(&self, keys: &[&str]) -> Option<String> {
        let (section, below) = keys.split_first()?;
        if below.is_empty() {
            // VS Code's name for the same section.
            let section = if *section == "servers" { "mcpServers" } else { section };
            return self.sections.iter().find(|(title, _)| *title == section).map(|(_, text)| text.clone());
        }
        let section = if ["servers", "defaults"].contains(section) { "mcpServers" } else { section };
        let is_about = |row: &&Row| {
            row.section == section
                && row.keys.iter().any(|key| below.ends_with(&key.iter().map(String::as_str).collect::<Vec<_>>()))
        };
        self.rows.iter().find(is_about).map(|row| row.text.clone())
    }
}

fn row(section: &'static str, line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix('|')?.splitn(3, '|').map(str::trim).collect();
    let [key, default, text] = cells[..] else { return None };
    let spans = key.split('`').skip(1).step_by(2);
    let keys: Vec<Vec<String>> =
        spans.map(|span| span.replace("[]", "").split('.').map(str::to_owned).collect()).collect();
    let text = if default.is_empty() { plain(text) } else { format!("{} Default: {default}.", plain(text)) };
    (!keys.is_empty()).then_some(Row { section, keys, text })
}

/// The text without the targets of its links.
fn plain(text: &str) -> String {
    let mut output = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        output.push_str(before);
        match link.split_once("](").and_then(|(words, target)| Some((words, target.split_once(')')?.1))) {
            Some((words, after)) if !words.contains('[') => {
                output.push_str(words);
                rest = after;
            }
            _ => {
                output.push('[');
                rest = link;
            }
        }
    }
    output + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_text_of_their_row() {
        let page = DescribedKeys::read();
        let about = |keys: &[&str]| page.about(keys).unwrap_or_default();
        assert!(
            about(&["mcpServers", "command"]).starts_with("Program to run."),
            "{}",
            about(&["mcpServers", "command"])
        );
        assert!(about(&["servers", "env"]).contains("in addition to the small environment. Default: `{}`."));
        assert!(about(&["aggregation", "tools", "filter"]).starts_with("Names or globs"));
        assert!(about(&["mcpServers", "restart", "maxBackoff"]).starts_with("Longest delay"));
        assert!(about(&["serve"]).starts_with("Settings of `proxy serve`"));
        assert_eq!(page.about(&["serve", "nothing"]), None);
    }
}
