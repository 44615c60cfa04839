//! The sandboxed process: it gives up its privileges, waits for a script, runs it, sends the result, and ends.

mod channel;
mod functions;
pub(super) mod jail;
#[cfg(target_os = "linux")]
pub(super) mod kernel;
mod positions;
mod script;
mod world;
mod wrap;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::process::Pid;
use starlark::environment::{Globals, GlobalsBuilder};

use super::jail_state::JailState;
use super::protocol::{ScriptJob, ToWorker, WorkerExit, receive_blocking};
use channel::ParentChannel;
use proxy_base::memory;

/// The stack of the script's thread. The parser, and everything that walks over a value, recurses; untouched pages are
/// free.
const SCRIPT_STACK: usize = 64 << 20;

/// Everything that a worker prepares before it has a script. The zygote prepares it once for all workers.
pub(super) struct WarmWorker {
    globals: Globals,
    /// Whether the zygote, and so each worker, is denied files and the network.
    pub(super) has_landlock: bool,
}

impl WarmWorker {
    /// `builtins` makes the built-ins of scripts beside their tools.
    pub(super) fn new(builtins: fn() -> GlobalsBuilder) -> Self {
        let mut builder = builtins();
        functions::register(&mut builder);
        let globals = builder.build();
        script::warm_up(&globals);
        WarmWorker { globals, has_landlock: false }
    }

    /// Runs this process, which `zygote` has forked, as a worker that is connected to the proxy by `socket`.
    pub(super) fn run(self, socket: File, zygote: Pid) -> ! {
        // The proxy sees the error as a closed connection.
        let _ = self.serve(socket, zygote);
        WorkerExit::Parent.now()
    }

    fn serve(self, socket: File, zygote: Pid) -> io::Result<()> {
        jail::restrict_worker(&socket, zygote)?;
        let socket = Arc::new(socket);
        let parent = Arc::new(ParentChannel::new(Arc::clone(&socket)));
        let (jobs, receiver) = channel();
        let (ready, is_ready) = channel();
        let (of_script, landlock) = (Arc::clone(&parent), self.has_landlock);
        std::thread::Builder::new()
            .stack_size(SCRIPT_STACK)
            .spawn(move || run_job(&receiver, &self.globals, &of_script, &ready))?;
        // Starting a thread needs system calls that the filter refuses.
        is_ready.recv().map_err(io::Error::other)?;
        let jail = JailState { landlock, seccomp: jail::filter_system_calls() };
        listen(&socket, &parent, |job| {
            if job.require_jail && !jail.is_complete() {
                WorkerExit::Unconfined.now();
            }
            jobs.send(job).is_ok()
        })
    }
}

/// The script's thread: waits for the job, runs it, and sends the result.
fn run_job(jobs: &Receiver<Box<ScriptJob>>, globals: &Globals, parent: &Arc<ParentChannel>, ready: &Sender<()>) {
    // The receiver waits for this message.
    let _ = ready.send(());
    let Ok(job) = jobs.recv() else { WorkerExit::Parent.now() };
    memory::limit(job.memory_limit, || WorkerExit::Memory.now());
    let result = script::run(&job, globals, parent);
    parent.finish(result, job.output_limit);
}

/// Passes on what the proxy sends. Ends the process when the proxy is gone, even if the script still computes.
fn listen(socket: &File, parent: &ParentChannel, start: impl Fn(Box<ScriptJob>) -> bool) -> io::Result<()> {
    loop {
        match receive_blocking(socket) {
            Ok(Some(ToWorker::Run(job))) => {
                if !start(job) {
                    WorkerExit::Parent.now();
                }
            }
            Ok(Some(ToWorker::Answer { at, value })) => parent.answer(&at, value),
            _ => WorkerExit::Parent.now(),
        }
    }
}
