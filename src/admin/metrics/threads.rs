//! The metrics of the threads that serve clients.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::series::{Labels, counters, label, numbers, seconds};
use proxy_fiber::ThreadReport;

/// The series of each thread, numbered from 1.
pub(super) fn threads(encoder: &mut DescriptorEncoder, reports: &[ThreadReport]) -> fmt::Result {
    let connections = series(reports, |report| report.connections as u64);
    numbers(encoder, "proxy_thread_connections", "Client connections, by thread", &connections)?;
    let running = series(reports, |report| report.running as u64);
    numbers(encoder, "proxy_thread_running", "Client requests in progress, by thread", &running)?;
    let requests = series(reports, |report| report.requests);
    counters(encoder, "proxy_thread_requests", "Client requests, by thread", &requests)?;
    let busy = series(reports, |report| report.busy.as_secs_f64());
    seconds(encoder, "proxy_thread_busy", "Time that a thread was not idle", &busy)
}

fn series<T>(reports: &[ThreadReport], value: impl Fn(&ThreadReport) -> T) -> Vec<(Labels, T)> {
    let numbered = (1..).zip(reports);
    numbered.map(|(number, report): (usize, _)| (vec![label("thread", &number.to_string())], value(report))).collect()
}
