//! Where the messages of one request go: the one stdout, or the reply to one POST.

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::message;

#[derive(Debug)]
pub struct Outgoing {
    pub text: String,
    /// Whether this is a response: a reply as plain JSON can carry nothing else.
    pub response: bool,
    /// The HTTP status a modern reply must have, where it is not 200.
    pub status: u16,
    /// Nothing is to be written after this.
    pub end: bool,
}

#[derive(Clone, Debug)]
pub struct Outbox {
    sender: UnboundedSender<Outgoing>,
}

impl Outbox {
    pub fn new() -> (Self, UnboundedReceiver<Outgoing>) {
        let (sender, receiver) = unbounded_channel();
        (Self { sender }, receiver)
    }

    /// Any text, also one that is no message at all.
    pub fn text(&self, text: String) {
        self.push(text, false, 200);
    }

    pub fn notify(&self, method: &str, params: &str) {
        self.push(message::notification(method, params), false, 200);
    }

    pub fn result(&self, id: &str, result: &str) {
        self.push(message::result(id, result), true, 200);
    }

    pub fn refuse(&self, id: &str, refusal: &message::Refusal) {
        self.push(refusal.response(Some(id)), true, refusal.status);
    }

    /// A response given as a whole, well formed or not.
    pub fn response(&self, text: String) {
        self.push(text, true, 200);
    }

    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Everything queued before this is written, nothing after it.
    pub fn end(&self) {
        let _ = self.sender.send(Outgoing { text: String::new(), response: false, status: 200, end: true });
    }

    fn push(&self, text: String, response: bool, status: u16) {
        // The other end may have gone away; a server then has nobody to tell.
        let _ = self.sender.send(Outgoing { text, response, status, end: false });
    }
}
