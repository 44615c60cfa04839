//! Marks that say whose a message is, and the count of what was heard.

use crate::support::message::Message;

#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub progress: usize,
    pub logs: usize,
    pub questions: usize,
    pub results: usize,
    pub cancelled: usize,
    pub resumed: usize,
}

impl Tally {
    pub fn and(self, other: Self) -> Self {
        Self {
            progress: self.progress + other.progress,
            logs: self.logs + other.logs,
            questions: self.questions + other.questions,
            results: self.results + other.results,
            cancelled: self.cancelled + other.cancelled,
            resumed: self.resumed + other.resumed,
        }
    }
}

/// The mark of a client: found in a text by its shape alone.
pub fn mark(number: usize) -> String {
    format!("~{number:03}~")
}

fn marks(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices('~').map(|(at, _)| at);
    starts.filter_map(|at| text.get(at..at + 5)).filter(|found| {
        found.ends_with('~') && found.get(1..4).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Fails if anything in this message belongs to somebody else.
#[track_caller]
pub fn check(own: &str, message: &Message) {
    for found in marks(&message.raw) {
        assert_eq!(found, own, "{own} hears what belongs to {found}: {}", message.raw);
    }
}

/// The same for a message that must say whose it is.
#[track_caller]
pub fn check_marked(own: &str, message: &Message) {
    check(own, message);
    assert!(marks(&message.raw).next().is_some(), "{own} hears what is not marked: {}", message.raw);
}

#[test]
fn marks_are_found_wherever_they_are() {
    assert_eq!(marks(r#"{"a":"~001~","b":"x~002~~003~","c":"~no~"}"#).collect::<Vec<_>>(), ["~001~", "~002~", "~003~"]);
}
