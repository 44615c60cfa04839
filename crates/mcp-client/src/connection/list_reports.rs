//! Reports about problems in a server's list. Their number and length are limited, because a faulty or malicious server
//! could otherwise flood the log.

/// The maximum number of reports on one list. The others are counted.
const MAX_REPORTS: usize = 100;
/// The maximum length of a report, in characters. It may contain names of the server's choice.
const MAX_CHARACTERS: usize = 500;

#[derive(Debug, Default)]
pub(super) struct Reports {
    reports: Vec<String>,
    more: usize,
    conclusion: Option<String>,
}

impl Reports {
    pub(super) fn add(&mut self, report: String) {
        if self.reports.len() >= MAX_REPORTS {
            self.more += 1;
            return;
        }
        self.reports.push(shortened(report));
    }

    /// Why the list ends earlier than the server's. Always shown.
    pub(super) fn conclude(&mut self, conclusion: String) {
        self.conclusion = Some(shortened(conclusion));
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.reports.push(format!("{} more problems in this list are not shown", self.more));
        }
        self.reports.extend(self.conclusion);
        self.reports
    }
}

fn shortened(report: String) -> String {
    match report.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{} ...", &report[..end]),
        None => report,
    }
}

/// A size as people write it: `64 MiB`, `2000 bytes`.
pub(super) fn shown_size(bytes: usize) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_and_long_reports_are_shortened() {
        let mut reports = Reports::default();
        for index in 0..250 {
            reports.add(format!("{index} {}", "é".repeat(1000)));
        }
        reports.conclude("the list ends there".to_owned());
        let reports = reports.finish();
        assert_eq!(reports.len(), 102);
        assert!(reports.iter().all(|report| report.chars().count() <= MAX_CHARACTERS + 4));
        assert_eq!(reports[100], "150 more problems in this list are not shown");
        assert_eq!(reports[101], "the list ends there");
    }

    #[test]
    fn a_size_is_shown_in_the_largest_unit_without_a_rest() {
        assert_eq!([shown_size(64 << 20), shown_size(2000)], ["64 MiB", "2000 bytes"]);
    }
}
