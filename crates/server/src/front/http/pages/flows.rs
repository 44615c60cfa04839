//! What the pages remember in the store, encrypted: who has signed in, and the log-ins at servers that these people have begun.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::cookies::{LIFETIME_SECONDS, digest};
use crate::replicas::ForwardedPrincipal;
use proxy_base::seal::{Purpose, Sealer};
use proxy_identity::oauth::ParkedLogIn;
use proxy_model::{Owner, Principal, Realm, Secret, Who};
use proxy_store::{Space, Store, StoreError};

/// How long a person may be elsewhere.
const FLOW_LIFETIME: Duration = Duration::from_secs(10 * 60);
const SESSION_LIFETIME: Duration = Duration::from_secs(LIFETIME_SECONDS);
/// How many log-ins may be open.
const MAX_OPEN: i64 = 1000;
/// How many of them may be of one person.
const MAX_OPEN_OF_PERSON: i64 = 5;

/// A visit to the authorization server of a server that has begun in a browser, and ends in the same.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Flow {
    /// Of the cookie that the browser had.
    pub(super) browser: String,
    pub(super) server: String,
    /// For whom: somebody else who signs in meanwhile changes nothing.
    pub(super) person: ForwardedPrincipal,
    pub(super) parked: ParkedLogIn,
}

/// Why a visit cannot begin.
#[derive(Debug)]
pub(super) enum FlowError {
    TooMany,
    Store(StoreError),
    Random,
}

impl From<StoreError> for FlowError {
    fn from(error: StoreError) -> Self {
        FlowError::Store(error)
    }
}

/// What the pages remember.
pub(super) struct PageStore<'a> {
    pub(super) store: Store,
    pub(super) sealer: &'a Sealer,
}

impl PageStore<'_> {
    /// Values that no script can name: no issuer is called that. What somebody stores by signing in has a space of its own.
    fn space(of: &str) -> Space {
        let who = Who { realm: Realm::Issuer("proxy".into()), sub: of.into() };
        Space::new(Owner::Person(who), "pages")
    }

    fn seal(&self, name: &str, content: &impl Serialize) -> Result<Vec<u8>, FlowError> {
        let text = serde_json::to_vec(content).unwrap_or_default();
        self.sealer.seal_bytes(Purpose::Connect, name, &text).map_err(|_| FlowError::Random)
    }

    fn open<T: DeserializeOwned>(&self, name: &str, sealed: &[u8]) -> Option<T> {
        serde_json::from_slice(&self.sealer.open_bytes(Purpose::Connect, name, sealed)?).ok()
    }

    /// Whether the sign-in with this `state` ends now, and has not ended before.
    pub(super) async fn ends_sign_in(&self, state: &str) -> Result<bool, FlowError> {
        let name = format!("pages:{}", digest("sign-in", state));
        Ok(self.store.claim(&name, SESSION_LIFETIME).await?)
    }

    /// Remembers that a person has signed in, under a new cookie.
    pub(super) async fn remember(&self, cookie: &Secret, principal: &Principal) -> Result<(), FlowError> {
        let name = digest("person", cookie.reveal());
        let sealed = self.seal(&name, &ForwardedPrincipal::from(principal))?;
        Ok(self.store.set(&Self::space(&name), &name, sealed, Some(SESSION_LIFETIME)).await?)
    }

    /// Who has signed in.
    pub(super) async fn person(&self, cookie: &Secret) -> Result<Option<Principal>, FlowError> {
        let name = digest("person", cookie.reveal());
        let sealed = self.store.get(&Self::space(&name), &name).await?;
        Ok(sealed.and_then(|sealed| self.open::<ForwardedPrincipal>(&name, &sealed)).map(Principal::from))
    }

    pub(super) async fn forget(&self, cookie: &Secret) -> Result<(), FlowError> {
        let name = digest("person", cookie.reveal());
        self.store.delete(&Self::space(&name), &name).await?;
        Ok(())
    }

    /// Remembers a visit elsewhere under its `state`.
    pub(super) async fn begin(&self, state: &Secret, flow: &Flow) -> Result<(), FlowError> {
        self.count(flow, 1).await?;
        let name = digest("state", state.reveal());
        let sealed = self.seal(&name, flow)?;
        Ok(self.store.put_journal(&name, sealed, FLOW_LIFETIME).await?)
    }

    /// The visit with this `state`: once.
    pub(super) async fn take(&self, state: &str) -> Result<Option<Flow>, FlowError> {
        let name = digest("state", state);
        let Some(sealed) = self.store.take_journal(&name).await? else { return Ok(None) };
        let Some(flow) = self.open::<Flow>(&name, &sealed) else { return Ok(None) };
        // Those that nobody ends are forgotten with the counts.
        let _ = self.count(&flow, -1).await;
        Ok(Some(flow))
    }

    /// Counts the open visits of all and of each person.
    async fn count(&self, flow: &Flow, by: i64) -> Result<(), FlowError> {
        let of_person = format!("open:{}", flow.person.digest());
        let counts = [("open".to_owned(), MAX_OPEN), (of_person, MAX_OPEN_OF_PERSON)];
        let space = Self::space("counts");
        let mut counted: Vec<String> = Vec::new();
        for (name, max) in counts {
            let open = self.store.incr(&space, &name, by, Some(FLOW_LIFETIME)).await?;
            if open < 0 {
                // The visit began before the count was forgotten.
                self.store.incr(&space, &name, -open, Some(FLOW_LIFETIME)).await?;
            }
            counted.push(name);
            if by > 0 && open > max {
                for name in &counted {
                    let _ = self.store.incr(&space, name, -1, Some(FLOW_LIFETIME)).await;
                }
                return Err(FlowError::TooMany);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_has_signed_in_is_known_by_the_cookie_and_nothing_else() {
        let (store, sealer) = (Store::memory(), Sealer::new().unwrap());
        let pages = PageStore { store: store.clone(), sealer: &sealer };
        let (cookie, other) = (Secret::new("1".repeat(64)), Secret::new("2".repeat(64)));
        let ann = Principal::of(Realm::Issuer("https://a".into()), "ann");
        pages.remember(&cookie, &ann).await.unwrap();
        assert_eq!(pages.person(&cookie).await.unwrap(), Some(ann));
        assert_eq!(pages.person(&other).await.unwrap(), None);
        let elsewhere = PageStore { store, sealer: &Sealer::new().unwrap() };
        assert_eq!(elsewhere.person(&cookie).await.unwrap(), None, "another key");
        pages.forget(&cookie).await.unwrap();
        assert_eq!(pages.person(&cookie).await.unwrap(), None);
    }
}
