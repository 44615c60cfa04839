//! This program, and others of its name.

use super::findings::Findings;
use proxy_base::process::program_in;
use proxy_model::operator_api::ProxyStatus;

const AREA: &str = "program";
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn check(running: &[ProxyStatus], findings: &mut Findings) {
    let executable = match std::env::current_exe() {
        Ok(executable) => executable,
        Err(error) => {
            findings.broken(AREA, format!("the program does not know its path: {error}"), "install it again");
            return;
        }
    };
    findings.ok(AREA, format!("version {VERSION}, {}", executable.display()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(other) = program_in(&path, "proxy")
        && other.canonicalize().ok() != executable.canonicalize().ok()
    {
        let problem = format!("`proxy` on the PATH is another program: {}", other.display());
        findings.warning(AREA, problem, "remove one of them, or change the order of the folders in `PATH`");
    }
    for proxy in running.iter().filter(|proxy| proxy.version != VERSION) {
        let problem = format!("the running proxy {} has version {}", proxy.pid, proxy.version);
        findings.warning(AREA, problem, "start it again, so that it is this version");
    }
}
