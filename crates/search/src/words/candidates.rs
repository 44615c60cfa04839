//! Preselection of tools with tantivy, over a single field in which each word is repeated according to its weight.

use tantivy::collector::TopDocs;
use tantivy::directory::RamDirectory;
use tantivy::query::{BooleanQuery, BoostQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{IndexSettings, Searcher, TantivyDocument, Term};

use super::analyzed_tool::AnalyzedTool;
use crate::tool::is_among;
use crate::weights::{MAX_CANDIDATES, PART_WEIGHTS};

/// Memory budget of the index writer, which sets the initial size of its term table; the table grows as needed.
const WRITER_MEMORY: usize = 1 << 20;

/// How often a word of weight 1 is repeated.
const REPEATS_PER_WEIGHT: f32 = 2.0;

pub(crate) struct Candidates {
    searcher: Searcher,
    words: Field,
}

impl Candidates {
    pub(crate) fn new<'a>(tools: impl Iterator<Item = &'a AnalyzedTool>) -> tantivy::Result<Self> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default().set_tokenizer("raw").set_index_option(IndexRecordOption::WithFreqs);
        let words = schema.add_text_field("words", TextOptions::default().set_indexing_options(indexing));
        let builder = tantivy::Index::builder().schema(schema.build()).settings(IndexSettings::default());
        let mut writer = builder.single_segment_index_writer(RamDirectory::create(), WRITER_MEMORY)?;
        for tool in tools {
            let mut document = TantivyDocument::default();
            document.add_pre_tokenized_text(words, PreTokenizedString { text: String::new(), tokens: repeated(tool) });
            writer.add_document(document)?;
        }
        let searcher = writer.finalize()?.reader()?.searcher();
        Ok(Candidates { searcher, words })
    }

    /// The numbers of the best tools for these weighted words, only of those that are marked in `among`.
    pub(crate) fn find<'a>(
        &self,
        words: impl Iterator<Item = (&'a str, f32)>,
        among: Option<&[bool]>,
    ) -> tantivy::Result<Vec<u32>> {
        let queries: Vec<Box<dyn Query>> = words
            .map(|(word, weight)| {
                let term = TermQuery::new(Term::from_field_text(self.words, word), IndexRecordOption::WithFreqs);
                Box::new(BoostQuery::new(Box::new(term), weight)) as Box<dyn Query>
            })
            .collect();
        if queries.is_empty() {
            return Ok(Vec::new());
        }
        // Tools that are left out must not take the places of others.
        let limit = among.map_or(MAX_CANDIDATES, |among| among.len().max(MAX_CANDIDATES));
        let best = TopDocs::with_limit(limit).order_by_score();
        let found = self.searcher.search(&BooleanQuery::union(queries), &best)?;
        // There is only one segment, so the document ID is the number of the tool.
        let numbers = found.into_iter().map(|(_, address)| address.doc_id);
        Ok(numbers.filter(|number| is_among(among, *number as usize)).take(MAX_CANDIDATES).collect())
    }
}

fn repeated(tool: &AnalyzedTool) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (word, counts) in &tool.words {
        let weight: f32 = counts.iter().zip(PART_WEIGHTS).map(|(count, (_, part))| f32::from(*count) * part).sum();
        for _ in 0..((weight * REPEATS_PER_WEIGHT).round() as usize).max(1) {
            tokens.push(Token {
                offset_from: 0,
                offset_to: 0,
                position: tokens.len(),
                text: word.to_string(),
                position_length: 1,
            });
        }
    }
    tokens
}
