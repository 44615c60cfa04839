//! Whether the store answers.

use std::time::Duration;

use super::findings::Findings;
use crate::cli::failure::CommandFailure;
use crate::cli::setup;
use proxy_config::{Config, RedisAddress, StoreAddress};
use proxy_store::{RedisSettings, Store};

const AREA: &str = "store";
const LIMIT: Duration = Duration::from_secs(5);
const FIX: &str = "start Redis, or correct `store.url`";

pub(super) fn check(config: &Config, findings: &mut Findings) -> Result<(), CommandFailure> {
    let StoreAddress::Redis(RedisAddress { url, prefix }) = &config.store else { return Ok(()) };
    let settings = RedisSettings { address: url.reveal(), prefix, session_lifetime: config.serve.session_lifetime };
    let runtime = setup::runtime()?;
    let _entered = runtime.enter();
    let store = match Store::redis_with(&settings) {
        Ok(store) => store,
        Err(error) => {
            findings.broken(AREA, format!("`store.url`: {error}"), FIX);
            return Ok(());
        }
    };
    // Reads only.
    let answer = runtime.block_on(async { tokio::time::timeout(LIMIT, store.get_record("doctor")).await });
    match answer {
        Ok(Ok(_)) => findings.ok(AREA, "Redis answers"),
        Ok(Err(error)) => findings.broken(AREA, format!("Redis does not answer: {error}"), FIX),
        Err(_) => findings.broken(AREA, format!("Redis does not answer within {} s", LIMIT.as_secs()), FIX),
    }
    Ok(())
}
