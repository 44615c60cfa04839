//! `refresh = SECONDS`: a resource that clients can subscribe to. Session scripts and extensions share it.

use std::time::Duration;

use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;
use starlark::values::{UnpackValue, Value, ValueLike};

use crate::effects::backend_handler::BackendHandler;
use crate::effects::store_access::seconds;
use crate::metadata::Metadata;
use proxy_script::ScriptError;

/// Longer intervals are as good as none.
const MAX_INTERVAL: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The interval that `refresh` of a resource names.
pub fn refresh_interval(refresh: NoneOr<UnpackFloat>) -> Result<Option<Duration>, ScriptError> {
    let interval = refresh.into_option().map(|value| seconds("refresh", value.0)).transpose();
    let hint = "`refresh = 5` refreshes the resource every 5 seconds while a client is subscribed to it";
    interval.map(|interval| interval.map(|interval| interval.min(MAX_INTERVAL))).map_err(|error| error.hint(hint))
}

/// The interval among the options of a published item.
pub(crate) fn interval_of(option: Value<'_>) -> Option<Duration> {
    let seconds = UnpackFloat::unpack_value(option).ok().flatten()?;
    Duration::try_from_secs_f64(seconds.0).ok()
}

/// Checks that the proxy runs the handler of a resource with `refresh`. A server's own handler is not run: its server tells
/// of updates.
pub(crate) fn check_refreshed(metadata: &Metadata, handler: Value<'_>) -> Result<(), ScriptError> {
    let Some(backend) = handler.downcast_ref::<BackendHandler>() else { return Ok(()) };
    let (uri, server) = (metadata.definition.key(), &backend.target.backend);
    Err(ScriptError::new(format!(
        "`refresh` of `{uri}` needs a handler written in the script; this handler belongs to server `{server}`"
    ))
    .hint(
        "clients can subscribe to a server's resource without `refresh`; to poll it, publish a function that calls the \
         handler",
    ))
}
