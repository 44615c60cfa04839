//! Many thousands of mixed calls while servers are killed, answer late and clients go away: every call ends with exactly
//! one answer, and nothing is left behind. `SOAK_CALLS` says how many; 100000 is the full measure.

mod chaos;
pub mod measure;
mod pipe_client;
mod plan;
mod tally;
mod turns;
mod web_clients;
mod world;

use std::io::Write;
use std::time::Instant;

use futures::future::join;
use tokio_util::sync::CancellationToken;

use crate::support::proxy::{HttpProxy, StdioProxy};
use crate::support::random::{Random, Seed};
use measure::Measure;
use pipe_client::PipeClient;
use plan::Plan;
use tally::Tally;
use world::World;

/// What fits into an ordinary run of the tests.
const CALLS: usize = 10_000;

/// How much bigger a proxy may be at the end than after a fifth of the calls: more would be a leak. Connections that wait
/// for their next call are files, too.
const GROWTH: Measure = Measure { resident_kilobytes: 48 * 1024, files: 5 * world::TURNS, threads: 8 };

struct Fronts {
    pipe: StdioProxy,
    web: HttpProxy,
    seed: u64,
}

impl Fronts {
    /// Most calls go through the pipe, where many are in flight; the others over HTTP, where clients come and go.
    async fn calls(&mut self, calls: usize, part: u64) -> Tally {
        let (over_web, on_pipe) = (calls / 8, calls - calls / 8);
        let plan = Plan::new(Random::new(self.seed, part), part * 1_000_000_000);
        let pipe = PipeClient::new(&mut self.pipe.client, plan).make(on_pipe);
        let (first, second) = join(pipe, web_clients::make(&self.web, over_web, self.seed, part)).await;
        first.and(second)
    }

    fn measure(&self) -> [Measure; 2] {
        [self.pipe.client.program.id(), self.web.program.id()].map(Measure::of)
    }
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn whatever_happens_every_call_ends_with_one_answer_and_nothing_is_left_behind() {
    let seed = Seed::take();
    let calls = std::env::var("SOAK_CALLS").map_or(CALLS, |text| text.parse().expect("SOAK_CALLS is a number"));
    let (world, webs) = World::start().await;
    let (pipe, web) = world.serve().await;
    let began = Instant::now();
    let mut fronts = Fronts { pipe, web, seed: seed.0 };

    let stop = CancellationToken::new();
    let calling = async {
        let first = fronts.calls(calls / 5, 1).await;
        let before = fronts.measure();
        let rest = fronts.calls(calls - calls / 5, 2).await;
        stop.cancel();
        (first.and(rest), before)
    };
    let disturbing = chaos::disturb(webs, &world.name, Random::new(seed.0, 3), &stop);
    let ((tally, before), (webs, deaths)) = join(calling, disturbing).await;
    let seconds = began.elapsed().as_secs_f64();

    turns::all_are_free_on_pipe(&mut fronts.pipe).await;
    turns::all_are_free_over_http(&fronts.web).await;
    let after = fronts.measure();
    let _ = writeln!(
        std::io::stderr(),
        "soak: {calls} calls in {seconds:.0} s, {deaths} servers killed, seed {}\n{tally:?}\nbefore {before:?}\nafter {after:?}",
        seed.0
    );
    assert_eq!(tally.calls, calls);
    tally.check();
    assert!(deaths > 0, "no server was killed");
    for (before, after) in before.iter().zip(&after) {
        assert!(after.exceeds(before, &GROWTH).is_none(), "{:?}", after.exceeds(before, &GROWTH));
    }

    assert!(fronts.pipe.client.finish().await.success());
    fronts.web.program.terminate();
    fronts.web.program.exit().await;
    drop(webs);
    world.nobody_is_left().await;
}
