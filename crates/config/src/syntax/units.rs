//! Durations and sizes with units.

use std::time::Duration;

/// A hundred years, which is as good as for ever. What is much longer overflows the clock when a deadline is computed.
const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Parses a duration such as `250ms`, `30s`, `5m` or `2h`.
pub fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let duration = match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(60 * 60).map(Duration::from_secs),
        _ => None,
    };
    duration.map(|duration| duration.min(MAX_DURATION))
}

/// Parses a size such as `4MiB`, `64KiB`, `1GiB`, decimal `4MB`, or bytes without a unit.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit {
        "" | "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(duration("30s"), Some(Duration::from_secs(30)));
        assert_eq!(duration("5m"), Some(Duration::from_secs(300)));
        assert_eq!(duration("2h"), Some(Duration::from_secs(7200)));
        assert_eq!(duration("18446744073709551615s"), Some(MAX_DURATION));
        for wrong in ["", "30", "s", "-1s", "1.5s", "3 days", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_are_binary_or_decimal() {
        assert_eq!(size("4MiB"), Some(4 * 1024 * 1024));
        assert_eq!(size("64KiB"), Some(65536));
        assert_eq!(size("1GiB"), Some(1 << 30));
        assert_eq!(size("2MB"), Some(2_000_000));
        assert_eq!(size("512"), Some(512));
        for wrong in ["", "4M", "MiB", "-1", "4mib", "99999999999GiB"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
