//! The parts that a schema needs, as its `$defs`, as far as there is room.

use std::collections::HashSet;

use super::converter::Converter;
use super::keywords::key;

/// The `$defs` of a tool.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    /// The member with its name; empty if nothing is referred to.
    pub(crate) text: String,
    /// Whether the deepest parts are cut off: they allow anything.
    pub(crate) is_cut: bool,
}

/// `"":,`
const PUNCTUATION: usize = 4;

impl Converter<'_> {
    /// All parts that can be reached from these, level by level. Where the next level does not fit, its parts allow anything.
    /// `None` if there is no room even for that.
    pub(crate) fn definitions(&mut self, roots: &[usize], room: usize) -> Option<Definitions> {
        let mut seen = HashSet::new();
        let mut level: Vec<usize> = roots.iter().copied().filter(|part| seen.insert(*part)).collect();
        let mut whole = Vec::new();
        let mut size = if level.is_empty() { 0 } else { "\"$defs\":{}".len() };
        if size + self.size_of_stubs(&level) > room {
            return None;
        }
        while !level.is_empty() {
            let level_size: usize = level.iter().map(|part| self.size_of(*part)).sum();
            if size + level_size > room {
                break;
            }
            let mut next = Vec::new();
            for part in &level {
                next.extend(self.written(*part).parts.iter().copied().filter(|part| seen.insert(*part)));
            }
            if size + level_size + self.size_of_stubs(&next) > room {
                break;
            }
            size += level_size;
            whole.append(&mut level);
            level = next;
        }
        if whole.is_empty() && level.is_empty() {
            return Some(Definitions::default());
        }
        let mut text = String::with_capacity(size + 64);
        text.push_str("\"$defs\":{");
        for part in whole {
            key(&mut text, self.name(part));
            let written = self.written(part);
            text.push_str(&written.text);
        }
        for part in &level {
            key(&mut text, self.name(*part));
            text.push_str(&self.stub(*part));
        }
        text.push('}');
        Some(Definitions { text, is_cut: !level.is_empty() })
    }

    fn size_of(&mut self, part: usize) -> usize {
        self.name(part).len() + self.written(part).text.len() + PUNCTUATION
    }

    fn size_of_stubs(&self, parts: &[usize]) -> usize {
        parts.iter().map(|part| self.name(*part).len() + self.stub(*part).len() + PUNCTUATION).sum()
    }
}
