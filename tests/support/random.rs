//! Randomness that can be repeated: the seed is said when a test fails, and `TEST_SEED` brings it back.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// Says the seed if the test fails while it lives.
pub struct Seed(pub u64);

impl Seed {
    /// From the environment, or from the clock.
    pub fn take() -> Self {
        let given = std::env::var("TEST_SEED").ok().map(|text| text.parse().expect("TEST_SEED is a number"));
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros() as u64);
        Self(given.unwrap_or_else(clock))
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "repeat this with TEST_SEED={}", self.0);
        }
    }
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The same seed and number always give the same sequence; other numbers give others.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut random = Self(seed);
        random.0 = random.next() ^ number.wrapping_mul(0xA076_1D64_78BD_642F);
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }
}
