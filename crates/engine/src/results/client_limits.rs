//! The result sizes that known clients can take.

use std::sync::Arc;

use proxy_dialects::{Dialect, Dialects, Excess};
use proxy_model::ClientInfo;

/// The limit of a client that cuts off what is above it. One that writes large results to a file, which its model can search,
/// gets them whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CutLimit {
    pub(super) tokens: usize,
    /// The index of the row.
    pub(super) index: usize,
}

/// The row of a client, and its limit if it cuts results off.
pub(super) fn limit_of(dialects: &Dialects, client: &ClientInfo) -> Option<(Arc<str>, Option<CutLimit>)> {
    let dialect = dialects.row_of(client)?;
    Some((Arc::clone(&dialect.row), cut(dialect).map(|tokens| CutLimit { tokens, index: dialect.index() })))
}

/// The smallest limit of any client: smaller results need no look at the client.
pub(super) fn smallest(dialects: &Dialects) -> Option<usize> {
    dialects.rows().iter().filter_map(|dialect| cut(dialect)).min()
}

fn cut(dialect: &Dialect) -> Option<usize> {
    dialect.result().filter(|limit| limit.excess == Excess::Cut).map(|limit| limit.tokens)
}
