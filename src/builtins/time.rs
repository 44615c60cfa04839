//! The module `time`: text and clock time. The clock itself is an effect.

use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::TimeZone;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;

use crate::script::{Context, ScriptError, script_error};

const ISO: &str = "%Y-%m-%dT%H:%M:%SZ";

pub(super) fn register_time(builder: &mut GlobalsBuilder) {
    builder.namespace("time", members);
}

/// Time as seconds since 1970, and as text.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// The seconds since 1970, an integer. Only while a call is handled.
    fn now(eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<i64> {
        Ok(clock("time.now", eval)? / 1000)
    }

    /// The milliseconds since 1970, an integer. Only while a call is handled.
    fn now_ms(eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<i64> {
        clock("time.now_ms", eval)
    }

    /// Seconds since 1970 as text, by the letters of `strftime`, in a time zone such as `"Europe/Berlin"`:
    /// `time.format(0)` is `"1970-01-01T00:00:00Z"`.
    fn format(
        ts: UnpackFloat,
        #[starlark(default = ISO)] fmt: &str,
        #[starlark(default = "UTC")] tz: &str,
    ) -> starlark::Result<String> {
        let zone = TimeZone::get(tz).map_err(|_| {
            ScriptError::new(format!("there is no time zone `{tz}`"))
                .hint("names are as in `UTC`, `Europe/Berlin`, `America/New_York`")
        })?;
        let zoned = timestamp(ts.0)?.to_zoned(zone);
        strtime::format(fmt, &zoned).map_err(|error| script_error(format!("`{fmt}`: {error}")))
    }

    /// The seconds since 1970 that a text stands for, by the letters of `strptime`. Without an offset in it the time is
    /// UTC, without a time of day midnight: `time.parse("2026-11-15", "%Y-%m-%d")` is `1794700800`.
    fn parse(text: &str, #[starlark(default = ISO)] fmt: &str) -> starlark::Result<i64> {
        let read = strtime::parse(fmt, text)
            .map_err(|error| script_error(format!("`{text}` does not fit `{fmt}`: {error}")))?;
        let time = moment(&read).ok_or_else(|| {
            ScriptError::new(format!("`{fmt}` does not say which day it is"))
                .hint("it needs at least `%Y-%m-%d` or `%s`")
        })?;
        Ok(time.as_second())
    }
}

/// What the clock shows, in milliseconds.
fn clock(kind: &'static str, eval: &Evaluator<'_, '_, '_>) -> starlark::Result<i64> {
    let shown = Context::of(eval)?.effect(kind, &[], |host| {
        let since = host.clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Ok(crate::json::raw(&i64::try_from(since.as_millis()).unwrap_or(i64::MAX))))
    })?;
    shown.get().parse().map_err(|_| script_error("the clock shows no time"))
}

fn timestamp(seconds: f64) -> Result<Timestamp, ScriptError> {
    let out_of_range = || ScriptError::new(format!("{seconds} seconds since 1970 is no time that can be told"));
    if !seconds.is_finite() || seconds.abs() > 1e12 {
        return Err(out_of_range());
    }
    // A float holds microseconds of any year somebody asks for.
    #[expect(clippy::cast_possible_truncation, reason = "checked above")]
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).map_err(|_| out_of_range())
}

fn moment(read: &BrokenDownTime) -> Option<Timestamp> {
    if let Ok(exact) = read.to_timestamp() {
        return Some(exact);
    }
    let utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    match read.to_datetime() {
        Ok(time) => utc(time),
        Err(_) => utc(read.to_date().ok()?.at(0, 0, 0, 0)),
    }
}
