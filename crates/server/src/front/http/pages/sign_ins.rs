//! Sign-ins that have begun. The browser keeps its own, sealed. Nothing is stored for somebody whom nobody knows, so nobody can
//! use up what others need to sign in.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::cookies::SIGN_IN_SECONDS;
use super::flows::FlowError;
use proxy_base::seal::{Purpose, Sealer};
use proxy_identity::oauth::ParkedSignIn;
use proxy_model::Secret;

/// A visit to the issuer that has begun in a browser, and ends in the same.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OpenSignIn {
    /// The page that is shown afterwards; the one about all accounts if it names no server.
    pub(super) server: Option<String>,
    pub(super) parked: ParkedSignIn,
    /// In seconds since 1970.
    ends: u64,
}

impl OpenSignIn {
    pub(super) fn begin(server: Option<&str>, parked: ParkedSignIn) -> Self {
        OpenSignIn { server: server.map(str::to_owned), parked, ends: now() + SIGN_IN_SECONDS }
    }

    /// The value of the cookie, for the browser with this mark.
    pub(super) fn sealed(&self, sealer: &Sealer, browser: &str) -> Result<Secret, FlowError> {
        let content = serde_json::to_vec(self).unwrap_or_default();
        let sealed = sealer.seal(Purpose::Connect, &owner(browser), &content).map_err(|_| FlowError::Random)?;
        Ok(Secret::new(sealed))
    }

    /// The sign-in with this `state` that the browser with this mark has kept, if there is still time for it.
    pub(super) fn opened(sealer: &Sealer, browser: &str, cookie: &Secret, state: &str) -> Option<Self> {
        let content = sealer.open(Purpose::Connect, &owner(browser), cookie.reveal())?;
        let open: OpenSignIn = serde_json::from_slice(&content).ok()?;
        let is_meant = bool::from(open.parked.state().reveal().as_bytes().ct_eq(state.as_bytes()));
        (is_meant && now() < open.ends).then_some(open)
    }
}

fn owner(browser: &str) -> String {
    format!("sign-in {browser}")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parked() -> ParkedSignIn {
        let parked = serde_json::json!({
            "state": "state-1", "verifier": "v", "issuer": "https://a", "redirect_uri": "https://p/cb", "resource": null,
        });
        serde_json::from_value(parked).unwrap()
    }

    #[test]
    fn a_sign_in_ends_in_its_browser_with_its_state_and_in_time() {
        let sealer = Sealer::new().unwrap();
        let open = OpenSignIn::begin(Some("crm"), parked());
        let cookie = open.sealed(&sealer, "browser-1").unwrap();
        let opened = |browser: &str, state: &str| OpenSignIn::opened(&sealer, browser, &cookie, state);
        assert_eq!(opened("browser-1", "state-1").unwrap().server.as_deref(), Some("crm"));
        assert!(opened("browser-2", "state-1").is_none() && opened("browser-1", "state-2").is_none());
        let other = Sealer::new().unwrap();
        assert!(OpenSignIn::opened(&other, "browser-1", &cookie, "state-1").is_none());
        let late = OpenSignIn { ends: now(), ..open }.sealed(&sealer, "browser-1").unwrap();
        assert!(OpenSignIn::opened(&sealer, "browser-1", &late, "state-1").is_none());
    }

    #[test]
    fn a_browser_keeps_it() {
        let server = "s".repeat(512);
        let cookie = OpenSignIn::begin(Some(&server), parked()).sealed(&Sealer::new().unwrap(), "browser").unwrap();
        assert!(cookie.reveal().len() < 2000, "{}", cookie.reveal().len());
    }
}
