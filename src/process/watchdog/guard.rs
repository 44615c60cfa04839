//! The watchdog's whole life: remembers groups until its line ends, then ends them.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::line::{self, Event, Receiver};
use super::ward::Ward;
use crate::process::tree;

/// How often the families are looked at: each look reads all of `/proc`.
const PERIOD: Duration = Duration::from_secs(5);
/// How long the first server gets to start what it starts, before the first look.
const FIRST: Duration = Duration::from_secs(1);
/// How long servers get between being asked to end and being killed.
const PATIENCE: Duration = Duration::from_millis(300);

pub fn run() -> io::Result<()> {
    // Out of the terminal's reach: Ctrl-C is for the proxy, which needs us to outlive it.
    let _ = rustix::process::setsid();
    let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut wards = Wards { known: HashMap::new(), looked: None, due: Instant::now() };
    if wards.keep(&mut Receiver::new(line)) == End::Killed {
        wards.end();
    }
    Ok(())
}

#[derive(PartialEq, Eq)]
enum End {
    /// The proxy said that there is nothing left to do. Numbers that are left are of programs that never started.
    Orderly,
    Killed,
}

struct Wards {
    known: HashMap<Pid, Ward>,
    looked: Option<Instant>,
    due: Instant,
}

impl Wards {
    fn keep(&mut self, receiver: &mut Receiver) -> End {
        loop {
            // With nobody to look after it sleeps until somebody comes.
            let wait = (!self.known.is_empty()).then(|| self.due.saturating_duration_since(Instant::now()));
            match receiver.next(wait) {
                Event::Record(line::END) => return End::Orderly,
                Event::Record(number) => self.take(number),
                Event::Quiet => {}
                Event::Closed => return End::Killed,
            }
            if !self.known.is_empty() && self.due <= Instant::now() {
                self.look();
            }
        }
    }

    fn take(&mut self, number: i32) {
        let Some(id) = Pid::from_raw(number.saturating_abs()) else { return };
        if number < 0 {
            self.known.remove(&id);
            return;
        }
        if self.known.is_empty() {
            let first = Instant::now() + FIRST;
            self.due = self.looked.map_or(first, |looked| first.max(looked + PERIOD));
        }
        self.known.insert(id, Ward::new(id));
    }

    fn look(&mut self) {
        let all = tree::processes();
        self.known.retain(|_, ward| ward.refresh(&all));
        let now = Instant::now();
        (self.looked, self.due) = (Some(now), now + PERIOD);
    }

    fn end(&mut self) {
        self.look();
        if self.known.is_empty() {
            return;
        }
        for (signal, pause) in [(Signal::TERM, PATIENCE), (Signal::KILL, Duration::ZERO)] {
            self.known.values().for_each(|ward| ward.signal(signal));
            std::thread::sleep(pause);
        }
    }
}
