//! Times for people.

use std::time::SystemTime;

/// A duration in its largest unit: `5 s`, `3 min`, `2 h`, `4 d`.
pub(super) fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// `2 h ago`. A time in the future, after the clock was set back, is `0 s ago`.
pub(super) fn ago(then: SystemTime) -> String {
    format!("{} ago", age(SystemTime::now().duration_since(then).unwrap_or_default().as_secs()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let shown: Vec<String> = [5, 59, 185, 7380, 172_799, 352_800].into_iter().map(age).collect();
        assert_eq!(shown, ["5 s", "59 s", "3 min", "2 h", "47 h", "4 d"]);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nothing_older() {
        assert_eq!(ago(SystemTime::now() + Duration::from_secs(3600)), "0 s ago");
    }
}
