//! Search by words: each definition is analyzed once, tantivy selects candidates, and these get an exact score.

pub(in crate::search) mod analyzed_tool;
pub(in crate::search) mod candidates;
pub(in crate::search) mod indexed_tool;
pub(in crate::search) mod query;
pub(in crate::search) mod score;
mod typos;
pub(in crate::search) mod vocabulary;
pub(in crate::search) mod word_analyzer;
