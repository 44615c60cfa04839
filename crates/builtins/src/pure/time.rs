//! The Starlark module `time`: formatting, parsing, and the clock. Reading the clock is an effect.

use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::TimeZone;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;

use proxy_script::{Context, ScriptError, script_error};

const ISO: &str = "%Y-%m-%dT%H:%M:%SZ";

pub(crate) fn register_time(builder: &mut GlobalsBuilder) {
    builder.namespace("time", members);
}

/// Unix time, and its conversion from and to text.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Returns the current Unix time in seconds, an integer. Only while a call is handled.
    fn now(eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<i64> {
        Ok(clock("time.now", eval)? / 1000)
    }

    /// Returns the current Unix time in milliseconds, an integer. Only while a call is handled.
    fn now_ms(eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<i64> {
        clock("time.now_ms", eval)
    }

    /// Formats a Unix time in seconds with a `strftime` format (default `"%Y-%m-%dT%H:%M:%SZ"`), in a time zone such as
    /// `"Europe/Berlin"`: `time.format(0)` is `"1970-01-01T00:00:00Z"`.
    fn format(
        ts: UnpackFloat,
        #[starlark(default = ISO)] fmt: &str,
        #[starlark(default = "UTC")] tz: &str,
    ) -> starlark::Result<String> {
        let zone = TimeZone::get(tz).map_err(|_| {
            ScriptError::new(format!("unknown time zone `{tz}`"))
                .hint("use an IANA name such as `UTC`, `Europe/Berlin` or `America/New_York`")
        })?;
        let zoned = timestamp(ts.0)?.to_zoned(zone);
        strtime::format(fmt, &zoned).map_err(|error| script_error(format!("invalid format `{fmt}`: {error}")))
    }

    /// Parses text with a `strptime` format (default `"%Y-%m-%dT%H:%M:%SZ"`) and returns the Unix time in seconds.
    /// Without a UTC offset the time is UTC; without a time of day it is midnight:
    /// `time.parse("2026-11-15", "%Y-%m-%d")` is `1794700800`.
    fn parse(text: &str, #[starlark(default = ISO)] fmt: &str) -> starlark::Result<i64> {
        let parsed = strtime::parse(fmt, text)
            .map_err(|error| script_error(format!("cannot parse `{text}` as `{fmt}`: {error}")))?;
        let time = moment(&parsed).ok_or_else(|| {
            ScriptError::new(format!("the format `{fmt}` has no complete date"))
                .hint("it needs at least `%Y-%m-%d` or `%s`")
        })?;
        Ok(time.as_second())
    }
}

/// The current Unix time in milliseconds.
fn clock(kind: &'static str, eval: &Evaluator<'_, '_, '_>) -> starlark::Result<i64> {
    let millis = Context::of(eval)?.effect(kind, &[], |host| {
        let since = host.clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Ok(proxy_json::raw(&i64::try_from(since.as_millis()).unwrap_or(i64::MAX))))
    })?;
    millis.get().parse().map_err(|_| script_error("the recorded time is not a number"))
}

fn timestamp(seconds: f64) -> Result<Timestamp, ScriptError> {
    let out_of_range = || ScriptError::new(format!("the Unix time {seconds} is out of range"));
    if !seconds.is_finite() || seconds.abs() > 1e12 {
        return Err(out_of_range());
    }
    // Within this range a float is exact to about 0.1 ms, and the product fits in 64 bits.
    #[expect(clippy::cast_possible_truncation, reason = "checked above")]
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).map_err(|_| out_of_range())
}

/// The point in time, in UTC unless the text has an offset, at midnight unless it has a time of day.
fn moment(parsed: &BrokenDownTime) -> Option<Timestamp> {
    if let Ok(exact) = parsed.to_timestamp() {
        return Some(exact);
    }
    let utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    match parsed.to_datetime() {
        Ok(time) => utc(time),
        Err(_) => utc(parsed.to_date().ok()?.at(0, 0, 0, 0)),
    }
}
