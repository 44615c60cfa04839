//! Typo tolerance: finds the words of an index that are close to an unknown word.

use strsim::osa_distance;

/// Minimum length: shorter words are close to too many others.
const MIN_LENGTH: usize = 4;

/// From this length on two edits are tolerated, if the words still have a key in common.
const LONG_WORD: usize = 8;

/// Indexes every word by itself and by each variant with one letter deleted. Two words that differ by one edit share at
/// least one of these keys.
pub(crate) struct TypoIndex {
    /// Hash of the key and number of the word, sorted.
    keys: Vec<(u32, u32)>,
}

impl TypoIndex {
    pub(crate) fn new<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut keys = Vec::new();
        for (number, word) in words.enumerate() {
            if is_plain(word) {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                each_key(word, |key| keys.push((key, number)));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        TypoIndex { keys }
    }

    /// The numbers of the words with the smallest edit distance.
    pub(crate) fn nearest<'a>(&self, word: &str, text: impl Fn(u32) -> &'a str) -> Vec<u32> {
        if !is_plain(word) {
            return Vec::new();
        }
        let allowed = if word.len() >= LONG_WORD { 2 } else { 1 };
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
        let mut nearest: Vec<u32> =
            found.into_iter().filter(|(distance, _)| Some(*distance) == nearest).map(|(_, number)| number).collect();
        nearest.sort_unstable();
        nearest
    }
}

fn is_plain(word: &str) -> bool {
    word.len() >= MIN_LENGTH && word.len() <= 32 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn each_key(word: &str, mut take: impl FnMut(u32)) {
    take(hash(word.bytes()));
    for left_out in 0..word.len() {
        let rest = word.bytes().enumerate().filter(|(at, _)| *at != left_out).map(|(_, byte)| byte);
        take(hash(rest));
    }
}

/// FNV-1a. Collisions are harmless, because the edit distance is checked afterwards.
fn hash(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_mistake_is_near_to_the_right_one() {
        let words = ["weather", "whether", "repositori", "issu", "list"];
        let misspelt = TypoIndex::new(words.into_iter());
        let nearest = |word| -> Vec<&str> {
            misspelt.nearest(word, |number| words[number as usize]).into_iter().map(|at| words[at as usize]).collect()
        };
        assert_eq!(nearest("weahter"), ["weather"]);
        assert_eq!(nearest("wether"), ["weather", "whether"]);
        assert_eq!(nearest("repositri"), ["repositori"]);
        assert_eq!(nearest("isus"), ["issu"]);
        assert!(nearest("lis").is_empty());
        assert!(nearest("quux").is_empty());
        assert!(nearest("größe").is_empty());
    }
}
