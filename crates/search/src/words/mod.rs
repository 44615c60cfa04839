//! Search by words: each definition is analyzed once, tantivy selects candidates, and these get an exact score.

pub(crate) mod analyzed_tool;
pub(crate) mod candidates;
pub(crate) mod indexed_tool;
pub(crate) mod query;
pub(crate) mod score;
mod typos;
pub(crate) mod vocabulary;
pub(crate) mod word_analyzer;
