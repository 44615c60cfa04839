//! How big a process is, and which processes there are.

#[derive(Clone, Copy, Debug)]
pub struct Measure {
    pub resident_kilobytes: usize,
    pub files: usize,
    pub threads: usize,
}

impl Measure {
    pub fn of(process: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
        };
        let files = std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count);
        Self { resident_kilobytes: number("VmRSS:"), files, threads: number("Threads:") }
    }

    /// What grew by more than that.
    pub fn exceeds(&self, before: &Self, growth: &Self) -> Option<String> {
        let parts = [
            ("kilobytes", self.resident_kilobytes, before.resident_kilobytes, growth.resident_kilobytes),
            ("open files", self.files, before.files, growth.files),
            ("threads", self.threads, before.threads, growth.threads),
        ];
        let grown = parts.iter().find(|(_, now, then, growth)| *now > then + growth)?;
        Some(format!("{}: {} after {}", grown.0, grown.1, grown.2))
    }
}

/// The processes with this word among their arguments.
pub fn processes_named(word: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    })
    .collect()
}
