//! The operations that every kind of store implements.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::tags::Tags;
use super::{Limit, Space, StoreError, TokenDecision};
use proxy_model::Owner;

pub type Outcome<T> = Result<T, StoreError>;

/// The operations behind [`super::Store`], which has checked sizes already. Each is atomic.
pub(super) trait StoreDriver: Send + Sync {
    fn name(&self) -> &str;

    /// Whether other processes can use the same store, and it outlives this one.
    fn is_shared(&self) -> bool;

    /// How many operations have failed because of the store itself.
    fn errors(&self) -> u64;

    /// Takes one token from each of these distinct buckets, or none.
    fn take_tokens<'a>(&'a self, limits: &'a [&'a Limit]) -> BoxFuture<'a, Outcome<TokenDecision>>;

    fn put_journal<'a>(&'a self, id: &'a str, content: Vec<u8>, ttl: Duration) -> BoxFuture<'a, Outcome<()>>;

    fn take_journal<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>>;

    /// Claims a name; false if it is claimed already.
    fn claim<'a>(&'a self, name: &'a str, ttl: Duration) -> BoxFuture<'a, Outcome<bool>>;

    fn get_record<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>>;

    fn put_record<'a>(&'a self, name: &'a str, content: Vec<u8>) -> BoxFuture<'a, Outcome<()>>;

    fn delete_record<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Outcome<()>>;

    fn add_name<'a>(&'a self, list: &'a str, name: &'a str) -> BoxFuture<'a, Outcome<()>>;

    fn remove_name<'a>(&'a self, list: &'a str, name: &'a str) -> BoxFuture<'a, Outcome<()>>;

    fn names<'a>(&'a self, list: &'a str) -> BoxFuture<'a, Outcome<Vec<String>>>;

    /// Locks a name; false if another holder has it.
    fn lock<'a>(&'a self, name: &'a str, holder: &'a str, ttl: Duration) -> BoxFuture<'a, Outcome<bool>>;

    fn unlock<'a>(&'a self, name: &'a str, holder: &'a str) -> BoxFuture<'a, Outcome<()>>;

    fn get<'a>(&'a self, space: &'a Space, key: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>>;

    fn set<'a>(
        &'a self,
        space: &'a Space,
        key: &'a str,
        value: Vec<u8>,
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Outcome<()>>;

    fn incr<'a>(
        &'a self,
        space: &'a Space,
        key: &'a str,
        by: i64,
        ttl: Option<Duration>,
        tags: &'a Tags,
    ) -> BoxFuture<'a, Outcome<(i64, Tags)>>;

    fn delete<'a>(&'a self, space: &'a Space, key: &'a str) -> BoxFuture<'a, Outcome<bool>>;

    /// Adds marks to an owner's and renews those that it has; a mark that it has keeps its text.
    fn add_marks<'a>(
        &'a self,
        owner: &'a Owner,
        marks: &'a [(Arc<str>, String)],
        ttl: Duration,
    ) -> BoxFuture<'a, Outcome<()>>;

    /// The marks of an owner with their texts.
    fn marks<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Outcome<Vec<(String, String)>>>;

    fn forget<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Outcome<()>>;
}
