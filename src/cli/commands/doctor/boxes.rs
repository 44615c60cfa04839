//! What the kernel lacks to confine models' scripts.

use std::time::Duration;

use super::findings::Findings;
use proxy_code_mode::sandbox::{JAIL_HINT, Workers, wait_for_jail_state};
use proxy_config::Config;

const AREA: &str = "boxes";
const LIMIT: Duration = Duration::from_secs(5);

pub(super) fn check(config: Option<&Config>, findings: &mut Findings) {
    Workers::shared().warm_up();
    let Some(jail) = wait_for_jail_state(LIMIT) else {
        let fix = "`proxy exec` with a short script shows the reason";
        findings.warning(AREA, "the process for models' scripts did not start", fix);
        return;
    };
    if jail.is_complete() {
        findings.ok(AREA, "the kernel has seccomp and Landlock for models' scripts");
        return;
    }
    let missing = jail.missing();
    if config.is_some_and(|config| config.code_mode.require_jail) {
        let fix = "let the container or service use seccomp and Landlock, or remove `codeMode.requireJail`";
        findings.broken(AREA, format!("code mode cannot run: the system refuses {missing}"), fix);
    } else {
        findings.warning(AREA, format!("code mode: the system refuses {missing}"), JAIL_HINT);
    }
}
