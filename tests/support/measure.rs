//! What the kernel says about a process.

/// A field of the process's status in kilobytes: `VmRSS` is its memory now, `VmHWM` the most it ever had.
pub fn kilobytes(process: u32, field: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the kernel knows");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("it is a number")
}
