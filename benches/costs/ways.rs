//! Several ways to the same tool, whose costs are compared.

use crate::{cpu, http, watched};

/// A way to a tool: the address with the path, the process that is there, and the headers of the client.
#[derive(Clone)]
pub struct Way {
    pub headers: String,
    pub address: String,
    pub pid: u32,
}

/// CPU microseconds of a call on each way; a row for each round. The ways take turns: the machine is faster at one time than
/// at another.
pub async fn costs(ways: &[Way], rounds: usize, calls: usize) -> Vec<Vec<f64>> {
    for way in ways {
        http::drive(&way.headers, &way.address, 32, 2000).await;
    }
    let mut all = Vec::new();
    for _ in 0..rounds {
        let mut round = Vec::new();
        for way in ways {
            let before = cpu::seconds_of_threads(way.pid);
            http::drive(&way.headers, &way.address, 32, calls).await;
            round.push((cpu::seconds_of_threads(way.pid) - before) * 1e6 / calls as f64);
        }
        all.push(round);
    }
    all
}

/// What a call costs more on one way than on another: the median of all rounds.
pub fn over(costs: &[Vec<f64>], what: usize, base: usize) -> f64 {
    watched::middle(costs.iter().map(|round| round[what] - round[base]).collect())
}

/// The same as a ratio.
pub fn ratio(costs: &[Vec<f64>], what: usize, base: usize) -> f64 {
    watched::middle(costs.iter().map(|round| round[what] / round[base]).collect())
}
