//! Just enough Markdown: fenced blocks, links, headings, tables, code spans.

use std::fs;
use std::path::Path;

use super::root;

pub struct Block {
    pub language: String,
    pub text: String,
    /// `docs/getting-started/first-steps.md:12`, for messages.
    pub place: String,
    /// The last `## ` heading before it.
    pub section: String,
}

pub fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|problem| panic!("{}: {problem}", page.display()))
}

pub fn name(page: &Path) -> String {
    page.strip_prefix(root()).unwrap_or(page).display().to_string()
}

pub fn blocks(page: &Path) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut section = String::new();
    for (number, line) in read(page).lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                let place = format!("{}:{}", name(page), number + 1);
                let (language, section) = (language.trim().to_owned(), section.clone());
                open = Some(Block { language, text: String::new(), place, section });
            }
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {
                if let Some(title) = line.strip_prefix("## ") {
                    title.clone_into(&mut section);
                }
            }
        }
    }
    assert!(open.is_none(), "a block of {} is not closed", name(page));
    blocks
}

/// The page without its blocks.
pub fn prose(page: &Path) -> String {
    let mut inside = false;
    let text = read(page);
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Where `[text](target)` leads, for every link of the page.
pub fn links(page: &Path) -> Vec<String> {
    let prose = prose(page);
    let targets = prose.match_indices("](").filter_map(|(at, _)| {
        let rest = &prose[at + 2..];
        rest.find(')').map(|end| rest[..end].to_owned())
    });
    targets.collect()
}

/// The anchors of the page's headings, as they are commonly made.
pub fn anchors(page: &Path) -> Vec<String> {
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let anchors = headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.collect::<String>().replace(' ', "-")
    });
    anchors.collect()
}

/// A part of a page, from one `## ` heading to the next.
pub struct Section {
    pub title: String,
    pub text: String,
}

impl Section {
    /// The rows of its tables, without headers: the cells of each.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let lines: Vec<&str> = self.text.lines().collect();
        let is_rule = |line: &str| line.starts_with("|---");
        let is_header = |at: usize| lines.get(at + 1).is_some_and(|next| is_rule(next));
        let rows =
            lines.iter().enumerate().filter(|(at, line)| line.starts_with('|') && !is_rule(line) && !is_header(*at));
        rows.map(|(_, line)| line.trim_matches('|').split(" |").map(|cell| cell.trim().to_owned()).collect()).collect()
    }
}

pub fn sections(page: &Path) -> Vec<Section> {
    let prose = prose(page);
    let parts = prose.split("\n## ").skip(1);
    let section = |part: &str| {
        let (title, text) = part.split_once('\n').unwrap_or((part, ""));
        Section { title: title.to_owned(), text: text.to_owned() }
    };
    parts.map(section).collect()
}

/// The contents of the `code spans` of a text.
pub fn code_spans(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}
