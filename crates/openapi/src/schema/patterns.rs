//! Which patterns of a description are regular expressions that we can check. Descriptions have patterns of other languages,
//! and to find that out each is compiled, which a hostile description can make expensive.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::notes::Notes;

/// A longer pattern tells a model nothing.
const MAX_LENGTH: usize = 4 << 10;
/// How many different patterns are compiled. The largest public descriptions have some hundreds.
const MAX_PATTERNS: usize = 2000;
/// The memory of a compiled pattern; most take much less.
const USUAL_MEMORY: usize = 64 << 10;
/// So many may take more, such as a hundred repetitions of any letter, or be no regular expression.
const MAX_UNUSUAL: usize = 200;
/// So many of them are tried with more memory.
const MAX_LARGE: usize = 20;
const LARGE_MEMORY: usize = 1 << 20;

/// The patterns of one description.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    known: RefCell<HashMap<Box<str>, bool>>,
    unusual: Cell<usize>,
}

impl Patterns {
    pub(super) fn is_valid(&self, pattern: &str, notes: &Notes) -> bool {
        if let Some(known) = self.known.borrow().get(pattern) {
            return *known;
        }
        let is_beyond = self.known.borrow().len() >= MAX_PATTERNS || self.unusual.get() >= MAX_UNUSUAL;
        if is_beyond || pattern.len() > MAX_LENGTH {
            notes.add("it has too many or too large patterns: some are left out".to_owned());
            return false;
        }
        let is_valid = proxy_json::is_pattern(pattern, USUAL_MEMORY) || {
            self.unusual.set(self.unusual.get() + 1);
            self.unusual.get() <= MAX_LARGE && proxy_json::is_pattern(pattern, LARGE_MEMORY)
        };
        self.known.borrow_mut().insert(pattern.into(), is_valid);
        is_valid
    }
}
