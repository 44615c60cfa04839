//! Access to the page's API: a client exchanges the one-time code that the command printed for a token.
//!
//! There are no cookies, because browsers send them to every port of a host, and with requests from other pages.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use subtle::ConstantTimeEq;

use proxy_json::hex;

/// How long a code is valid.
pub const CODE_LIFETIME: Duration = Duration::from_secs(60);
/// A code becomes invalid after this many wrong attempts.
const MAX_WRONG: u32 = 5;
/// The maximum number of pages with a token. The oldest token is dropped.
const MAX_TOKENS: usize = 16;

/// The newest code, and the tokens issued for codes.
#[derive(Debug, Default)]
pub(super) struct PageTokens(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    code: Option<Code>,
    tokens: VecDeque<String>,
}

#[derive(Debug)]
struct Code {
    text: String,
    made: Instant,
    is_used: bool,
    wrong: u32,
}

/// Why a code was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CodeError {
    #[error("this code is wrong")]
    Wrong,
    #[error("this code was already used; if not by you, stop `proxy console`")]
    Used,
    #[error("this code is older than 60 seconds")]
    Old,
    #[error("the code is no longer valid after too many wrong attempts")]
    Tried,
}

impl PageTokens {
    /// A new code. The previous one becomes invalid.
    pub(super) fn new_code(&self) -> Result<String, getrandom::Error> {
        let text = secret::<16>()?;
        let code = Code { text: text.clone(), made: Instant::now(), is_used: false, wrong: 0 };
        self.0.lock().code = Some(code);
        Ok(text)
    }

    /// Exchanges a code for a token. Each code works once.
    pub(super) fn redeem(&self, code: &str) -> Result<String, CodeError> {
        self.redeem_at(code, Instant::now())
    }

    fn redeem_at(&self, code: &str, now: Instant) -> Result<String, CodeError> {
        let mut state = self.0.lock();
        let Some(known) = &mut state.code else { return Err(CodeError::Wrong) };
        if known.wrong >= MAX_WRONG {
            return Err(CodeError::Tried);
        }
        if !is_same(&known.text, code) {
            known.wrong += 1;
            return Err(CodeError::Wrong);
        }
        if known.is_used {
            return Err(CodeError::Used);
        }
        if now.saturating_duration_since(known.made) > CODE_LIFETIME {
            return Err(CodeError::Old);
        }
        let token = secret::<32>().map_err(|_| CodeError::Wrong)?;
        known.is_used = true;
        if state.tokens.len() >= MAX_TOKENS {
            state.tokens.pop_front();
        }
        state.tokens.push_back(token.clone());
        Ok(token)
    }

    pub(super) fn is_token(&self, presented: &str) -> bool {
        // Compares with every token, so that the timing reveals nothing about them.
        let state = self.0.lock();
        state.tokens.iter().fold(false, |found, token| found | is_same(token, presented))
    }
}

fn is_same(known: &str, presented: &str) -> bool {
    bool::from(known.as_bytes().ct_eq(presented.as_bytes()))
}

/// Random bytes as text.
fn secret<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_worth_one_token_within_its_time() {
        let page_tokens = PageTokens::default();
        assert_eq!(page_tokens.redeem(""), Err(CodeError::Wrong), "there is none yet");
        let code = page_tokens.new_code().unwrap();
        let token = page_tokens.redeem(&code).unwrap();
        assert!(page_tokens.is_token(&token) && !page_tokens.is_token(&code) && !page_tokens.is_token(""));
        assert_eq!(page_tokens.redeem(&code), Err(CodeError::Used));
        let second = page_tokens.new_code().unwrap();
        assert_ne!(second, code);
        let late = Instant::now() + CODE_LIFETIME + Duration::from_millis(1);
        assert_eq!(page_tokens.redeem_at(&second, late), Err(CodeError::Old));
        assert!(page_tokens.is_token(&token), "pages that have a token keep it");
    }

    #[test]
    fn a_code_cannot_be_guessed_for_long() {
        let page_tokens = PageTokens::default();
        let code = page_tokens.new_code().unwrap();
        for _ in 0..MAX_WRONG {
            assert_eq!(page_tokens.redeem("0123"), Err(CodeError::Wrong));
        }
        assert_eq!(page_tokens.redeem(&code), Err(CodeError::Tried));
        let code = page_tokens.new_code().unwrap();
        assert!(page_tokens.redeem(&code).is_ok());
    }

    #[test]
    fn the_oldest_of_many_tokens_is_forgotten() {
        let page_tokens = PageTokens::default();
        let tokens: Vec<String> =
            (0..=MAX_TOKENS).map(|_| page_tokens.redeem(&page_tokens.new_code().unwrap()).unwrap()).collect();
        assert!(!page_tokens.is_token(&tokens[0]) && tokens[1..].iter().all(|token| page_tokens.is_token(token)));
    }
}
