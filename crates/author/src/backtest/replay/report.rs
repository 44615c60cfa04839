//! What a backtest has found.

use serde_json::{Value, json};

use super::compare::BacktestVerdict;
use crate::backtest::recording::CallLine;

/// All calls, and those that end differently.
#[derive(Debug, Default)]
pub struct BacktestReport {
    pub calls: usize,
    pub same: usize,
    /// In the order in which the calls began.
    pub differences: Vec<BacktestDifference>,
    /// How many calls read values that earlier calls may have stored. The store of a backtest starts empty.
    pub state_dependent: usize,
}

/// A call that ends differently, or cannot be compared.
#[derive(Debug)]
pub struct BacktestDifference {
    pub id: String,
    pub at: String,
    pub method: String,
    pub name: String,
    pub user: String,
    pub verdict: BacktestVerdict,
    /// Whether the script read values that earlier calls may have stored.
    pub reads_state: bool,
}

impl BacktestReport {
    pub(super) fn add(&mut self, call: &CallLine, verdict: BacktestVerdict, reads_state: bool) {
        self.calls += 1;
        self.state_dependent += usize::from(reads_state);
        if matches!(verdict, BacktestVerdict::Same) {
            self.same += 1;
            return;
        }
        self.differences.push(BacktestDifference {
            id: call.id.clone(),
            at: call.at.clone(),
            method: call.method.clone(),
            name: call.name.clone(),
            user: call.user.sub.clone(),
            verdict,
            reads_state,
        });
    }

    /// Whether every call that could be compared ends as before.
    pub fn is_same(&self) -> bool {
        self.differences.iter().all(|difference| matches!(difference.verdict, BacktestVerdict::Skipped { .. }))
    }

    /// How many calls have each verdict that occurs, in the order of [`BacktestVerdict::WORDS`].
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        let count = |word: &str| self.differences.iter().filter(|one| one.verdict.word() == word).count();
        BacktestVerdict::WORDS.into_iter().map(|word| (word, count(word))).filter(|(_, count)| *count > 0).collect()
    }

    /// Where calls are refused that were not, each place once.
    pub fn places(&self) -> Vec<&str> {
        let mut places: Vec<&str> = Vec::new();
        for difference in &self.differences {
            if let BacktestVerdict::Refused { at: Some(at), .. } = &difference.verdict
                && !places.contains(&at.as_str())
            {
                places.push(at);
            }
        }
        places
    }

    /// How many calls are refused at those places. Others are refused elsewhere: an item is not published any more.
    pub fn refused_at_places(&self) -> usize {
        self.differences.iter().filter(|difference| difference.verdict.place().is_some()).count()
    }

    pub fn to_json(&self) -> Value {
        let differences = self.differences.iter().map(|difference| {
            json!({
                "id": difference.id,
                "at": difference.at,
                "method": difference.method,
                "name": difference.name,
                "user": difference.user,
                "verdict": difference.verdict.word(),
                "place": difference.verdict.place(),
                "why": difference.verdict.why(),
                "dependsOnState": difference.reads_state,
            })
        });
        json!({
            "calls": self.calls,
            "same": self.same,
            "counts": self.counts().into_iter().map(|(word, count)| (word.to_owned(), json!(count)))
                .collect::<serde_json::Map<_, _>>(),
            "dependOnState": self.state_dependent,
            "differences": differences.collect::<Vec<_>>(),
        })
    }
}
