//! `optimizer.embedding`: the model that compares tools and queries by meaning.

use serde_json::{Value, json};

use crate::syntax::reader::ValueReader;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Embedding {
    /// The model in the program.
    #[default]
    Builtin,
    Server(EmbeddingServer),
    /// Search by words alone.
    None,
}

/// An embedding server. Its API key is not part of the config; it comes from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingServer {
    pub provider: EmbeddingProvider,
    pub url: String,
    /// Empty if the server has only one model.
    pub model: String,
}

/// The API of an embedding server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingProvider {
    /// Any server with OpenAI's `/v1/embeddings` API.
    OpenAi,
    /// Hugging Face's Text Embeddings Inference.
    Tei,
}

/// What `provider` may say, and whether it is a server.
const PROVIDERS: [(&str, Choice); 4] = [
    ("builtin", Choice::Builtin),
    ("openai", Choice::Server(EmbeddingProvider::OpenAi)),
    ("tei", Choice::Server(EmbeddingProvider::Tei)),
    ("none", Choice::None),
];

#[derive(Clone, Copy, PartialEq)]
enum Choice {
    Builtin,
    Server(EmbeddingProvider),
    None,
}

impl EmbeddingProvider {
    pub fn as_str(self) -> &'static str {
        match self {
            EmbeddingProvider::OpenAi => "openai",
            EmbeddingProvider::Tei => "tei",
        }
    }
}

impl Embedding {
    /// The value of `config()["optimizer"]["embedding"]` in scripts.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Embedding::Builtin => json!({"provider": "builtin"}),
            Embedding::Server(server) => {
                json!({"provider": server.provider.as_str(), "url": server.url, "model": server.model})
            }
            Embedding::None => json!({"provider": "none"}),
        }
    }
}

pub(super) fn read_embedding(reader: &ValueReader) -> Option<Embedding> {
    let mut fields = reader.fields()?;
    let written = fields.get("provider");
    let provider = written.as_ref().and_then(|provider| provider.choice(&PROVIDERS));
    let (url, model) = (fields.get("url"), fields.get("model"));
    let address = url.as_ref().and_then(ValueReader::word);
    let name = model.as_ref().and_then(ValueReader::word).unwrap_or_default();
    fields.finish();
    let is_server = match provider {
        Some(Choice::Server(_)) => true,
        Some(_) => false,
        None => written.is_some() || url.is_some() || model.is_some(),
    };
    if !is_server {
        if let Some(extra) = url.or(model) {
            return extra.fail("only embedding servers (`provider: openai` or `tei`) have this key; remove it");
        }
        return Some(if provider == Some(Choice::None) { Embedding::None } else { Embedding::Builtin });
    }
    let Some(url) = url else { return reader.fail("missing key `url` (address of the embedding server)") };
    let address = address?;
    if !address.starts_with("http://") && !address.starts_with("https://") {
        return url.expected("a URL such as `https://api.openai.com/v1`");
    }
    if written.is_none() {
        return reader.fail("missing key `provider` (`openai` or `tei`)");
    }
    let Some(Choice::Server(provider)) = provider else { return None };
    if provider == EmbeddingProvider::OpenAi && name.is_empty() {
        return reader.fail("missing key `model` (such as `text-embedding-3-small`)");
    }
    Some(Embedding::Server(EmbeddingServer { provider, url: address, model: name }))
}

#[cfg(test)]
mod tests {
    use crate::testing::{errors, loaded};
    use crate::{Embedding, EmbeddingProvider, EmbeddingServer};

    #[test]
    fn the_model_is_built_in_unless_the_config_says_otherwise() {
        let embedding = |text: &str| loaded(text).optimizer.embedding.unwrap_or_default();
        assert_eq!(embedding("optimizer: { enabled: true }"), Embedding::Builtin);
        assert_eq!(embedding("optimizer: { embedding: {} }"), Embedding::Builtin);
        assert_eq!(embedding("optimizer: { embedding: { provider: builtin } }"), Embedding::Builtin);
        assert_eq!(embedding("optimizer: { embedding: { provider: none } }"), Embedding::None);
        let server =
            EmbeddingServer { provider: EmbeddingProvider::Tei, url: "http://h".to_owned(), model: String::new() };
        let text = "optimizer: { embedding: { provider: tei, url: 'http://h' } }";
        assert_eq!(embedding(text), Embedding::Server(server));
    }

    #[test]
    fn only_servers_have_an_address_and_a_choice_of_models() {
        for (extra, key) in [("url: 'http://h'", "url"), ("model: small", "model")] {
            for provider in ["builtin", "none"] {
                let found = errors(&format!("optimizer: {{ embedding: {{ provider: {provider}, {extra} }} }}"));
                assert_eq!(found.len(), 1, "{found:?}");
                assert!(
                    found[0].contains(&format!("`optimizer.embedding.{key}`: only embedding servers")),
                    "{found:?}"
                );
            }
        }
        let found = errors("optimizer: { embedding: { url: 'http://h' } }");
        assert!(found[0].contains("missing key `provider` (`openai` or `tei`)"), "{found:?}");
        let found = errors("optimizer: { embedding: { provider: tei } }");
        assert!(found[0].contains("missing key `url`"), "{found:?}");
    }
}
