//! What the proxy costs: CPU per call over a relay that copies bytes without parsing, the time to run a script over a
//! thousand tools and to check it, memory at rest, start-up, and what scripts of models and APIs cost. Run with
//! `cargo bench --bench costs`; name parts to run only those. `PROXY=FILE` measures another binary.
//!
//! The program plays every part itself: with a first argument of `backend`, `slow-backend`, `http-backend`,
//! `sdk-backend`, `relay` or `tcp-relay` it is that counterpart.

#![expect(unreachable_pub, reason = "a test program exports nothing; `pub` separates what its modules share")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints measurements")]

mod apis;
mod backend;
mod check;
mod client;
mod cpu;
mod extensions;
mod guards;
mod hops;
mod http;
mod identity;
mod parts;
mod people;
mod relay;
mod replay;
mod sessions;
/// The keys of the tests' issuer.
#[path = "../../tests/support/issuer/signing_key.rs"]
mod signing_key;
mod snippets;
mod stdio;
mod surface;
mod waiting;
mod watched;
mod ways;

use std::env;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match arguments.first().map(String::as_str) {
        Some("backend") => runtime.block_on(backend::stdio()),
        Some("slow-backend") => runtime.block_on(backend::slow_stdio(waiting::DELAY)),
        Some("http-backend") => runtime.block_on(backend::http()),
        Some("sdk-backend") => runtime.block_on(hops::server::serve(&arguments[1..])),
        Some("relay") => runtime.block_on(relay::stdio(&arguments[1..])),
        Some("tcp-relay") => runtime.block_on(relay::tcp(&arguments[1])),
        _ => runtime.block_on(parts::run(&arguments)),
    }
}
