//! Points in time as records and tokens write them: seconds since 1970.

use std::time::{Duration, SystemTime};

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

pub(super) fn time_of(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.min(u64::from(u32::MAX)))
}
