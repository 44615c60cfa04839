//! `optimizer`: replaces the list of tools by two tools that find and call them.

use serde_json::{Value, json};

use crate::config::syntax::reader::ValueReader;

#[derive(Clone, Debug, PartialEq)]
pub struct Optimizer {
    pub enabled: bool,
    pub max_tools_to_return: usize,
    /// With fewer tools than this, all of them are listed.
    pub list_below: usize,
    /// Names or globs of tools that are always listed.
    pub pinned: Vec<String>,
    pub embedding: Option<Embedding>,
}

impl Default for Optimizer {
    fn default() -> Self {
        Optimizer { enabled: false, max_tools_to_return: 8, list_below: 50, pinned: Vec::new(), embedding: None }
    }
}

/// The embedding server. Its API key is not part of the config; it comes from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedding {
    pub provider: EmbeddingProvider,
    pub url: String,
    /// Empty if the server has only one model.
    pub model: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingProvider {
    /// Any server with OpenAI's `/v1/embeddings` API.
    OpenAi,
    /// Hugging Face's Text Embeddings Inference.
    Tei,
}

impl EmbeddingProvider {
    const ALL: [(&str, Self); 2] = [("openai", Self::OpenAi), ("tei", Self::Tei)];

    pub fn as_str(self) -> &'static str {
        match self {
            EmbeddingProvider::OpenAi => "openai",
            EmbeddingProvider::Tei => "tei",
        }
    }
}

impl Optimizer {
    /// The value of `config()["optimizer"]` in scripts.
    pub fn to_json(&self) -> Value {
        let embedding = self.embedding.as_ref().map(|embedding| {
            json!({"provider": embedding.provider.as_str(), "url": embedding.url, "model": embedding.model})
        });
        json!({
            "enabled": self.enabled,
            "maxToolsToReturn": self.max_tools_to_return,
            "listBelow": self.list_below,
            "pinned": self.pinned,
            "embedding": embedding,
        })
    }
}

pub(crate) fn read_optimizer(reader: &ValueReader) -> Option<Optimizer> {
    let mut optimizer = Optimizer::default();
    let mut fields = reader.fields()?;
    fields.set(&mut optimizer.enabled, "enabled", ValueReader::boolean);
    fields.set(&mut optimizer.max_tools_to_return, "maxToolsToReturn", ValueReader::count);
    fields.set(&mut optimizer.list_below, "listBelow", ValueReader::whole);
    fields.set(&mut optimizer.pinned, "pinned", |reader| reader.list(ValueReader::word));
    optimizer.embedding = fields.read("embedding", read_embedding);
    fields.finish();
    Some(optimizer)
}

fn read_embedding(reader: &ValueReader) -> Option<Embedding> {
    let mut fields = reader.fields()?;
    let provider = fields.read("provider", |reader| reader.choice(&EmbeddingProvider::ALL));
    let url = fields.get("url");
    let model = fields.read("model", ValueReader::word).unwrap_or_default();
    fields.finish();
    let Some(url) = url else { return reader.fail("missing key `url` (address of the embedding server)") };
    let written = url.word()?;
    if !written.starts_with("http://") && !written.starts_with("https://") {
        return url.expected("a URL such as `https://api.openai.com/v1`");
    }
    let Some(provider) = provider else { return reader.fail("missing key `provider` (`openai` or `tei`)") };
    if provider == EmbeddingProvider::OpenAi && model.is_empty() {
        return reader.fail("missing key `model` (such as `text-embedding-3-small`)");
    }
    Some(Embedding { provider, url: written, model })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::Optimizer;
    use crate::config::testing::{errors, loaded};

    #[test]
    fn a_script_sees_every_key_with_its_default() {
        let expected =
            json!({"enabled": false, "maxToolsToReturn": 8, "listBelow": 50, "pinned": [], "embedding": null});
        assert_eq!(Optimizer::default().to_json(), expected);
        let config = loaded(
            "optimizer: {enabled: true, maxToolsToReturn: 3, listBelow: 0, pinned: [search, 'git_*'],\n  \
             embedding: {provider: tei, url: 'http://127.0.0.1:8080'}}\n",
        );
        let seen = config.optimizer.to_json();
        assert_eq!(seen["pinned"], json!(["search", "git_*"]));
        assert_eq!(seen["embedding"], json!({"provider": "tei", "url": "http://127.0.0.1:8080", "model": ""}));
        assert_eq!(config.set_sections[0].name, "optimizer");
    }

    #[test]
    fn what_cannot_work_is_told_with_its_key() {
        let found = errors(
            "optimizer:\n  enabled: maybe\n  maxToolsToReturn: 0\n  pined: [a]\n  embedding: {provider: cohere, url: here}\n",
        );
        assert!(found[0].contains("`optimizer.enabled`: expected `true` or `false`"), "{}", found[0]);
        assert!(found[1].contains("`optimizer.maxToolsToReturn`"), "{}", found[1]);
        assert!(found.iter().any(|error| error.contains("did you mean `pinned`?")), "{found:?}");
        assert!(found.iter().any(|error| error.contains("expected one of `openai`, `tei`")), "{found:?}");
        assert!(found.iter().any(|error| error.contains("`optimizer.embedding.url`: expected a URL")), "{found:?}");
        let found = errors("optimizer: {embedding: {provider: openai, url: 'http://h'}}");
        assert!(found[0].contains("missing key `model`"), "{}", found[0]);
    }
}
