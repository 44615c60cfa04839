//! The identity of a server: a digest of its program or address as written. A lock approves what this server lists, and not
//! what another one does under the same name.

use sha2::{Digest, Sha256};

use crate::syntax::mask::{SecretFlag, flag_of, is_address_with_credentials};
use crate::syntax::reader::ValueReader;

const MASK: &str = "***";

/// The identity of an entry of `mcpServers`, before variables are substituted. Secrets are masked: the digest is public.
pub(crate) fn written_identity(server: &ValueReader) -> String {
    let keys = ["command", "args", "cwd", "url", "openapi"];
    let parts =
        keys.into_iter().filter_map(|key| Some((key, server.written(key)?))).filter(|(_, texts)| !texts.is_empty());
    identity(&parts.collect::<Vec<_>>())
}

/// The identity of a server on the command line: its command and arguments, or its address.
pub(crate) fn identity_of_words(key: &'static str, words: &[String]) -> String {
    let mut after_flag = false;
    let masked = words.iter().map(|word| {
        let flag = flag_of(word);
        let is_secret =
            after_flag || flag == SecretFlag::WithValue || (word.contains("://") && is_address_with_credentials(word));
        after_flag = flag == SecretFlag::BeforeValue;
        if is_secret { MASK.to_owned() } else { word.clone() }
    });
    let masked: Vec<String> = masked.collect();
    let (first, rest) = masked.split_at(masked.len().min(1));
    let parts = [(key, first.to_vec()), ("args", rest.to_vec())];
    identity(&parts.into_iter().filter(|(_, texts)| !texts.is_empty()).collect::<Vec<_>>())
}

fn identity(parts: &[(&str, Vec<String>)]) -> String {
    let text = serde_json::to_string(parts).unwrap_or_default();
    format!("sha256:{}", proxy_json::hex(&Sha256::digest(text)))
}
