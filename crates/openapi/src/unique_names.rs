//! Names that are told apart by numbers.

use std::collections::{HashMap, HashSet};

/// The bytes at the end of a long name that a number may take.
const SUFFIX: usize = 6;

#[derive(Debug, Default)]
pub(crate) struct UniqueNames {
    taken: HashSet<String>,
    /// Where the search for a free number goes on, by the beginning of the name. Without it, a description that repeats a
    /// name ten thousand times would be searched ten thousand times from the start.
    next: HashMap<String, usize>,
}

impl UniqueNames {
    /// Takes a name that must stay as it is.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// This name, which must be ASCII, or one that begins like it, of at most `max` bytes. Nothing else gets it.
    pub(crate) fn unique(&mut self, name: &str, max: usize) -> String {
        let stem = &name[..name.len().min(max)];
        let mut free = stem.to_owned();
        if self.taken.contains(&free) {
            let beginning = &stem[..stem.len().min(max - SUFFIX)];
            let number = self.next.entry(beginning.to_owned()).or_insert(2);
            while self.taken.contains(&free) {
                let suffix = format!("_{number}");
                free = format!("{}{suffix}", &stem[..stem.len().min(max - suffix.len())]);
                *number += 1;
            }
        }
        self.taken.insert(free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_gets_a_number() {
        let mut names = UniqueNames::default();
        names.reserve("a_2");
        let made: Vec<String> = (0..3).map(|_| names.unique("a", 64)).collect();
        assert_eq!(made, ["a", "a_3", "a_4"]);
        assert_eq!(names.unique("a_2", 64), "a_2_2");
        let long = "b".repeat(70);
        assert_eq!(names.unique(&long, 64), "b".repeat(64));
        assert_eq!(names.unique(&long, 64), format!("{}_2", "b".repeat(62)));
    }

    #[test]
    fn the_same_name_again_and_again_is_not_searched_from_the_start() {
        let mut names = UniqueNames::default();
        for number in 0..50_000 {
            // Names that differ only behind what a number replaces.
            let name = format!("{}{:06}", "x".repeat(58), number % 5000);
            assert!(names.unique(&name, 64).len() <= 64);
            names.unique("same", 64);
        }
        assert_eq!(names.unique("same", 64), "same_50001");
    }
}
