//! Kills servers at random moments, and starts those again that no proxy starts.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::measure::processes_named;
use super::world::Web;
use crate::support::program::is_alive;
use crate::support::random::Random;

/// Until it is stopped. Then all servers over HTTP are there again; also how many servers were killed.
pub async fn disturb(
    mut webs: [Web; 2],
    name: &str,
    mut random: Random,
    stop: &CancellationToken,
) -> ([Web; 2], usize) {
    let (mut deaths, mut next) = (0, Instant::now() + pause(&mut random));
    loop {
        let last = stop.is_cancelled();
        for web in &mut webs {
            if !is_alive(web.program.id()) {
                // It is away for a while.
                tokio::time::sleep(Duration::from_millis(random.below(200))).await;
                web.restart().await;
            }
        }
        if last {
            return (webs, deaths);
        }
        if Instant::now() > next {
            // Any of them: on a pipe of one of the proxies, or over HTTP.
            let processes = processes_named(name);
            if !processes.is_empty() {
                kill(*random.pick(&processes));
                deaths += 1;
            }
            next = Instant::now() + pause(&mut random);
        }
        // The death of a process is only visible by looking.
        let _ = tokio::time::timeout(Duration::from_millis(20), stop.cancelled()).await;
    }
}

fn pause(random: &mut Random) -> Duration {
    Duration::from_millis(200 + random.below(1300))
}

fn kill(process: u32) {
    if let Ok(raw) = i32::try_from(process)
        && let Some(process) = rustix::process::Pid::from_raw(raw)
    {
        // It may have crashed by itself just now.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    }
}
