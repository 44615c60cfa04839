//! Dates and times in ISO 8601. The epoch of PostgreSQL is the year 2000.

use jiff::civil::{Date, Time};
use jiff::{Span, Timestamp};
use serde_json::{Value, json};

const EPOCH: Date = Date::constant(2000, 1, 1);

/// PostgreSQL's special values beyond all dates.
fn infinity(positive: bool) -> Value {
    if positive { "infinity".into() } else { "-infinity".into() }
}

fn out_of_range(error: jiff::Error) -> String {
    format!("date or time out of range: {error}; cast it in the statement, as in `x::text`")
}

pub(super) fn date(days: i32) -> Result<Value, String> {
    if days == i32::MAX || days == i32::MIN {
        return Ok(infinity(days > 0));
    }
    let span = Span::new().try_days(days).map_err(out_of_range)?;
    EPOCH.checked_add(span).map(|date| json!(date.to_string())).map_err(out_of_range)
}

pub(super) fn time(microseconds: i64) -> Result<Value, String> {
    if microseconds == 86_400_000_000 {
        return Ok("24:00:00".into());
    }
    let span = Span::new().try_microseconds(microseconds).map_err(out_of_range)?;
    Time::midnight().checked_add(span).map(|time| json!(time.to_string())).map_err(out_of_range)
}

/// A timestamp, in UTC if `zoned`, or else without a time zone.
pub(super) fn timestamp(microseconds: i64, zoned: bool) -> Result<Value, String> {
    const SECONDS_TO_EPOCH: i64 = 946_684_800;
    if microseconds == i64::MAX || microseconds == i64::MIN {
        return Ok(infinity(microseconds > 0));
    }
    let since_1970 = microseconds.checked_add(SECONDS_TO_EPOCH * 1_000_000).unwrap_or(i64::MAX);
    let moment = Timestamp::from_microsecond(since_1970).map_err(out_of_range)?;
    let text = moment.to_string();
    Ok(if zoned { text.into() } else { text.trim_end_matches('Z').into() })
}

/// An interval of microseconds, days and months, which cannot be converted into each other.
pub(super) fn interval(raw: [u8; 16]) -> Value {
    let [microseconds, days, months] = {
        let (first, rest) = raw.split_at(8);
        let (second, third) = rest.split_at(4);
        let short = |bytes: &[u8]| bytes.try_into().map_or(0, |bytes| i64::from(i32::from_be_bytes(bytes)));
        [first.try_into().map_or(0, i64::from_be_bytes), short(second), short(third)]
    };
    let mut text = "P".to_owned();
    let mut add = |amount: i64, unit: char| {
        if amount != 0 {
            text.push_str(&format!("{amount}{unit}"));
        }
    };
    add(months / 12, 'Y');
    add(months % 12, 'M');
    add(days, 'D');
    if microseconds != 0 {
        text.push('T');
        text.push_str(&clock(microseconds));
    }
    if text == "P" { "PT0S".into() } else { text.into() }
}

fn clock(microseconds: i64) -> String {
    let seconds = microseconds / 1_000_000;
    let mut text = String::new();
    for (amount, unit) in [(seconds / 3600, 'H'), (seconds / 60 % 60, 'M')] {
        if amount != 0 {
            text.push_str(&format!("{amount}{unit}"));
        }
    }
    let rest = microseconds % 60_000_000;
    if rest != 0 {
        let sign = if rest < 0 { "-" } else { "" };
        let (whole, part) = (rest.abs() / 1_000_000, rest.abs() % 1_000_000);
        let part = if part == 0 { String::new() } else { format!(".{part:06}").trim_end_matches('0').to_owned() };
        text.push_str(&format!("{sign}{whole}{part}S"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_in_iso_8601() {
        assert_eq!(date(0).unwrap(), "2000-01-01");
        assert_eq!(date(-1).unwrap(), "1999-12-31");
        assert_eq!(date(i32::MAX).unwrap(), "infinity");
        assert_eq!(time(45_296_500_000).unwrap(), "12:34:56.5");
        assert_eq!(timestamp(0, true).unwrap(), "2000-01-01T00:00:00Z");
        assert_eq!(timestamp(-1_500_000, false).unwrap(), "1999-12-31T23:59:58.5");
        assert_eq!(timestamp(i64::MIN, true).unwrap(), "-infinity");
        assert!(timestamp(i64::MAX - 1, true).is_err());
    }

    #[test]
    fn intervals_keep_months_days_and_time_apart() {
        let raw = |microseconds: i64, days: i32, months: i32| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&microseconds.to_be_bytes());
            bytes[8..12].copy_from_slice(&days.to_be_bytes());
            bytes[12..].copy_from_slice(&months.to_be_bytes());
            bytes
        };
        assert_eq!(interval(raw(0, 0, 0)), "PT0S");
        assert_eq!(interval(raw(3_723_500_000, 3, 14)), "P1Y2M3DT1H2M3.5S");
        assert_eq!(interval(raw(-500_000, -1, 0)), "P-1DT-0.5S");
    }
}
