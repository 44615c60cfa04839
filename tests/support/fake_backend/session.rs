//! Legacy HTTP sessions: made by `initialize`, ended by DELETE or by expiry.

use std::collections::HashMap;

use crate::message::Refusal;
use crate::options::Options;

pub struct Session {
    version: String,
    requests: usize,
}

#[derive(Default)]
pub struct Sessions {
    open: HashMap<String, Session>,
}

impl Sessions {
    pub fn open(&mut self, id: String, version: String) {
        self.open.insert(id, Session { version, requests: 0 });
    }

    pub fn end(&mut self, id: &str) -> bool {
        self.open.remove(id).is_some()
    }

    /// Checks the headers of a request inside a session, strictly: the client must name the version it negotiated.
    pub fn admit(&mut self, id: Option<&str>, version: Option<&str>, options: &Options) -> Result<(), Refusal> {
        let id = id.ok_or_else(|| Refusal::new(400, -32000, "the header Mcp-Session-Id is missing"))?;
        let session =
            self.open.get_mut(id).ok_or_else(|| Refusal::new(404, -32001, "no such session, initialize again"))?;
        let needed = session.version.as_str() >= "2025-06-18";
        match version {
            None if needed => return Err(Refusal::new(400, -32000, "the header MCP-Protocol-Version is missing")),
            Some(named) if needed && named != session.version => {
                return Err(Refusal::new(400, -32000, "MCP-Protocol-Version is not the negotiated one"));
            }
            _ => {}
        }
        session.requests += 1;
        if options.expire_session_after.is_some_and(|limit| session.requests > limit) {
            self.open.remove(id);
            return Err(Refusal::new(404, -32001, "the session expired, initialize again"));
        }
        Ok(())
    }
}
