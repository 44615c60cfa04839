//! What counts how much. Found by measurement over all sets of `benches/retrieval` together; each stands on a plateau
//! where a quarter more or less changes little.

/// The parts of a tool that are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Name,
    Description,
    ParameterDescriptions,
    Server,
    ParameterNames,
    /// The values that a parameter may have.
    Choices,
}

/// All of them with how much a word counts in each.
pub(super) const ALL: [(Part, f32); PARTS] = [
    (Part::Name, 2.2),
    (Part::Description, 1.0),
    (Part::ParameterDescriptions, 0.5),
    (Part::Server, 0.8),
    (Part::ParameterNames, 0.3),
    (Part::Choices, 0.4),
];

pub(super) const PARTS: usize = 6;

/// How strongly the length of a part discounts a word in it.
pub(super) const LENGTH: f32 = 0.5;

/// How soon repetition stops to count.
pub(super) const SATURATION: f32 = 1.6;

/// A word said `n` times in a query counts `n` to this power.
pub(super) const QUERY_REPEATS: f32 = 0.3;

/// The share of the best single sentence in the score of a query of several: each may ask for another tool.
pub(super) const SENTENCE: f32 = 0.35;

/// What two words add that stand side by side in the query and in the tool, for each part that has word order.
pub(super) const PAIR: f32 = 1.2;
pub(super) const PAIR_PARTS: [(Part, f32); 3] =
    [(Part::Name, 1.0), (Part::Description, 1.0), (Part::ParameterDescriptions, 0.5)];

/// What a query gains that says the whole name.
pub(super) const NAME_COVERAGE: f32 = 0.4;

/// What a tool gains from the mean of its server's best tools.
pub(super) const SERVER: f32 = 0.25;
pub(super) const SERVER_TOOLS: usize = 3;

/// What a misspelt word counts, of what the right one would.
pub(super) const MISSPELT: f32 = 0.5;

/// How many tools are scored exactly, found by how many of the query's rarest words.
pub(super) const CANDIDATES: usize = 250;
pub(super) const CANDIDATE_WORDS: usize = 32;

/// The share of the lexical score where there are embeddings too.
pub(super) const LEXICAL: f32 = 0.5;
