//! Whose a call is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The one to whom a running call belongs. What a server asks or says in the middle of it is for its owner and nobody
/// else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A session, or the client on a pipe.
    Session(u64),
    /// A known person, over any number of requests.
    Person(Arc<str>),
    /// One request of somebody unknown: two unknown people are not one.
    Request(u64),
}

impl Owner {
    pub fn new_session() -> Self {
        Owner::Session(next())
    }

    pub fn new_request() -> Self {
        Owner::Request(next())
    }
}

fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
