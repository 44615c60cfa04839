//! The script's only way out: questions to the parent, and what it prints.

use std::collections::HashMap;
use std::fs::File;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::branches;
use crate::json::Raw;
use crate::sandbox::ending::Exit;
use crate::sandbox::message::{Done, ToParent, send};

pub(super) struct Link {
    pipe: Arc<File>,
    /// Answers as they come.
    sender: Sender<(String, Raw)>,
    receiver: Mutex<Receiver<(String, Raw)>>,
    /// Answers that came for another branch than the one that looked.
    kept: Mutex<HashMap<String, Raw>>,
    printed: Mutex<Printed>,
}

#[derive(Default)]
struct Printed {
    text: String,
    /// Its length as JSON.
    length: u64,
    limit: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    pub(super) fn new(pipe: Arc<File>) -> Self {
        let (sender, receiver) = channel();
        let receiver = Mutex::new(receiver);
        Link { pipe, sender, receiver, kept: Mutex::default(), printed: Mutex::default() }
    }

    pub(super) fn answered(&self, at: String, value: Raw) {
        // The script's thread is there as long as the process.
        let _ = self.sender.send((at, value));
    }

    /// Asks the parent, and waits; other branches go on meanwhile.
    pub(super) fn ask(&self, at: &str, question: &ToParent) -> Raw {
        self.send(question);
        loop {
            if let Some(value) = lock(&self.kept).remove(at) {
                return value;
            }
            self.pause();
        }
    }

    /// Lets the others go on; with no others, waits for an answer to anybody.
    pub(super) fn pause(&self) {
        if branches::suspend() {
            return;
        }
        match lock(&self.receiver).recv() {
            Ok((at, value)) => lock(&self.kept).insert(at, value),
            Err(_) => Exit::Parent.now(),
        };
    }

    pub(super) fn limit_output(&self, limit: u64) {
        lock(&self.printed).limit = limit;
    }

    pub(super) fn print(&self, line: &str) {
        let mut printed = lock(&self.printed);
        printed.length += crate::json::quote(line).len() as u64;
        if printed.length > printed.limit {
            Exit::Output.now();
        }
        printed.text.push_str(line);
        printed.text.push('\n');
    }

    /// The script's last word, and the end of this process.
    pub(super) fn finish(&self, mut done: Done, limit: u64) -> ! {
        let printed = std::mem::take(&mut *lock(&self.printed));
        let returned = done.outcome.as_ref().map_or(0, |value| value.get().len() as u64);
        if returned + printed.length > limit {
            Exit::Output.now();
        }
        done.printed = printed.text;
        self.send(&ToParent::Done(done));
        // The parent ends the process when it has heard enough; until then it may still read.
        loop {
            std::thread::park();
        }
    }

    /// Tells the parent something that needs no answer.
    pub(super) fn send(&self, message: &ToParent) {
        if send(&*self.pipe, message).is_err() {
            Exit::Parent.now();
        }
    }
}
