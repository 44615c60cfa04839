//! Request and response formats of the embedding providers.

use serde_json::{Value, json};

use proxy_config::{EmbeddingProvider, EmbeddingServer};

/// The address of the endpoint: the configured address, with the provider's path appended if it is missing.
pub(super) fn address(server: &EmbeddingServer) -> String {
    let path = match server.provider {
        EmbeddingProvider::OpenAi => "/embeddings",
        EmbeddingProvider::Tei => "/embed",
    };
    let base = server.url.trim_end_matches('/');
    if base.ends_with(path) { base.to_owned() } else { format!("{base}{path}") }
}

pub(super) fn request(server: &EmbeddingServer, texts: &[String]) -> Value {
    match server.provider {
        EmbeddingProvider::OpenAi => json!({"model": server.model, "input": texts, "encoding_format": "float"}),
        EmbeddingProvider::Tei => json!({"inputs": texts, "truncate": true}),
    }
}

/// Extracts one vector per text, in the order of the texts.
pub(super) fn vectors(provider: EmbeddingProvider, response: &Value, count: usize) -> Result<Vec<Vec<f32>>, String> {
    let mut found: Vec<Option<Vec<f32>>> = vec![None; count];
    match provider {
        EmbeddingProvider::OpenAi => {
            for (position, entry) in response["data"].as_array().into_iter().flatten().enumerate() {
                let index = entry["index"].as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or(position);
                if let Some(slot) = found.get_mut(index) {
                    *slot = vector(&entry["embedding"]);
                }
            }
        }
        EmbeddingProvider::Tei => {
            for (slot, entry) in found.iter_mut().zip(response.as_array().into_iter().flatten()) {
                *slot = vector(entry);
            }
        }
    }
    found.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| "not one vector per text".to_owned())
}

fn vector(value: &Value) -> Option<Vec<f32>> {
    let numbers: Option<Vec<f32>> = value.as_array()?.iter().map(|number| Some(number.as_f64()? as f32)).collect();
    numbers.filter(|numbers| !numbers.is_empty() && numbers.iter().all(|number| number.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_server_are_understood() {
        let response = json!({"data": [{"index": 1, "embedding": [0, 1.5]}, {"index": 0, "embedding": [1, 0]}]});
        let expected = vec![vec![1.0, 0.0], vec![0.0, 1.5]];
        assert_eq!(vectors(EmbeddingProvider::OpenAi, &response, 2).unwrap(), expected);
        assert_eq!(vectors(EmbeddingProvider::Tei, &json!([[1, 0], [0, 1.5]]), 2).unwrap(), expected);
        for wrong in [json!({}), json!([[1]]), json!([[1], "x"]), json!([[1], []]), json!(null)] {
            assert!(vectors(EmbeddingProvider::Tei, &wrong, 2).is_err(), "{wrong}");
        }
        let embedding =
            |url: &str, provider| address(&EmbeddingServer { provider, url: url.into(), model: String::new() });
        assert_eq!(embedding("https://h/v1/", EmbeddingProvider::OpenAi), "https://h/v1/embeddings");
        assert_eq!(embedding("http://h:8080/embed", EmbeddingProvider::Tei), "http://h:8080/embed");
    }
}
