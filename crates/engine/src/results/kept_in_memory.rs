//! The kept results in the memory of this process. The oldest ones make room: those of the same owner first.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::kept_result::KeptResult;
use proxy_model::Owner;

/// The maximum size of one result.
pub(super) const MAX_RESULT: usize = 16 << 20;
/// The maximum size of all results of one owner.
pub(super) const MAX_OWNER: usize = 16 << 20;

#[derive(Debug, Default)]
pub(super) struct KeptInMemory(Mutex<Shelf>);

#[derive(Debug, Default)]
struct Shelf {
    results: HashMap<String, Entry>,
    /// The ids in the order of arrival.
    arrivals: BTreeSet<(u64, String)>,
    /// The ids by the time of expiry.
    ends: BTreeSet<(Instant, String)>,
    owners: HashMap<Owner, Share>,
    bytes: usize,
    next: u64,
}

#[derive(Debug)]
struct Entry {
    owner: Owner,
    result: Arc<KeptResult>,
    bytes: usize,
    arrival: u64,
    end: Instant,
}

/// What one owner has.
#[derive(Debug, Default)]
struct Share {
    arrivals: BTreeSet<(u64, String)>,
    bytes: usize,
}

impl KeptInMemory {
    /// Keeps a result. False if it is too large.
    pub(super) fn put(&self, owner: &Owner, id: &str, result: Arc<KeptResult>, keep: Duration, most: usize) -> bool {
        let now = Instant::now();
        let bytes = result.bytes();
        if bytes > MAX_RESULT.min(most) {
            return false;
        }
        let mut shelf = self.0.lock();
        shelf.sweep(now);
        shelf.remove(id);
        while !shelf.has_room_for(owner, bytes, most)
            && let Some(oldest) = shelf.oldest_of(owner)
        {
            shelf.remove(&oldest);
        }
        while shelf.bytes + bytes > most
            && let Some(oldest) = shelf.arrivals.first().map(|(_, id)| id.clone())
        {
            shelf.remove(&oldest);
        }
        // A time beyond what the clock can express is as good as a day.
        let end = now.checked_add(keep).unwrap_or(now + Duration::from_secs(24 * 3600));
        let arrival = shelf.next;
        shelf.next += 1;
        shelf.bytes += bytes;
        shelf.arrivals.insert((arrival, id.to_owned()));
        shelf.ends.insert((end, id.to_owned()));
        let share = shelf.owners.entry(owner.clone()).or_default();
        share.bytes += bytes;
        share.arrivals.insert((arrival, id.to_owned()));
        shelf.results.insert(id.to_owned(), Entry { owner: owner.clone(), result, bytes, arrival, end });
        true
    }

    /// The result, if this owner has it.
    pub(super) fn get(&self, owner: &Owner, id: &str) -> Option<Arc<KeptResult>> {
        let mut shelf = self.0.lock();
        shelf.sweep(Instant::now());
        let entry = shelf.results.get(id).filter(|entry| entry.owner == *owner)?;
        Some(Arc::clone(&entry.result))
    }

    /// The size of all kept results.
    pub(super) fn bytes(&self) -> usize {
        let mut shelf = self.0.lock();
        shelf.sweep(Instant::now());
        shelf.bytes
    }
}

impl Shelf {
    fn sweep(&mut self, now: Instant) {
        while let Some((end, id)) = self.ends.first()
            && *end <= now
        {
            let id = id.clone();
            self.remove(&id);
        }
    }

    /// Whether so many bytes more are within the limits of the owner and of the process.
    fn has_room_for(&self, owner: &Owner, bytes: usize, most: usize) -> bool {
        let used = self.owners.get(owner).map_or(0, |share| share.bytes);
        used + bytes <= MAX_OWNER && self.bytes + bytes <= most
    }

    fn oldest_of(&self, owner: &Owner) -> Option<String> {
        self.owners.get(owner)?.arrivals.first().map(|(_, id)| id.clone())
    }

    fn remove(&mut self, id: &str) {
        let Some(entry) = self.results.remove(id) else { return };
        let arrival = (entry.arrival, id.to_owned());
        self.arrivals.remove(&arrival);
        self.ends.remove(&(entry.end, id.to_owned()));
        self.bytes -= entry.bytes;
        if let Some(share) = self.owners.get_mut(&entry.owner) {
            share.bytes -= entry.bytes;
            share.arrivals.remove(&arrival);
            if share.arrivals.is_empty() {
                self.owners.remove(&entry.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::payload::Payload;
    use crate::results::{TextSize, ToolBehind};
    use proxy_model::{Principal, Sid};

    const KEEP: Duration = Duration::from_secs(60);
    const MIB: usize = 1 << 20;

    fn result(bytes: usize) -> Arc<KeptResult> {
        let tool = ToolBehind { name: "t".to_owned(), carrier: None, labels: Vec::new(), allowed_by: None };
        Arc::new(KeptResult::new(tool, Payload::Text("x".repeat(bytes).into()), TextSize::tokens(usize::MAX)))
    }

    fn person(name: &str) -> Owner {
        Owner::Person(Principal::named(name).who.clone())
    }

    #[test]
    fn only_the_owner_gets_a_result_and_only_while_it_is_kept() {
        let kept = KeptInMemory::default();
        assert!(kept.put(&person("ann"), "a", result(10), KEEP, MIB));
        assert!(kept.get(&person("ann"), "a").is_some());
        assert!(kept.get(&person("bob"), "a").is_none());
        assert!(kept.get(&Owner::Session(Sid::numbered(1)), "a").is_none());
        assert!(kept.put(&person("ann"), "b", result(10), Duration::ZERO, MIB));
        assert!(kept.get(&person("ann"), "b").is_none(), "expired");
        kept.0.lock().remove("a");
        assert!(kept.get(&person("ann"), "a").is_none());
        assert_eq!(kept.bytes(), 0);
        assert!(kept.0.lock().owners.is_empty() && kept.0.lock().ends.is_empty());
    }

    #[test]
    fn the_oldest_of_the_owner_make_room_then_the_oldest_of_all() {
        let kept = KeptInMemory::default();
        let most = 64 * MIB;
        assert!(!kept.put(&person("ann"), "whole", result(MAX_RESULT), KEEP, most), "too large with its overhead");
        for number in 0..20 {
            assert!(kept.put(&person("ann"), &format!("a{number}"), result(MIB), KEEP, most));
        }
        assert!(kept.get(&person("ann"), "a4").is_none());
        assert!(kept.get(&person("ann"), "a5").is_some());
        assert!(kept.bytes() <= MAX_OWNER);
        for owner in ["bob", "cem", "dan", "eve"] {
            for number in 0..15 {
                assert!(kept.put(&person(owner), &format!("{owner}{number}"), result(MIB), KEEP, most));
            }
        }
        assert!(kept.bytes() <= most && kept.bytes() > most - 2 * MIB, "{}", kept.bytes());
        let has = |owner: &str, id: &str| kept.get(&person(owner), id).is_some();
        assert!(has("eve", "eve14") && !has("eve", "eve0") && has("ann", "a5"), "her own made room");
        assert!(kept.put(&person("fay"), "f", result(MIB), KEEP, most));
        assert!(has("fay", "f") && !has("ann", "a5") && has("ann", "a6"), "she had none");
        assert!(!kept.put(&person("ann"), "x", result(2 * MIB), KEEP, MIB), "more than the process may keep");
    }
}
