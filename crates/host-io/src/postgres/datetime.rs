//! Dates and times in ISO 8601.

use std::error::Error;
use std::fmt::Display;

use bytes::Buf;
use jiff::civil;
use tokio_postgres::types::{Date, FromSql, Timestamp, Type};

use super::column::Decoded;

/// PostgreSQL's special values beyond all dates.
const INFINITY: &str = "infinity";
const MINUS_INFINITY: &str = "-infinity";

fn out_of_range(error: Box<dyn Error + Sync + Send>) -> String {
    format!("date or time out of range: {error}; cast it in the statement, as in `x::text`")
}

pub(super) fn date(raw: &[u8]) -> Decoded<String> {
    Ok(match Date::<civil::Date>::from_sql(&Type::DATE, raw).map_err(out_of_range)? {
        Date::PosInfinity => INFINITY.to_owned(),
        Date::NegInfinity => MINUS_INFINITY.to_owned(),
        Date::Value(date) => date.to_string(),
    })
}

pub(super) fn time(raw: &[u8]) -> Decoded<String> {
    if raw == 86_400_000_000_i64.to_be_bytes() {
        return Ok("24:00:00".to_owned());
    }
    Ok(civil::Time::from_sql(&Type::TIME, raw).map_err(out_of_range)?.to_string())
}

/// A timestamp with a time zone, in UTC, or one without.
pub(super) fn timestamp<'a, T: FromSql<'a> + Display>(kind: &Type, raw: &'a [u8]) -> Decoded<String> {
    Ok(match Timestamp::<T>::from_sql(kind, raw).map_err(out_of_range)? {
        Timestamp::PosInfinity => INFINITY.to_owned(),
        Timestamp::NegInfinity => MINUS_INFINITY.to_owned(),
        Timestamp::Value(moment) => moment.to_string(),
    })
}

/// An interval of microseconds, days and months, which cannot be converted into each other and may have different signs.
pub(super) fn interval(mut raw: &[u8]) -> Decoded<String> {
    let microseconds = raw.try_get_i64()?;
    let days = i64::from(raw.try_get_i32()?);
    let months = i64::from(raw.try_get_i32()?);
    let minutes = microseconds / 60_000_000;
    let date = parts(&[(months / 12, 'Y'), (months % 12, 'M'), (days, 'D')]);
    let clock = parts(&[(minutes / 60, 'H'), (minutes % 60, 'M')]) + &seconds(microseconds % 60_000_000);
    Ok(match (date.as_str(), clock.as_str()) {
        ("", "") => "PT0S".to_owned(),
        (_, "") => format!("P{date}"),
        _ => format!("P{date}T{clock}"),
    })
}

fn parts(amounts: &[(i64, char)]) -> String {
    amounts.iter().filter(|(amount, _)| *amount != 0).map(|(amount, unit)| format!("{amount}{unit}")).collect()
}

fn seconds(microseconds: i64) -> String {
    if microseconds == 0 {
        return String::new();
    }
    let sign = if microseconds < 0 { "-" } else { "" };
    let amount = microseconds.abs();
    let text = format!("{sign}{}.{:06}", amount / 1_000_000, amount % 1_000_000);
    format!("{}S", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_in_iso_8601() {
        let date = |days: i32| date(&days.to_be_bytes()).unwrap();
        assert_eq!(date(0), "2000-01-01");
        assert_eq!(date(-1), "1999-12-31");
        assert_eq!(date(-745_826), "-000043-12-31");
        assert_eq!(date(i32::MAX), "infinity");
        let time = |microseconds: i64| time(&microseconds.to_be_bytes()).unwrap();
        assert_eq!(time(45_296_500_000), "12:34:56.5");
        assert_eq!(time(86_400_000_000), "24:00:00");
        let utc = |microseconds: i64| {
            timestamp::<jiff::Timestamp>(&Type::TIMESTAMPTZ, &microseconds.to_be_bytes())
                .map_err(|error| error.to_string())
        };
        assert_eq!(utc(0).unwrap(), "2000-01-01T00:00:00Z");
        assert_eq!(utc(i64::MIN).unwrap(), "-infinity");
        assert!(utc(i64::MAX - 1).unwrap_err().ends_with("as in `x::text`"));
        let civil = timestamp::<civil::DateTime>(&Type::TIMESTAMP, &(-1_500_000_i64).to_be_bytes());
        assert_eq!(civil.unwrap(), "1999-12-31T23:59:58.5");
    }

    #[test]
    fn intervals_keep_months_days_and_time_apart() {
        let told = |microseconds: i64, days: i32, months: i32| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&microseconds.to_be_bytes());
            bytes[8..12].copy_from_slice(&days.to_be_bytes());
            bytes[12..].copy_from_slice(&months.to_be_bytes());
            interval(&bytes).unwrap()
        };
        assert_eq!(told(0, 0, 0), "PT0S");
        assert_eq!(told(3_723_500_000, 3, 14), "P1Y2M3DT1H2M3.5S");
        assert_eq!(told(-500_000, -1, 0), "P-1DT-0.5S");
        assert_eq!(told(-5_410_000_000, 0, 1), "P1MT-1H-30M-10S");
        assert_eq!(told(0, 10, 0), "P10D");
    }
}
