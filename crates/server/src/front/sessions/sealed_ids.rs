//! Session ids: `HOME.SEALED`. `HOME` is the process that opened the session, `SEALED` the handshake, encrypted for the user
//! and for `HOME`. Every process with the key can serve the session without having seen it before.

use serde::{Deserialize, Serialize};

use crate::client::session_id::SessionId;
use crate::methods::initialize::Handshake;
use proxy_base::seal::{Purpose, Sealer};
use proxy_json::{Raw, RawRef};
use proxy_model::{Abilities, ClientInfo, Home, Owner, Principal, Sid};
use proxy_wire::Revision;

/// The version of what is sealed. A process treats ids of later versions as unknown.
const VERSION: u8 = 1;
/// Ids are shorter. Together with a token, one fits into the 8 KiB that most servers take as headers.
pub(super) const MAX_ID_BYTES: usize = 4096;
/// The maximum size of `clientInfo` and `capabilities` in an id.
const MAX_CLIENT_BYTES: usize = 2048;

/// What is sealed.
#[derive(Serialize, Deserialize)]
struct Content {
    version: u8,
    sid: String,
    /// Milliseconds since 1970.
    born: u64,
    revision: String,
    /// Missing if it is too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<ClientContent>,
}

#[derive(Serialize, Deserialize)]
struct ClientContent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    info: Option<Raw>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capabilities: Option<Raw>,
}

/// What the store keeps of a client that says too much about itself for an id.
#[derive(Serialize, Deserialize)]
struct StoredClient {
    revision: String,
    client: ClientContent,
}

/// An id that was opened.
pub(crate) struct OpenedId {
    pub(crate) id: SessionId,
    /// `None` if the client says too much about itself for an id.
    pub(crate) handshake: Option<Handshake>,
}

/// Makes and opens session ids.
pub(super) struct SealedIds(Sealer);

impl SealedIds {
    pub(super) fn new(sealer: Sealer) -> Self {
        SealedIds(sealer)
    }

    /// The id of a session that begins with this handshake.
    pub(super) fn seal(
        &self,
        principal: &Principal,
        handshake: &Handshake,
        born: u64,
    ) -> Result<SessionId, getrandom::Error> {
        let home = Home::of_this_process();
        let sid = Sid::random()?;
        let ClientInfo { implementation, capabilities, .. } = &handshake.client;
        let size: usize = [implementation, capabilities].into_iter().flatten().map(|raw| raw.get().len()).sum();
        let is_complete = size <= MAX_CLIENT_BYTES;
        let client = ClientContent { info: implementation.clone(), capabilities: capabilities.clone() };
        let content = Content {
            version: VERSION,
            sid: sid.to_string(),
            born,
            revision: handshake.revision.as_str().to_owned(),
            client: is_complete.then_some(client),
        };
        // Cannot fail: the keys are strings.
        let content = serde_json::to_vec(&content).unwrap_or_default();
        let sealed = self.0.seal(Purpose::Session, &owner(principal, home), &content)?;
        Ok(SessionId { text: format!("{home}.{sealed}"), home, sid, born, is_complete })
    }

    /// What the client says about itself, for the store, if that is too large for the id.
    pub(super) fn seal_client(&self, id: &SessionId, principal: &Principal, handshake: &Handshake) -> Option<Vec<u8>> {
        let ClientInfo { implementation, capabilities, .. } = &handshake.client;
        let client = ClientContent { info: implementation.clone(), capabilities: capabilities.clone() };
        let content = StoredClient { revision: handshake.revision.as_str().to_owned(), client };
        let content = serde_json::to_vec(&content).ok()?;
        self.0.seal_bytes(Purpose::Session, &client_owner(principal, id), &content).ok()
    }

    pub(super) fn open_client(&self, id: &SessionId, principal: &Principal, sealed: &[u8]) -> Option<Handshake> {
        let content = self.0.open_bytes(Purpose::Session, &client_owner(principal, id), sealed)?;
        let content: StoredClient = serde_json::from_slice(&content).ok()?;
        Some(handshake(Revision::parse(&content.revision)?, content.client))
    }

    /// Opens an id. `None` if it was changed, made with another key, or for another user.
    pub(super) fn open(&self, principal: &Principal, text: &str) -> Option<OpenedId> {
        if text.len() > MAX_ID_BYTES {
            return None;
        }
        let (home, sealed) = text.split_once('.')?;
        let home = Home::parse(home)?;
        let content = self.0.open(Purpose::Session, &owner(principal, home), sealed)?;
        let content: Content = serde_json::from_slice(&content).ok()?;
        if content.version != VERSION {
            return None;
        }
        let sid = Sid::parse(&content.sid)?;
        let revision = Revision::parse(&content.revision).filter(|revision| !revision.is_stateless())?;
        let is_complete = content.client.is_some();
        let handshake = content.client.map(|client| handshake(revision, client));
        let id = SessionId { text: text.to_owned(), home, sid, born: content.born, is_complete };
        Some(OpenedId { id, handshake })
    }
}

/// Whom an id is sealed for. With another `home` in front it does not open.
fn owner(principal: &Principal, home: Home) -> String {
    format!("{home} {}", Owner::handle_text(principal))
}

/// Whom the content of the store is sealed for: nobody can exchange that of two sessions.
fn client_owner(principal: &Principal, id: &SessionId) -> String {
    format!("client {} {}", id.sid, Owner::handle_text(principal))
}

fn handshake(revision: Revision, client: ClientContent) -> Handshake {
    let declared = client.capabilities.as_deref().map_or("{}", RawRef::get);
    let abilities = Abilities::read(&serde_json::from_str(declared).unwrap_or_default());
    let client = ClientInfo {
        protocol_version: revision.as_str(),
        implementation: client.info,
        capabilities: client.capabilities,
    };
    Handshake { revision, abilities, client }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn handshake_of(name: &str) -> Handshake {
        let client = ClientInfo {
            protocol_version: Revision::V2025_06_18.as_str(),
            implementation: Some(proxy_json::raw(&json!({"name": name, "version": "1.10"}))),
            capabilities: Some(proxy_json::raw(&json!({"elicitation": {}, "roots": {"listChanged": true}}))),
        };
        let abilities = Abilities::read(&client.capabilities());
        Handshake { revision: Revision::V2025_06_18, abilities, client }
    }

    #[test]
    fn an_id_says_who_the_client_is_to_those_who_have_the_key() {
        let ids = SealedIds::new(Sealer::new().unwrap());
        let ann = Principal::named("ann");
        let sealed = ids.seal(&ann, &handshake_of("inspector"), 7).unwrap();
        let opened = ids.open(&ann, &sealed.text).expect("it is unchanged");
        assert_eq!((opened.id.sid, opened.id.born, opened.id.home), (sealed.sid, 7, Home::of_this_process()));
        let handshake = opened.handshake.expect("it fits");
        assert_eq!(handshake.revision, Revision::V2025_06_18);
        assert!(handshake.abilities.form && handshake.abilities.roots_changes && !handshake.abilities.sampling);
        assert_eq!((handshake.client.name(), handshake.client.version()), ("inspector".into(), "1.10".into()));
        assert!(!format!("{sealed:?}").contains(&sealed.text[20..]), "{sealed:?}");
    }

    #[test]
    fn what_is_too_large_for_an_id_is_sealed_for_its_session() {
        let ids = SealedIds::new(Sealer::new().unwrap());
        let ann = Principal::named("ann");
        let bob = Principal::named("bob");
        let name = "x".repeat(9000);
        let [one, other] = [0; 2].map(|_| ids.seal(&ann, &handshake_of(&name), 7).unwrap());
        assert!(!one.is_complete);
        let sealed = ids.seal_client(&one, &ann, &handshake_of(&name)).unwrap();
        let opened = ids.open_client(&one, &ann, &sealed).expect("it is the same session");
        assert!(opened.client.implementation.is_some_and(|info| info.get().contains(&name)));
        assert_eq!(opened.revision, Revision::V2025_06_18);
        assert!(opened.abilities.form);
        assert!(ids.open_client(&other, &ann, &sealed).is_none() && ids.open_client(&one, &bob, &sealed).is_none());
    }

    #[test]
    fn nobody_else_opens_it() {
        let ids = SealedIds::new(Sealer::new().unwrap());
        let ann = Principal::named("ann");
        let id = ids.seal(&ann, &handshake_of("x"), 7).unwrap().text;
        for other in [Principal::named("bob"), Principal::local("ann"), Principal::anonymous()] {
            assert!(ids.open(&other, &id).is_none(), "{other:?}");
        }
        assert!(SealedIds::new(Sealer::new().unwrap()).open(&ann, &id).is_none(), "another key");
        let (home, sealed) = id.split_once('.').unwrap();
        let changed = if home.starts_with('0') { home.replacen('0', "1", 1) } else { format!("0{}", &home[1..]) };
        let long = format!("{home}.{sealed}{}", "A".repeat(8192));
        for other in [&format!("{changed}.{sealed}"), sealed, &id[..id.len() - 1], &long, "", ".", home] {
            assert!(ids.open(&ann, other).is_none(), "{other}");
        }
    }

    #[test]
    fn every_id_fits_into_a_header() {
        let ids = SealedIds::new(Sealer::new().unwrap());
        let principal = Principal::anonymous();
        for (letters, is_complete) in [(0, true), (1900, true), (2048, false), (16 << 10, false)] {
            let sealed = ids.seal(&principal, &handshake_of(&"x".repeat(letters)), u64::MAX).unwrap();
            assert!(sealed.text.len() < MAX_ID_BYTES, "{letters}: {}", sealed.text.len());
            assert!(sealed.text.bytes().all(|byte| byte.is_ascii_graphic()));
            let opened = ids.open(&principal, &sealed.text).expect("it is ours");
            assert_eq!((sealed.is_complete, opened.handshake.is_some()), (is_complete, is_complete), "{letters}");
        }
    }
}
