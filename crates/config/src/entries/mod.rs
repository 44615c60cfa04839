//! Entries of servers in the configs of other clients: what is there, and the text of the file with one entry more or less.
//! Nothing here writes a file. Whatever is not part of the entry stays as it is, byte for byte.

mod command_words;
mod json;
mod plain;
mod toml;

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::syntax::document::ConfigDocument;
use crate::syntax::tree::{self, Value};
use proxy_base::diagnostic::Diagnostic;

pub use command_words::{command_words, is_our_package, is_this_proxy};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of a client's config.
pub struct ClientText {
    path: PathBuf,
    has_mark: bool,
    /// Without the byte order mark.
    text: String,
    document: ConfigDocument,
}

/// What is written as an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryText<'a> {
    Value(&'a Json),
    /// As it was written in a file of this client before.
    Written(&'a str),
}

impl ClientText {
    /// Parses a file by its extension. Keys that occur twice are an error, because it is unknown which of them counts.
    pub fn parse(path: &Path, text: &str) -> Result<ClientText, Diagnostic> {
        let document = ConfigDocument::parse(path, text)?;
        if let Some(repeated) = document.repeated_keys().next() {
            return Err(repeated);
        }
        if !matches!(document.root.value, Value::Map(_) | Value::Null) {
            let start = document.root.span.start;
            return Err(Diagnostic::error("expected a map with a section of servers").at(document.place(start..start)));
        }
        let has_mark = text.starts_with(BYTE_ORDER_MARK);
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).to_owned();
        Ok(ClientText { path: path.to_owned(), has_mark, text, document })
    }

    /// The text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text with every secret masked. Its lines are those of the file.
    pub fn masked(&self) -> &str {
        self.document.source()
    }

    /// The entries of a section, in file order.
    pub fn entries(&self, section: &[&str]) -> Vec<(String, Json)> {
        let found = section.iter().try_fold(&self.document.root, |node, key| node.get(key));
        match found.map(|node| &node.value) {
            Some(Value::Map(entries)) => {
                entries.iter().map(|(key, node)| (key.text.clone(), plain::value(node))).collect()
            }
            _ => Vec::new(),
        }
    }

    pub fn entry(&self, section: &[&str], name: &str) -> Option<Json> {
        self.entries(section).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The line of an entry, counted from 1.
    pub fn line(&self, section: &[&str], name: &str) -> Option<usize> {
        let node = section.iter().try_fold(&self.document.root, |node, key| node.get(key))?;
        let Value::Map(entries) = &node.value else { return None };
        let (key, _) = entries.iter().find(|(key, _)| key.text == name)?;
        Some(self.document.place(key.span.clone()).line())
    }

    /// An entry as it is written in the file, for [`EntryText::Written`].
    pub fn written(&self, section: &[&str], name: &str) -> Option<String> {
        let write = if self.is_toml() { toml::written } else { json::written };
        write(&self.text, &self.document.root, &joined(section, name))
    }

    /// How many of the keys that lead to an entry the file does not have yet, without the entry's own.
    pub fn missing_sections(&self, section: &[&str]) -> usize {
        let mut node = &self.document.root;
        for (depth, key) in section.iter().enumerate() {
            let Some(next) = node.get(key) else { return section.len() - depth };
            node = next;
        }
        0
    }

    /// The text with this entry, in the place of one of the same name or behind all others.
    pub fn with(&self, section: &[&str], name: &str, entry: EntryText<'_>) -> Result<String, Diagnostic> {
        self.refuse_other_sections(section)?;
        let path = joined(section, name);
        let root = &self.document.root;
        let write = if self.is_toml() { toml::with } else { json::with };
        let text = write(&self.text, root, &path, entry.clone());
        let value = match entry {
            EntryText::Value(value) => value.clone(),
            // What it says is as the text says it.
            EntryText::Written(_) => {
                let read = tree::parse(&self.path, &text).map(|root| plain::value(&root)).unwrap_or_default();
                plain::at(&read, &path).cloned().unwrap_or_default()
            }
        };
        let mut expected = plain::value(root);
        plain::set(&mut expected, &path, value);
        self.proven(text, expected, &path)
    }

    /// The text without this entry. Of the keys that lead to it, the last `sections` go too if nothing else is in them.
    pub fn without(&self, section: &[&str], name: &str, sections: usize) -> Result<String, Diagnostic> {
        let path = joined(section, name);
        let root = &self.document.root;
        let mut expected = plain::value(root);
        plain::remove(&mut expected, &path);
        let text = if self.is_toml() {
            toml::without(&self.text, root, &path)
        } else {
            let is_empty = |above: &[&str]| {
                plain::at(&expected, above).and_then(Json::as_object).is_some_and(|members| {
                    // The next key of the path, which will be gone.
                    members.keys().all(|key| path.get(above.len()) == Some(&key.as_str()))
                })
            };
            let most = sections.min(section.len());
            let emptied = (1..=most).take_while(|above| is_empty(&path[..path.len() - above])).count();
            json::without(&self.text, root, &path[..path.len() - emptied])
        };
        self.proven(text.unwrap_or_default(), expected, &path)
    }

    /// The text with the byte order mark, if it says what it must. An edit that would change anything else is refused.
    fn proven(&self, text: String, mut expected: Json, path: &[&str]) -> Result<String, Diagnostic> {
        plain::prune(&mut expected, path);
        let is_as_expected = tree::parse(&self.path, &text).is_ok_and(|root| {
            let mut read = plain::value(&root);
            plain::prune(&mut read, path);
            read == expected
        });
        if !is_as_expected {
            let problem = format!("`{}` cannot be changed without touching other lines", path.join("."));
            let start = self.document.root.span.start;
            let problem = Diagnostic::error(problem).at(self.document.place(start..start));
            return Err(problem.hint("its section is written in an unusual way: change this entry by hand"));
        }
        Ok(if self.has_mark { format!("{BYTE_ORDER_MARK}{text}") } else { text })
    }

    /// Every key that leads to the entry must hold a map.
    fn refuse_other_sections(&self, section: &[&str]) -> Result<(), Diagnostic> {
        let mut node = &self.document.root;
        for (depth, key) in section.iter().enumerate() {
            let Some(next) = node.get(key) else { return Ok(()) };
            if !matches!(next.value, Value::Map(_)) {
                let problem = format!("`{}`: expected a map of servers", section[..=depth].join("."));
                return Err(Diagnostic::error(problem).at(self.document.place(next.span.clone())));
            }
            node = next;
        }
        Ok(())
    }

    fn is_toml(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "toml")
    }
}

fn joined<'a>(section: &[&'a str], name: &'a str) -> Vec<&'a str> {
    section.iter().copied().chain(std::iter::once(name)).collect()
}

#[cfg(test)]
mod tests;
