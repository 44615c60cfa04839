//! The store in the memory of this process. Its size is bounded, and expired entries are removed by the next operation.

mod marks;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, ready};
use parking_lot::{Mutex, MutexGuard};

use super::bucket::Bucket;
use super::clock::{StoreClock, after};
use super::driver::{Outcome, StoreDriver};
use super::expiring_map::ExpiringMap;
use super::tags::Tags;
use super::{Limit, Space, StoreError, TokenDecision};
use marks::Marks;
use proxy_model::Owner;
use values::Values;

/// Maximum total size of all journals, in MiB.
const MAX_JOURNALS_MIB: usize = 64;
/// Maximum total size of all token buckets, in MiB.
const MAX_BUCKETS_MIB: usize = 64;
/// Maximum total size of all claims, in MiB.
const MAX_CLAIMS_MIB: usize = 16;
/// Approximate size of a bucket or a claim beside its name, in bytes.
const ENTRY_OVERHEAD: usize = 160;

pub(super) struct MemoryStore {
    clock: StoreClock,
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    buckets: ExpiringMap<String, Bucket>,
    journals: ExpiringMap<String, Vec<u8>>,
    claims: ExpiringMap<String, ()>,
    /// With the holder of each.
    locks: ExpiringMap<String, String>,
    /// What the proxy keeps for itself: few, and made by nobody else.
    records: BTreeMap<String, Vec<u8>>,
    /// Lists of names of records.
    names: BTreeMap<String, BTreeSet<String>>,
    values: Values,
    marks: Marks,
}

impl MemoryStore {
    pub(super) fn new(clock: StoreClock) -> Self {
        MemoryStore { clock, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock()
    }

    /// Runs an operation immediately; the result is a ready future because other drivers have to wait.
    fn run<'a, T: Send + 'a>(&self, operation: impl FnOnce(&mut MemoryState, u64) -> T) -> BoxFuture<'a, T> {
        let now = (self.clock)();
        ready(operation(&mut self.lock(), now)).boxed()
    }
}

impl StoreDriver for MemoryStore {
    fn name(&self) -> &str {
        "memory://"
    }

    fn errors(&self) -> u64 {
        0
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn take_tokens<'a>(&'a self, limits: &'a [&'a Limit]) -> BoxFuture<'a, Outcome<TokenDecision>> {
        self.run(|state, now| state.take_tokens(limits, now))
    }

    fn put_journal<'a>(&'a self, id: &'a str, content: Vec<u8>, ttl: Duration) -> BoxFuture<'a, Outcome<()>> {
        self.run(|state, now| state.put_journal(id, content, ttl, now))
    }

    fn take_journal<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        self.run(|state, now| {
            state.journals.sweep(now, |_, _| {});
            Ok(state.journals.remove(&id.to_owned()))
        })
    }

    fn claim<'a>(&'a self, name: &'a str, ttl: Duration) -> BoxFuture<'a, Outcome<bool>> {
        self.run(|state, now| state.claim(name, ttl, now))
    }

    fn get_record<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        self.run(|state, _| Ok(state.records.get(name).cloned()))
    }

    fn put_record<'a>(&'a self, name: &'a str, content: Vec<u8>) -> BoxFuture<'a, Outcome<()>> {
        self.run(|state, _| {
            state.records.insert(name.to_owned(), content);
            Ok(())
        })
    }

    fn delete_record<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Outcome<()>> {
        self.run(|state, _| {
            state.records.remove(name);
            Ok(())
        })
    }

    fn add_name<'a>(&'a self, list: &'a str, name: &'a str) -> BoxFuture<'a, Outcome<()>> {
        self.run(|state, _| {
            state.names.entry(list.to_owned()).or_default().insert(name.to_owned());
            Ok(())
        })
    }

    fn remove_name<'a>(&'a self, list: &'a str, name: &'a str) -> BoxFuture<'a, Outcome<()>> {
        self.run(|state, _| {
            if let Some(names) = state.names.get_mut(list) {
                names.remove(name);
            }
            Ok(())
        })
    }

    fn names<'a>(&'a self, list: &'a str) -> BoxFuture<'a, Outcome<Vec<String>>> {
        self.run(|state, _| Ok(state.names.get(list).into_iter().flatten().cloned().collect()))
    }

    fn lock<'a>(&'a self, name: &'a str, holder: &'a str, ttl: Duration) -> BoxFuture<'a, Outcome<bool>> {
        self.run(|state, now| {
            state.locks.sweep(now, |_, _| {});
            let name = name.to_owned();
            let free = state.locks.get(&name).is_none();
            if free {
                state.locks.put(name, holder.to_owned(), Some(after(now, ttl)), 0);
            }
            Ok(free)
        })
    }

    fn unlock<'a>(&'a self, name: &'a str, holder: &'a str) -> BoxFuture<'a, Outcome<()>> {
        self.run(|state, _| {
            let name = name.to_owned();
            if state.locks.get(&name).is_some_and(|held| held == holder) {
                state.locks.remove(&name);
            }
            Ok(())
        })
    }

    fn get<'a>(&'a self, space: &'a Space, key: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        self.run(|state, now| Ok(state.values.at(now).get(&owner(space), space.field(key))))
    }

    fn set<'a>(
        &'a self,
        space: &'a Space,
        key: &'a str,
        value: Vec<u8>,
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Outcome<()>> {
        self.run(|state, now| {
            let expires_at = ttl.map(|ttl| after(now, ttl));
            let result = state.values.at(now).set(&owner(space), space.field(key), value, expires_at);
            result.map_err(|full| full.of(key))
        })
    }

    fn incr<'a>(
        &'a self,
        space: &'a Space,
        key: &'a str,
        by: i64,
        ttl: Option<Duration>,
        tags: &'a Tags,
    ) -> BoxFuture<'a, Outcome<(i64, Tags)>> {
        self.run(|state, now| {
            let (values, owner, field) = (state.values.at(now), owner(space), space.field(key));
            let (number, known, expires_at) = match values.get(&owner, field.clone()).map(Tags::split) {
                Some((text, known)) => (parse_integer(key, &text)?, known, values.expires_at(&owner, field.clone())),
                None => (0, Tags::default(), ttl.map(|ttl| after(now, ttl))),
            };
            let number = number.checked_add(by).ok_or_else(|| StoreError::OutOfRange { key: key.to_owned() })?;
            let text = known.with(tags).before(number.to_string().into_bytes());
            values.set(&owner, field, text, expires_at).map_err(|full| full.of(key))?;
            Ok((number, known))
        })
    }

    fn add_marks<'a>(
        &'a self,
        owner: &'a Owner,
        marks: &'a [(Arc<str>, String)],
        ttl: Duration,
    ) -> BoxFuture<'a, Outcome<()>> {
        self.run(|state, now| state.marks.at(now).add(&owner.text("").into(), marks, after(now, ttl)))
    }

    fn marks<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Outcome<Vec<(String, String)>>> {
        self.run(|state, now| Ok(state.marks.at(now).of(&owner.text("").into())))
    }

    fn delete<'a>(&'a self, space: &'a Space, key: &'a str) -> BoxFuture<'a, Outcome<bool>> {
        self.run(|state, now| Ok(state.values.at(now).delete(&owner(space), space.field(key))))
    }

    fn forget<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Outcome<()>> {
        self.run(|state, now| {
            let owner = owner.text("").into();
            state.values.at(now).forget(&owner);
            state.marks.at(now).forget(&owner);
            Ok(())
        })
    }
}

impl MemoryState {
    fn take_tokens(&mut self, limits: &[&Limit], now: u64) -> Outcome<TokenDecision> {
        self.buckets.sweep(now, |_, _| {});
        let buckets: Vec<(&Limit, String, Bucket)> = limits
            .iter()
            .map(|limit| {
                let name = limit.to_string();
                let bucket = self.buckets.get(&name).copied().unwrap_or_default().refilled(limit, now);
                (*limit, name, bucket)
            })
            .collect();
        let wait = buckets.iter().map(|(limit, _, bucket)| bucket.wait(limit)).max().unwrap_or_default();
        if wait > 0 {
            return Ok(TokenDecision::refused(wait));
        }
        let added: usize = buckets.iter().map(|(_, name, _)| weight(name) - self.buckets.weight_of(name)).sum();
        if self.buckets.weight() + added > MAX_BUCKETS_MIB << 20 {
            return Err(StoreError::Full { what: "rate limits", limit: MAX_BUCKETS_MIB });
        }
        for (limit, name, bucket) in buckets {
            let bucket = bucket.with_token_taken(limit);
            let weight = weight(&name);
            self.buckets.put(name, bucket, Some(bucket.full_at(limit)), weight);
        }
        Ok(TokenDecision::ALLOWED)
    }

    fn put_journal(&mut self, id: &str, content: Vec<u8>, ttl: Duration, now: u64) -> Outcome<()> {
        self.journals.sweep(now, |_, _| {});
        let id = id.to_owned();
        let weight = content.len() + id.len();
        if self.journals.weight() - self.journals.weight_of(&id) + weight > MAX_JOURNALS_MIB << 20 {
            return Err(StoreError::Full {
                what: "journals of calls that wait for an answer",
                limit: MAX_JOURNALS_MIB,
            });
        }
        self.journals.put(id, content, Some(after(now, ttl)), weight);
        Ok(())
    }

    fn claim(&mut self, name: &str, ttl: Duration, now: u64) -> Outcome<bool> {
        self.claims.sweep(now, |_, _| {});
        let name = name.to_owned();
        if self.claims.get(&name).is_some() {
            return Ok(false);
        }
        let weight = weight(&name);
        if self.claims.weight() + weight > MAX_CLAIMS_MIB << 20 {
            return Err(StoreError::Full { what: "used tickets", limit: MAX_CLAIMS_MIB });
        }
        self.claims.put(name, (), Some(after(now, ttl)), weight);
        Ok(true)
    }
}

fn weight(name: &str) -> usize {
    // The name is stored twice: as the key and in the order of expiry.
    2 * name.len() + ENTRY_OVERHEAD
}

fn owner(space: &Space) -> Arc<str> {
    space.owner.text("").into()
}

fn parse_integer(key: &str, text: &[u8]) -> Outcome<i64> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| StoreError::NotAWholeNumber { key: key.to_owned() })
}
