//! How long ago something was, for people.

use std::time::SystemTime;

const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];

/// `2 h ago`, in the largest unit that fits.
pub(super) fn text(then: SystemTime, now: SystemTime) -> String {
    let seconds = now.duration_since(then).unwrap_or_default().as_secs();
    let (size, unit) = UNITS.into_iter().find(|(size, _)| seconds >= *size).unwrap_or((1, "s"));
    format!("{} {unit} ago", seconds / size)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        let then = SystemTime::UNIX_EPOCH;
        let after = |seconds| text(then, then + Duration::from_secs(seconds));
        assert_eq!([0, 59, 60, 7300, 200_000].map(after), ["0 s ago", "59 s ago", "1 min ago", "2 h ago", "2 d ago"]);
        assert_eq!(text(then + Duration::from_secs(9), then), "0 s ago", "a clock that was set back");
    }
}
