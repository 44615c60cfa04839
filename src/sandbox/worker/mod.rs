//! The worker's whole life: it shuts itself in, waits for a script, runs it, says how that went, and ends.

mod branches;
mod functions;
pub(super) mod jail;
mod line;
mod link;
mod script;
mod wrapped;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::process::Pid;
use starlark::environment::{Globals, GlobalsBuilder};

use super::ending::Exit;
use super::heap;
use super::message::{Job, ToWorker, receive};
use link::Link;

/// The parser, and whatever walks over a value, recurse; only touched pages cost.
const STACK: usize = 64 << 20;

/// All that a worker needs before it has a script.
pub(super) struct Ready(Globals);

impl Ready {
    /// `builtins` is what scripts can use beside their tools.
    pub(super) fn new(builtins: fn() -> GlobalsBuilder) -> Self {
        let mut builder = builtins();
        functions::register(&mut builder);
        let globals = builder.build();
        script::warm_up(&globals);
        Ready(globals)
    }

    /// Lives as a worker that `parent` made, with this pipe.
    pub(super) fn live(self, pipe: File, parent: Pid) -> ! {
        // Whoever listens at the pipe learns that it is closed.
        let _ = self.work(pipe, parent);
        Exit::Parent.now()
    }

    fn work(self, pipe: File, parent: Pid) -> io::Result<()> {
        jail::shut_in(&pipe, parent)?;
        let pipe = Arc::new(pipe);
        let link = Arc::new(Link::new(Arc::clone(&pipe)));
        let (jobs, receiver) = channel();
        let (ready, is_ready) = channel();
        let own = Arc::clone(&link);
        std::thread::Builder::new().stack_size(STACK).spawn(move || work(&receiver, &self.0, &own, &ready))?;
        // A thread needs more of the system to begin than to go on.
        is_ready.recv().map_err(io::Error::other)?;
        jail::shut();
        listen(&pipe, &link, |job| jobs.send(job).is_ok())
    }
}

fn work(jobs: &Receiver<Box<Job>>, globals: &Globals, link: &Arc<Link>, ready: &Sender<()>) {
    // Who waits for it cannot have gone.
    let _ = ready.send(());
    let Ok(job) = jobs.recv() else { Exit::Parent.now() };
    heap::limit(job.memory);
    let last = script::run(&job, globals, link);
    link.finish(last, job.output);
}

/// Hands on what the parent says until it is gone; a script that still computes then is of no use to anybody.
fn listen(pipe: &File, link: &Link, start: impl Fn(Box<Job>) -> bool) -> io::Result<()> {
    loop {
        match receive(pipe) {
            Ok(Some(ToWorker::Job(job))) => {
                if !start(job) {
                    Exit::Parent.now();
                }
            }
            Ok(Some(ToWorker::Answer { at, value })) => link.answered(at, value),
            _ => Exit::Parent.now(),
        }
    }
}
