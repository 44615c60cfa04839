//! The tools that can be meant at all: tantivy over one field in which a word stands as often as it counts.

use tantivy::collector::TopDocs;
use tantivy::directory::RamDirectory;
use tantivy::query::{BooleanQuery, BoostQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{IndexSettings, Searcher, TantivyDocument, Term};

use super::analysed::Analysed;
use super::weights::{ALL, CANDIDATES};

/// From this the writer computes how large a table of words it begins with; it grows beyond.
const MEMORY: usize = 1 << 20;

/// A word that counts 1 stands this often.
const REPEATS: f32 = 2.0;

pub(super) struct Candidates {
    searcher: Searcher,
    words: Field,
}

impl Candidates {
    pub(super) fn new<'a>(tools: impl Iterator<Item = &'a Analysed>) -> tantivy::Result<Self> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default().set_tokenizer("raw").set_index_option(IndexRecordOption::WithFreqs);
        let words = schema.add_text_field("words", TextOptions::default().set_indexing_options(indexing));
        let builder = tantivy::Index::builder().schema(schema.build()).settings(IndexSettings::default());
        let mut writer = builder.single_segment_index_writer(RamDirectory::create(), MEMORY)?;
        for tool in tools {
            let mut document = TantivyDocument::default();
            document.add_pre_tokenized_text(words, PreTokenizedString { text: String::new(), tokens: repeated(tool) });
            writer.add_document(document)?;
        }
        let searcher = writer.finalize()?.reader()?.searcher();
        Ok(Candidates { searcher, words })
    }

    /// The numbers of the tools that fit best, of words with what each counts.
    pub(super) fn find<'a>(&self, words: impl Iterator<Item = (&'a str, f32)>) -> tantivy::Result<Vec<u32>> {
        let queries: Vec<Box<dyn Query>> = words
            .map(|(word, weight)| {
                let term = TermQuery::new(Term::from_field_text(self.words, word), IndexRecordOption::WithFreqs);
                Box::new(BoostQuery::new(Box::new(term), weight)) as Box<dyn Query>
            })
            .collect();
        if queries.is_empty() {
            return Ok(Vec::new());
        }
        let best = TopDocs::with_limit(CANDIDATES).order_by_score();
        let found = self.searcher.search(&BooleanQuery::union(queries), &best)?;
        // There is one segment, so that a document's number is the tool's.
        Ok(found.into_iter().map(|(_, address)| address.doc_id).collect())
    }
}

fn repeated(tool: &Analysed) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (word, counts) in &tool.words {
        let weight: f32 = counts.iter().zip(ALL).map(|(count, (_, part))| f32::from(*count) * part).sum();
        for _ in 0..((weight * REPEATS).round() as usize).max(1) {
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
