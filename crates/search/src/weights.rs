//! Weights of the score, tuned on all data sets of `benches/retrieval`. Each is on a plateau: a change by a quarter
//! changes little.

/// The parts of a tool that are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolPart {
    Name,
    Description,
    ParameterDescriptions,
    Server,
    ParameterNames,
    /// The values that a parameter may have.
    Choices,
}

/// The weight of a word in each part.
pub(super) const PART_WEIGHTS: [(ToolPart, f32); PART_COUNT] = [
    (ToolPart::Name, 2.2),
    (ToolPart::Description, 1.0),
    (ToolPart::ParameterDescriptions, 0.5),
    (ToolPart::Server, 0.8),
    (ToolPart::ParameterNames, 0.3),
    (ToolPart::Choices, 0.4),
];

pub(super) const PART_COUNT: usize = 6;

/// Strength of the length normalization (BM25's `b`).
pub(super) const LENGTH_NORM: f32 = 0.5;

/// Saturation of repeated words (BM25's `k1`).
pub(super) const SATURATION: f32 = 1.6;

/// A word that occurs `n` times in a query has weight `n` to this power.
pub(super) const QUERY_REPEAT_EXPONENT: f32 = 0.3;

/// Share of the best single sentence in the score of a query with several: each sentence may ask for another tool.
pub(super) const SENTENCE_WEIGHT: f32 = 0.35;

/// Bonus for two words that are adjacent in both the query and the tool, with a factor for each part with word order.
pub(super) const PAIR_WEIGHT: f32 = 1.2;
pub(super) const PAIR_PART_WEIGHTS: [(ToolPart, f32); 3] =
    [(ToolPart::Name, 1.0), (ToolPart::Description, 1.0), (ToolPart::ParameterDescriptions, 0.5)];

/// Bonus for a query that contains all words of the name.
pub(super) const NAME_COVERAGE: f32 = 0.4;

/// Share of the mean score of the server's best tools that is added to each of its tools.
pub(super) const SERVER_WEIGHT: f32 = 0.25;
pub(super) const SERVER_TOOLS: usize = 3;

/// Weight of a misspelt word relative to the correct one.
pub(super) const TYPO_WEIGHT: f32 = 0.5;

/// Maximum number of tools that are scored exactly, and of the query's rarest words that preselect them.
pub(super) const MAX_CANDIDATES: usize = 250;
pub(super) const MAX_CANDIDATE_WORDS: usize = 32;

/// Share of the meaning in the score: of the built-in model, and of the model of an embedding server.
pub(super) const BUILTIN_MEANING_WEIGHT: f32 = 0.7;
pub(super) const SERVER_MEANING_WEIGHT: f32 = 0.6;

/// Maximum number of tools that are candidates because of their meaning.
pub(super) const MAX_NEAREST: usize = 100;

/// Share of the best part in the similarity to a query of several parts.
pub(super) const SEGMENT_WEIGHT: f32 = 0.5;

/// The cosine at which a tool that shares no word with the query is near enough for the built-in model. R@5 of the bench
/// begins to fall above 0.28; queries that the model has not seen have lower cosines, hence the distance.
pub(super) const MIN_COSINE: f32 = 0.2;

/// The same for other models, whose cosines are not known: a place between the least similar candidate (0) and the most
/// similar one (1).
pub(super) const NEAR_IN_MEANING: f32 = 0.75;
