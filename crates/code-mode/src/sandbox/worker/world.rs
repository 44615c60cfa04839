//! What the built-ins of a sandboxed script find in their context. Each branch of the script has a world of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use starlark::eval::Evaluator;
use starlark::values::Value;

use super::channel::ParentChannel;
use super::positions::Positions;
use crate::sandbox::protocol::{MAX_BRANCHES, ToParent, WorkerRequest};
use proxy_json::Raw;
use proxy_script::{BranchOptions, Context, script_error};

/// The stack of a branch. Comparing deeply nested values recurses natively; untouched pages are free, but the address
/// space is limited.
const BRANCH_STACK: usize = 4 << 20;

#[derive(Clone)]
struct SharedWorld {
    parent: Arc<ParentChannel>,
    max_concurrent_branches: usize,
    /// How many branches the script has started so far.
    started_branches: Arc<AtomicUsize>,
}

pub(super) struct BranchWorld {
    shared: SharedWorld,
    positions: Positions,
}

impl BranchWorld {
    /// The world of the script itself.
    pub(super) fn new(parent: Arc<ParentChannel>, max_concurrent_branches: usize) -> Self {
        let shared = SharedWorld { parent, max_concurrent_branches, started_branches: Arc::default() };
        BranchWorld { shared, positions: Positions::default() }
    }

    pub(super) fn of<'a>(eval: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a BranchWorld> {
        Context::of(eval)?.world().ok_or_else(|| script_error("this function works in code-mode scripts only"))
    }

    /// Sends a request to the proxy and waits for the answer; other branches run meanwhile.
    pub(super) fn ask(&self, request: WorkerRequest) -> Raw {
        self.shared.parent.ask(self.positions.next(), request)
    }

    pub(super) fn print(&self, line: &str) {
        self.shared.parent.print(line);
    }

    /// Calls functions as branches, at most `limit` at once; their results in order, or the first error in that order
    /// when all have ended.
    pub(super) fn parallel<'v>(
        &self,
        functions: Vec<Value<'v>>,
        limit: usize,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Vec<Value<'v>>> {
        let context = Context::of(eval)?;
        // The proxy waits for every branch of a fork that it hears of, so a refused one is not sent.
        context.check_nesting("parallel")?;
        self.count_branches(functions.len())?;
        let limit = limit.min(self.shared.max_concurrent_branches);
        let position = self.positions.next();
        let request = WorkerRequest::Fork { count: functions.len(), limit };
        self.shared.parent.send(&ToParent::Request { at: position.clone(), request });
        let worlds: Vec<Arc<BranchWorld>> = (0..functions.len())
            .map(|index| {
                let positions = Positions::of_branch(&position, index);
                Arc::new(BranchWorld { shared: self.shared.clone(), positions })
            })
            .collect();
        let ended = |index: usize| {
            let branch = worlds[index].positions.branch().to_owned();
            self.shared.parent.send(&ToParent::BranchEnded { branch });
        };
        let options = BranchOptions { limit, stack_size: BRANCH_STACK, ended: &ended };
        let calls = functions.into_iter().zip(worlds.iter().map(|world| Arc::clone(world) as _));
        context.parallel_in_worlds("parallel", eval, calls, options)
    }

    /// Counts branches before they start.
    fn count_branches(&self, count: usize) -> starlark::Result<()> {
        // The proxy counts a `parallel` without functions too.
        let count = count.max(1);
        let started = self.shared.started_branches.fetch_add(count, Ordering::Relaxed);
        if started.saturating_add(count) > MAX_BRANCHES {
            let message = format!("a script may start {MAX_BRANCHES} branches of `parallel()` in total");
            return Err(script_error(message));
        }
        Ok(())
    }
}
