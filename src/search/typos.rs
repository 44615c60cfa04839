//! Words of the index near to one that is not in it.

use strsim::osa_distance;

/// A shorter word is near to too many.
const SHORTEST: usize = 4;

/// From this length on two mistakes are forgiven, if they leave the words with one key in common.
const LONG: usize = 8;

/// Every word under itself and under what remains when one letter is left out: whatever is one mistake away shares one
/// of them.
pub(super) struct Misspelt {
    /// By hash.
    keys: Vec<(u32, u32)>,
}

impl Misspelt {
    pub(super) fn new<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut keys = Vec::new();
        for (number, word) in words.enumerate() {
            if is_plain(word) {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                each_key(word, |key| keys.push((key, number)));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        Misspelt { keys }
    }

    /// The numbers of the nearest words, nearest only.
    pub(super) fn near<'a>(&self, word: &str, text: impl Fn(u32) -> &'a str) -> Vec<u32> {
        if !is_plain(word) {
            return Vec::new();
        }
        let allowed = if word.len() >= LONG { 2 } else { 1 };
        let mut found: Vec<(usize, u32)> = Vec::new();
        each_key(word, |key| {
            let from = self.keys.partition_point(|(known, _)| *known < key);
            for (_, number) in self.keys[from..].iter().take_while(|(known, _)| *known == key) {
                if found.iter().all(|(_, known)| known != number) {
                    let distance = osa_distance(word, text(*number));
                    if distance <= allowed {
                        found.push((distance, *number));
                    }
                }
            }
        });
        let nearest = found.iter().map(|(distance, _)| *distance).min();
        let mut near: Vec<u32> =
            found.into_iter().filter(|(distance, _)| Some(*distance) == nearest).map(|(_, number)| number).collect();
        near.sort_unstable();
        near
    }
}

fn is_plain(word: &str) -> bool {
    word.len() >= SHORTEST && word.len() <= 32 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn each_key(word: &str, mut take: impl FnMut(u32)) {
    take(hash(word.bytes()));
    for left_out in 0..word.len() {
        let rest = word.bytes().enumerate().filter(|(at, _)| *at != left_out).map(|(_, byte)| byte);
        take(hash(rest));
    }
}

/// FNV-1a: what collides is told apart by its distance.
fn hash(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_mistake_is_near_to_the_right_one() {
        let words = ["weather", "whether", "repositori", "issu", "list"];
        let misspelt = Misspelt::new(words.into_iter());
        let near = |word| -> Vec<&str> {
            misspelt.near(word, |number| words[number as usize]).into_iter().map(|at| words[at as usize]).collect()
        };
        assert_eq!(near("weahter"), ["weather"]);
        assert_eq!(near("wether"), ["weather", "whether"]);
        assert_eq!(near("repositri"), ["repositori"]);
        assert_eq!(near("isus"), ["issu"]);
        assert!(near("lis").is_empty());
        assert!(near("quux").is_empty());
        assert!(near("größe").is_empty());
    }
}
