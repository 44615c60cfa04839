//! The result sizes that known clients can take.

use std::borrow::Cow;

/// What a client does with results above its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLimit {
    /// It writes them to a file that its model can search, so the proxy leaves them whole.
    File,
    /// It cuts them off, at so many tokens.
    Cut(usize),
}

/// The limit of a known client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientResultLimit {
    /// The name of the client in metrics.
    pub row: Cow<'static, str>,
    pub limit: RowLimit,
}

/// The limit of the client with this name and version; `None` if it is not known to have one. Only this function knows
/// clients.
pub fn client_result_limit(name: &str, _version: &str) -> Option<ClientResultLimit> {
    let (row, limit) = match name.to_ascii_lowercase().as_str() {
        "claude-code" => ("claude-code", RowLimit::File),
        "codex-mcp-client" => ("codex", RowLimit::Cut(CODEX_TOKENS)),
        _ => return None,
    };
    Some(ClientResultLimit { row: row.into(), limit })
}

const CODEX_TOKENS: usize = 10_000;

/// The smallest limit of any client: smaller results need no look at the client.
pub(super) const SMALLEST: usize = CODEX_TOKENS;
