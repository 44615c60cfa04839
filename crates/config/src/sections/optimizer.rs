//! `optimizer`: replaces the list of tools with two tools that find and call them.

use serde_json::{Value, json};

use super::embedding::{Embedding, read_embedding};
use crate::syntax::reader::ValueReader;

/// How `find_tool` describes the tools that it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// By signatures.
    Compact,
    /// By definitions.
    Full,
}

impl AnswerForm {
    const CHOICES: [(&str, AnswerForm); 2] = [("compact", AnswerForm::Compact), ("full", AnswerForm::Full)];

    fn as_str(self) -> &'static str {
        match self {
            AnswerForm::Compact => "compact",
            AnswerForm::Full => "full",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Optimizer {
    pub enabled: bool,
    pub max_tools_to_return: usize,
    pub answer: AnswerForm,
    /// The limit for compact answers.
    pub max_answer_tokens: usize,
    /// With fewer tools than this, all of them are listed.
    pub list_below: usize,
    /// Whether it is on for a client that takes fewer tools than there are.
    pub above_client_limit: bool,
    /// Names or globs of tools that are always listed.
    pub pinned: Vec<String>,
    /// `None` if the config does not say: the built-in model.
    pub embedding: Option<Embedding>,
}

impl Default for Optimizer {
    fn default() -> Self {
        Optimizer {
            enabled: false,
            max_tools_to_return: 8,
            answer: AnswerForm::Compact,
            max_answer_tokens: 1500,
            list_below: 50,
            above_client_limit: true,
            pinned: Vec::new(),
            embedding: None,
        }
    }
}

impl Optimizer {
    /// The value of `config()["optimizer"]` in scripts.
    pub fn to_json(&self) -> Value {
        json!({
            "enabled": self.enabled,
            "maxToolsToReturn": self.max_tools_to_return,
            "answer": self.answer.as_str(),
            "maxAnswerTokens": self.max_answer_tokens,
            "listBelow": self.list_below,
            "aboveClientLimit": self.above_client_limit,
            "pinned": self.pinned,
            "embedding": self.embedding.clone().unwrap_or_default().to_json(),
        })
    }
}

pub(crate) fn read_optimizer(reader: &ValueReader) -> Option<Optimizer> {
    let mut optimizer = Optimizer::default();
    let mut fields = reader.fields()?;
    fields.set(&mut optimizer.enabled, "enabled", ValueReader::boolean);
    fields.set(&mut optimizer.max_tools_to_return, "maxToolsToReturn", ValueReader::count);
    fields.set(&mut optimizer.answer, "answer", |reader| reader.choice(&AnswerForm::CHOICES));
    fields.set(&mut optimizer.max_answer_tokens, "maxAnswerTokens", ValueReader::count);
    fields.set(&mut optimizer.list_below, "listBelow", ValueReader::whole);
    fields.set(&mut optimizer.above_client_limit, "aboveClientLimit", ValueReader::boolean);
    fields.set(&mut optimizer.pinned, "pinned", |reader| reader.list(ValueReader::word));
    optimizer.embedding = fields.read("embedding", read_embedding);
    fields.finish();
    Some(optimizer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Optimizer;
    use crate::testing::{errors, loaded};

    #[test]
    fn a_script_sees_every_key_with_its_default() {
        let embedding = json!({"provider": "builtin"});
        let expected = json!({
            "enabled": false, "maxToolsToReturn": 8, "answer": "compact", "maxAnswerTokens": 1500, "listBelow": 50,
            "aboveClientLimit": true, "pinned": [], "embedding": embedding,
        });
        assert_eq!(Optimizer::default().to_json(), expected);
        let config = loaded(
            "optimizer: {enabled: true, maxToolsToReturn: 3, listBelow: 0, answer: full, maxAnswerTokens: 900, pinned: [search, 'git_*'],\n  \
             embedding: {provider: tei, url: 'http://127.0.0.1:8080'}}\n",
        );
        let seen = config.optimizer.to_json();
        assert_eq!((&seen["answer"], &seen["maxAnswerTokens"]), (&json!("full"), &json!(900)));
        assert_eq!(seen["pinned"], json!(["search", "git_*"]));
        assert_eq!(seen["embedding"], json!({"provider": "tei", "url": "http://127.0.0.1:8080", "model": ""}));
        assert_eq!(config.set_sections[0].name, "optimizer");
    }

    #[test]
    fn what_cannot_work_is_told_with_its_key() {
        let found = errors(
            "optimizer:\n  enabled: maybe\n  maxToolsToReturn: 0\n  answer: short\n  maxAnswerTokens: 0\n  pined: [a]\n  embedding: {provider: cohere, url: here}\n",
        );
        assert!(found[0].contains("`optimizer.enabled`: expected `true` or `false`"), "{}", found[0]);
        assert!(found[1].contains("`optimizer.maxToolsToReturn`"), "{}", found[1]);
        assert!(found.iter().any(|error| error.contains("expected one of `compact`, `full`")), "{found:?}");
        assert!(found.iter().any(|error| error.contains("`optimizer.maxAnswerTokens`")), "{found:?}");
        assert!(found.iter().any(|error| error.contains("did you mean `pinned`?")), "{found:?}");
        assert!(
            found.iter().any(|error| error.contains("expected one of `builtin`, `openai`, `tei`, `none`")),
            "{found:?}"
        );
        assert!(found.iter().any(|error| error.contains("`optimizer.embedding.url`: expected a URL")), "{found:?}");
        let found = errors("optimizer: {embedding: {provider: openai, url: 'http://h'}}");
        assert!(found[0].contains("missing key `model`"), "{}", found[0]);
    }
}
