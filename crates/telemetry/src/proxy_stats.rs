//! Counters that do not belong to single requests: sessions, questions to clients, runs of the session script.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::histogram::{Histogram, HistogramSnapshot, REQUEST_BOUNDS};

/// How a question to a client was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionAction {
    Accept,
    Decline,
    Cancel,
    /// The answer to a request without actions, such as `sampling/createMessage`.
    Answer,
    /// An error, or no answer at all.
    Fail,
}

impl QuestionAction {
    pub const ALL: [Self; 5] = [Self::Accept, Self::Decline, Self::Cancel, Self::Answer, Self::Fail];

    /// The `action` of an answer to `elicitation/create`, if it has one.
    pub fn of(action: Option<&str>) -> Self {
        match action {
            Some("accept") => Self::Accept,
            Some("decline") => Self::Decline,
            Some("cancel") => Self::Cancel,
            _ => Self::Answer,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
            Self::Answer => "answer",
            Self::Fail => "fail",
        }
    }
}

/// The counts of a process that belong to no single request.
#[derive(Debug)]
pub struct ProxyStats {
    sessions: Histogram,
    surface_builds: Histogram,
    questions: [AtomicU64; QuestionAction::ALL.len()],
}

impl Default for ProxyStats {
    fn default() -> Self {
        ProxyStats {
            sessions: Histogram::new(&REQUEST_BOUNDS),
            surface_builds: Histogram::new(&REQUEST_BOUNDS),
            questions: Default::default(),
        }
    }
}

impl ProxyStats {
    /// Notes a run of the session script.
    pub fn surface_built(&self, duration: Duration) {
        self.surface_builds.record(duration);
    }

    /// Notes that a client has answered a question, or did not.
    pub fn question_answered(&self, action: QuestionAction) {
        self.questions[action as usize].fetch_add(1, Relaxed);
    }

    /// The durations of the sessions that are over.
    pub fn sessions(&self) -> HistogramSnapshot {
        self.sessions.snapshot()
    }

    pub fn surface_builds(&self) -> HistogramSnapshot {
        self.surface_builds.snapshot()
    }

    pub fn questions(&self) -> [(QuestionAction, u64); QuestionAction::ALL.len()] {
        QuestionAction::ALL.map(|action| (action, self.questions[action as usize].load(Relaxed)))
    }
}

/// Measures a session, which ends when this is dropped.
#[derive(Debug)]
pub struct SessionTimer {
    stats: Arc<ProxyStats>,
    began: Instant,
}

impl SessionTimer {
    pub fn start(stats: &Arc<ProxyStats>) -> Self {
        SessionTimer { stats: Arc::clone(stats), began: Instant::now() }
    }

    pub fn stats(&self) -> &Arc<ProxyStats> {
        &self.stats
    }
}

impl Drop for SessionTimer {
    fn drop(&mut self) {
        self.stats.sessions.record(self.began.elapsed());
    }
}
