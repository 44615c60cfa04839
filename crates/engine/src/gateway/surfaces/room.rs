//! Limits the surfaces in memory. Clients choose their own names, and a script that reads `client()` needs a surface for
//! each name.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::slot::SurfaceSlot;
use crate::surface::Surface;
use proxy_model::Owner;

/// Maximum size of all surfaces.
const MAX_BYTES: usize = 256 << 20;
/// Maximum number of surfaces for one person. Anonymous clients count as one.
const MAX_PER_PERSON: usize = 32;

/// Takes the least recently used surfaces that no request holds out of their slots, until the others are within the
/// limits. Returns them, so that they are dropped where no lock is held.
pub(super) fn make<'a>(slots: impl Iterator<Item = &'a Arc<SurfaceSlot>>) -> Vec<Arc<Surface>> {
    let built = slots.filter_map(|slot| slot.size().map(|(last_used, bytes)| (last_used, bytes, slot)));
    let mut built: Vec<(Instant, usize, &Arc<SurfaceSlot>)> = built.collect();
    let mut bytes: usize = built.iter().map(|(_, bytes, _)| bytes).sum();
    let mut of_persons: HashMap<&Owner, usize> = HashMap::new();
    for person in built.iter().filter_map(|(.., slot)| slot.person.as_ref()) {
        *of_persons.entry(person).or_default() += 1;
    }
    if bytes <= MAX_BYTES && of_persons.values().all(|count| *count <= MAX_PER_PERSON) {
        return Vec::new();
    }
    built.sort_by_key(|(last_used, ..)| *last_used);
    let mut taken = Vec::new();
    for (_, size, slot) in built {
        let of_person = slot.person.as_ref().and_then(|person| of_persons.get_mut(person));
        let is_beyond = bytes > MAX_BYTES || of_person.as_ref().is_some_and(|count| **count > MAX_PER_PERSON);
        if is_beyond && let Some(surface) = slot.take_unheld() {
            bytes -= size;
            if let Some(count) = of_person {
                *count -= 1;
            }
            taken.push(surface);
        }
    }
    taken
}
