//! What became of all calls.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct Tally {
    pub calls: usize,
    /// Answered with what was asked for.
    pub right: usize,
    /// Answered with an error that says why, by its first words.
    pub errors: BTreeMap<String, usize>,
    /// Taken back by their client, and not answered.
    pub cancelled: usize,
    /// Left by their client.
    pub left: usize,
    /// Lost and taken up again.
    pub resumed: usize,
    pub progress: usize,
}

impl Tally {
    pub fn and(mut self, other: Self) -> Self {
        self.calls += other.calls;
        self.right += other.right;
        self.cancelled += other.cancelled;
        self.left += other.left;
        self.resumed += other.resumed;
        self.progress += other.progress;
        for (error, count) in other.errors {
            *self.errors.entry(error).or_default() += count;
        }
        self
    }

    pub fn failed(&mut self, error: &str) {
        let words: Vec<&str> = error.split_whitespace().take(9).collect();
        *self.errors.entry(words.join(" ")).or_default() += 1;
    }

    /// All of it happened, and most calls worked.
    pub fn check(&self) {
        let errors: usize = self.errors.values().sum();
        assert_eq!(self.right + errors + self.cancelled + self.left, self.calls, "{self:?}");
        assert!(self.right * 2 > self.calls, "{self:?}");
        for count in [errors, self.cancelled, self.left, self.resumed, self.progress] {
            assert!(count > 0, "{self:?}");
        }
    }
}
