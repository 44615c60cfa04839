//! Which patterns of a description are regular expressions that we can check. Descriptions have patterns of other languages,
//! and to find that out each is compiled, which a hostile description can make expensive.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use proxy_json::{PatternState, pattern_state, translation_cost};

use crate::notes::Notes;

/// A longer pattern tells a model nothing.
const MAX_LENGTH: usize = 4 << 10;
/// How many different patterns are compiled. The largest public descriptions have some hundreds.
const MAX_PATTERNS: usize = 2000;
/// How much all translations together may cost. That of an honest pattern costs some hundreds.
const MAX_TRANSLATION: usize = 1 << 20;
/// The memory of a compiled pattern; most take much less.
const USUAL_MEMORY: usize = 64 << 10;
/// So many may need more, such as a hundred repetitions of any letter. To find that out costs the most.
const MAX_UNUSUAL: usize = 200;
/// So many of them are tried with more memory.
const MAX_LARGE: usize = 20;
const LARGE_MEMORY: usize = 1 << 20;

/// The patterns of one description.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    known: RefCell<HashMap<Box<str>, bool>>,
    translation: Cell<usize>,
    /// How many were compiled, or were tried to.
    compiled: Cell<usize>,
    unusual: Cell<usize>,
}

impl Patterns {
    pub(super) fn is_valid(&self, pattern: &str, notes: &Notes) -> bool {
        if let Some(known) = self.known.borrow().get(pattern) {
            return *known;
        }
        let cost = translation_cost(pattern).map_or(usize::MAX, |cost| self.translation.get() + cost);
        let is_beyond = self.compiled.get() >= MAX_PATTERNS || self.unusual.get() >= MAX_UNUSUAL;
        if is_beyond || cost > MAX_TRANSLATION || pattern.len() > MAX_LENGTH {
            notes.add(format!(
                "it has too many or too large patterns: some are left out ({MAX_PATTERNS} are checked, {MAX_UNUSUAL} of them \
                 above {} KiB, each of at most {} KiB of text)",
                USUAL_MEMORY >> 10,
                MAX_LENGTH >> 10,
            ));
            return false;
        }
        self.translation.set(cost);
        let is_valid = self.compile(pattern);
        self.known.borrow_mut().insert(pattern.into(), is_valid);
        is_valid
    }

    /// Counts what it costs: a pattern of another language costs next to nothing.
    fn compile(&self, pattern: &str) -> bool {
        let state = pattern_state(pattern, USUAL_MEMORY);
        if state == PatternState::Unknown {
            return false;
        }
        self.compiled.set(self.compiled.get() + 1);
        if state == PatternState::Usable {
            return true;
        }
        self.unusual.set(self.unusual.get() + 1);
        self.unusual.get() <= MAX_LARGE && pattern_state(pattern, LARGE_MEMORY) == PatternState::Usable
    }
}
