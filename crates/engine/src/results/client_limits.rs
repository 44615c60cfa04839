//! The result sizes that known clients can take.

use std::sync::Arc;

use super::size::TextSize;
use proxy_dialects::{Dialect, Dialects, Excess};
use proxy_model::ClientInfo;

/// The limit of a client that cuts off what is above it. One that writes large results to a file, which its model can search,
/// gets them whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CutLimit {
    pub(super) size: TextSize,
    /// The index of the row.
    pub(super) index: usize,
}

/// The row of a client, and its limit if it cuts results off.
pub(super) fn limit_of(dialects: &Dialects, client: &ClientInfo) -> Option<(Arc<str>, Option<CutLimit>)> {
    let dialect = dialects.row_of(client)?;
    Some((Arc::clone(&dialect.row), cut(dialect).map(|size| CutLimit { size, index: dialect.index() })))
}

/// The smallest limit of any client, in bytes: smaller results need no look at the client.
pub(super) fn smallest(dialects: &Dialects) -> Option<usize> {
    dialects.rows().iter().filter_map(|dialect| cut(dialect)).map(TextSize::smallest_bytes).min()
}

fn cut(dialect: &Dialect) -> Option<TextSize> {
    let limit = dialect.result().filter(|limit| limit.excess == Excess::Cut)?;
    Some(TextSize { tokens: limit.tokens, bytes: limit.bytes.unwrap_or(usize::MAX) })
}
