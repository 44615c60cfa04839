//! The store in the memory of this process. All that it holds is bounded, and what is over goes with the next use.

mod values;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, ready};

use super::bucket::Bucket;
use super::clock::{Clock, after};
use super::expiring_map::Shelf;
use super::home::{Home, Outcome};
use super::{Holder, Limit, Space, StoreError, Verdict};
use values::Values;

/// In MiB: what all journals may take together.
const JOURNALS: usize = 64;
/// In MiB: what all buckets may take together.
const BUCKETS: usize = 64;
/// About what a bucket takes beside its name, in bytes.
const WEIGHT_OF_BUCKET: usize = 160;

pub(super) struct Memory {
    clock: Clock,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    buckets: Shelf<String, Bucket>,
    journals: Shelf<String, Vec<u8>>,
    values: Values,
}

impl Memory {
    pub(super) fn new(clock: Clock) -> Self {
        Memory { clock, inner: Mutex::default() }
    }

    fn locked(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Never waits: a future only because other homes do.
    fn done<'a, T: Send + 'a>(&self, act: impl FnOnce(&mut Inner, u64) -> T) -> BoxFuture<'a, T> {
        let now = (self.clock)();
        ready(act(&mut self.locked(), now)).boxed()
    }
}

impl Home for Memory {
    fn name(&self) -> &str {
        "memory://"
    }

    fn take_tokens<'a>(&'a self, limits: &'a [&'a Limit]) -> BoxFuture<'a, Outcome<Verdict>> {
        self.done(|inner, now| inner.take_tokens(limits, now))
    }

    fn put_journal<'a>(&'a self, id: &'a str, content: Vec<u8>, ttl: Duration) -> BoxFuture<'a, Outcome<()>> {
        self.done(|inner, now| inner.put_journal(id, content, ttl, now))
    }

    fn take_journal<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        self.done(|inner, now| {
            inner.journals.sweep(now, |_, _| {});
            Ok(inner.journals.remove(&id.to_owned()))
        })
    }

    fn get<'a>(&'a self, space: &'a Space, key: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        self.done(|inner, now| Ok(inner.values.at(now).get(&owner(space), space.field(key))))
    }

    fn set<'a>(
        &'a self,
        space: &'a Space,
        key: &'a str,
        value: Vec<u8>,
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Outcome<()>> {
        self.done(|inner, now| {
            let end = ttl.map(|ttl| after(now, ttl));
            let result = inner.values.at(now).set(&owner(space), space.field(key), value, end);
            result.map_err(|full| full.of(key))
        })
    }

    fn incr<'a>(
        &'a self,
        space: &'a Space,
        key: &'a str,
        by: i64,
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Outcome<i64>> {
        self.done(|inner, now| {
            let (values, owner, field) = (inner.values.at(now), owner(space), space.field(key));
            let (number, end) = match values.get(&owner, field.clone()) {
                Some(text) => (whole(key, &text)?, values.end(&owner, field.clone())),
                None => (0, ttl.map(|ttl| after(now, ttl))),
            };
            let number = number.checked_add(by).ok_or_else(|| StoreError::OutOfRange { key: key.to_owned() })?;
            let text = number.to_string().into_bytes();
            values.set(&owner, field, text, end).map_err(|full| full.of(key))?;
            Ok(number)
        })
    }

    fn delete<'a>(&'a self, space: &'a Space, key: &'a str) -> BoxFuture<'a, Outcome<bool>> {
        self.done(|inner, now| Ok(inner.values.at(now).delete(&owner(space), space.field(key))))
    }

    fn forget<'a>(&'a self, holder: &'a Holder) -> BoxFuture<'a, Outcome<()>> {
        self.done(|inner, now| {
            inner.values.at(now).forget(&holder.text("").into());
            Ok(())
        })
    }
}

impl Inner {
    fn take_tokens(&mut self, limits: &[&Limit], now: u64) -> Outcome<Verdict> {
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
            return Ok(Verdict::refused(wait));
        }
        let added: usize = buckets.iter().map(|(_, name, _)| weight(name) - self.buckets.weight_of(name)).sum();
        if self.buckets.weight() + added > BUCKETS << 20 {
            return Err(StoreError::Full { what: "rate limits", limit: BUCKETS });
        }
        for (limit, name, bucket) in buckets {
            let bucket = bucket.taken(limit);
            let weight = weight(&name);
            self.buckets.put(name, bucket, Some(bucket.full_at(limit)), weight);
        }
        Ok(Verdict::ALLOWED)
    }

    fn put_journal(&mut self, id: &str, content: Vec<u8>, ttl: Duration, now: u64) -> Outcome<()> {
        self.journals.sweep(now, |_, _| {});
        let id = id.to_owned();
        let weight = content.len() + id.len();
        if self.journals.weight() - self.journals.weight_of(&id) + weight > JOURNALS << 20 {
            return Err(StoreError::Full { what: "the journals of calls that wait for an answer", limit: JOURNALS });
        }
        self.journals.put(id, content, Some(after(now, ttl)), weight);
        Ok(())
    }
}

fn weight(name: &str) -> usize {
    // The name is there twice: with the bucket and in the order of ends.
    2 * name.len() + WEIGHT_OF_BUCKET
}

fn owner(space: &Space) -> Arc<str> {
    space.holder.text("").into()
}

fn whole(key: &str, text: &[u8]) -> Outcome<i64> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| StoreError::NotAWholeNumber { key: key.to_owned() })
}
