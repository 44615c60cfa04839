//! What the kernel says about a process.

/// A field of the process's status in kilobytes: `VmRSS` is its memory now, `VmHWM` the most it ever had.
pub fn kilobytes(process: u32, field: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the kernel knows");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("it is a number")
}

/// The processor time that a process has used.
pub fn processor_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    // The name before may have spaces.
    let fields = stat.rsplit(')').next().expect("the name is in brackets").split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum();
    ticks as f64 / 100.0
}
