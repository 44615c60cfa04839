//! Counts the questions of a server that have no answer yet.

use std::sync::Arc;

use tokio::sync::watch;

/// The questions of one connection. Clones count together.
#[derive(Clone, Debug, Default)]
pub(super) struct QuestionCount(Arc<watch::Sender<usize>>);

/// A question without an answer. It counts until this is dropped.
#[derive(Debug)]
pub(super) struct CountedQuestion(QuestionCount);

impl QuestionCount {
    pub(super) fn open(&self) -> usize {
        *self.0.borrow()
    }

    pub(super) fn add(&self) -> CountedQuestion {
        self.0.send_modify(|open| *open += 1);
        CountedQuestion(self.clone())
    }

    /// Completes when every question has an answer. Further questions may come meanwhile.
    pub(super) async fn all_answered(&self) {
        let _ = self.0.subscribe().wait_for(|open| *open == 0).await;
    }
}

impl Drop for CountedQuestion {
    fn drop(&mut self) {
        self.0.0.send_modify(|open| *open -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_for_answers_keeps_nobody_from_asking() {
        let questions = QuestionCount::default();
        let first = questions.add();
        let mut answered = std::pin::pin!(questions.all_answered());
        assert!(futures::poll!(&mut answered).is_pending());
        let second = questions.add();
        assert_eq!(questions.open(), 2);
        drop(first);
        assert!(futures::poll!(&mut answered).is_pending(), "the second has no answer yet");
        drop(second);
        answered.await;
    }
}
