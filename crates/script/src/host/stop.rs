//! Why a run is stopped from outside of the script.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client cancelled the request, or disconnected.
    Cancelled,
    /// The deadline of the call has passed.
    Deadline,
    /// A person has to answer a question first. The handler runs again with the answer.
    Input,
}

impl Stop {
    pub fn as_str(self) -> &'static str {
        match self {
            Stop::Cancelled => "the call was cancelled",
            Stop::Deadline => "the call's deadline has passed",
            Stop::Input => "the call waits for an answer",
        }
    }
}
