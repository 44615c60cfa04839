//! Counts the unanswered requests of a server.

use std::sync::Arc;

use tokio::sync::watch;

/// The questions of one connection. Clones count together.
#[derive(Clone, Debug, Default)]
pub(super) struct QuestionCount(Arc<watch::Sender<Questions>>);

#[derive(Debug, Default)]
struct Questions {
    open: usize,
    total: usize,
}

/// A question without an answer. It counts until this is dropped.
#[derive(Debug)]
pub(super) struct CountedQuestion(QuestionCount);

impl QuestionCount {
    pub(super) fn open(&self) -> usize {
        self.0.borrow().open
    }

    pub(super) fn add(&self) -> CountedQuestion {
        self.0.send_modify(|questions| {
            questions.open += 1;
            questions.total += 1;
        });
        CountedQuestion(self.clone())
    }

    /// Completes when every question has an answer, with the number of questions. Further ones may come meanwhile.
    pub(super) async fn all_answered(&self) -> usize {
        let mut questions = self.0.subscribe();
        questions.wait_for(|questions| questions.open == 0).await.map_or(0, |questions| questions.total)
    }
}

impl Drop for CountedQuestion {
    fn drop(&mut self) {
        self.0.0.send_modify(|questions| questions.open -= 1);
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
        assert_eq!(answered.await, 2);
    }
}
