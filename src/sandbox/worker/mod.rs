//! The worker's whole life: it shuts itself in, waits for a script, runs it, says how that went, and ends.

mod branches;
mod functions;
mod jail;
mod line;
mod link;
mod script;
mod wrapped;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use starlark::environment::{Globals, GlobalsBuilder};

use super::ending::Exit;
use super::heap;
use super::message::{Job, ToWorker, receive};
use link::Link;

pub(super) use jail::NICENESS;

/// The parser, and whatever walks over a value, recurse; only touched pages cost.
const STACK: usize = 64 << 20;

/// Runs this process as a worker. `builtins` is what its scripts can use beside their tools: nothing of it may act on
/// anything outside of the script.
pub fn run(builtins: fn() -> GlobalsBuilder) -> io::Result<()> {
    std::panic::set_hook(Box::new(|_| {}));
    let pipe = Arc::new(jail::prepare()?);
    let link = Arc::new(Link::new(Arc::clone(&pipe)));
    let (jobs, receiver) = channel();
    let own = Arc::clone(&link);
    let (ready, is_ready) = channel();
    std::thread::Builder::new().stack_size(STACK).spawn(move || work(&receiver, builtins, &own, &ready))?;
    // A thread needs more of the system to begin than to go on.
    is_ready.recv().map_err(io::Error::other)?;
    jail::shut();
    listen(&pipe, &link, |job| jobs.send(job).is_ok())
}

fn work(jobs: &Receiver<Box<Job>>, builtins: fn() -> GlobalsBuilder, link: &Arc<Link>, ready: &Sender<()>) {
    let mut builder = builtins();
    functions::register(&mut builder);
    let globals: Globals = builder.build();
    script::warm_up(&globals, link);
    // Who waits for it cannot have gone.
    let _ = ready.send(());
    let Ok(job) = jobs.recv() else { Exit::Parent.now() };
    heap::limit(job.memory);
    let last = script::run(&job, &globals, link);
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
