//! Tokens of one server, by the digests of those that they were exchanged for.

use std::collections::{HashMap, VecDeque};
use std::time::SystemTime;

use http::HeaderValue;
use parking_lot::Mutex;

use super::subject_tokens::SubjectDigest;

const MAX_TOKENS: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct ExchangedTokens(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    tokens: HashMap<SubjectDigest, ExchangedToken>,
    /// The oldest first.
    order: VecDeque<SubjectDigest>,
}

#[derive(Debug)]
struct ExchangedToken {
    header: HeaderValue,
    until: SystemTime,
}

impl ExchangedTokens {
    pub(super) fn get(&self, subject: &SubjectDigest, now: SystemTime) -> Option<HeaderValue> {
        let kept = self.0.lock();
        kept.tokens.get(subject).filter(|token| now < token.until).map(|token| token.header.clone())
    }

    pub(super) fn insert(&self, subject: SubjectDigest, header: HeaderValue, until: SystemTime) {
        let mut kept = self.0.lock();
        if kept.tokens.insert(subject, ExchangedToken { header, until }).is_none() {
            kept.order.push_back(subject);
        }
        while kept.order.len() > MAX_TOKENS {
            if let Some(oldest) = kept.order.pop_front() {
                kept.tokens.remove(&oldest);
            }
        }
    }

    /// The server has refused this token. What it was exchanged for may have been renewed meanwhile.
    pub(super) fn remove(&self, refused: &HeaderValue) {
        let mut kept = self.0.lock();
        let Kept { tokens, order } = &mut *kept;
        tokens.retain(|_, token| token.header != *refused);
        order.retain(|digest| tokens.contains_key(digest));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_token_is_known_until_its_end_or_until_it_is_refused() {
        let (tokens, now) = (ExchangedTokens::default(), SystemTime::now());
        let (soon, header) = (now + Duration::from_secs(1), HeaderValue::from_static);
        tokens.insert([1; 32], header("a"), soon);
        assert_eq!(tokens.get(&[1; 32], now), Some(header("a")));
        assert_eq!((tokens.get(&[1; 32], soon), tokens.get(&[2; 32], now)), (None, None));
        tokens.remove(&header("an older one"));
        assert!(tokens.get(&[1; 32], now).is_some());
        tokens.remove(&header("a"));
        assert_eq!(tokens.get(&[1; 32], now), None);
        assert_eq!(tokens.0.lock().order.len(), 0);
        for number in 0..=MAX_TOKENS {
            let mut digest = [0; 32];
            digest[..8].copy_from_slice(&number.to_be_bytes());
            tokens.insert(digest, header("b"), soon);
        }
        assert_eq!(tokens.0.lock().tokens.len(), MAX_TOKENS);
        assert_eq!(tokens.get(&[0; 32], now), None);
    }
}
