//! Tells the operator which hosts were refused: most often a web server in front does not replace the `Host` header.

use std::collections::HashSet;

use parking_lot::Mutex;

use proxy_base::foreign_text::quoted;

/// How many hosts are told. Anybody can send any number of others.
const MAX_TOLD: usize = 20;

/// The refused hosts that were told. Each is told once.
#[derive(Debug, Default)]
pub(super) struct UnknownHosts(Mutex<HashSet<String>>);

impl UnknownHosts {
    pub(super) fn tell(&self, host: &str, accepted: &str) {
        let is_new = {
            let mut told = self.0.lock();
            told.len() < MAX_TOLD && told.insert(host.to_owned())
        };
        if is_new {
            tracing::warn!(
                "refused a request with the host {}: this listener accepts {accepted}. Let the web server in front of it \
                 replace `Host`",
                quoted(host)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_remembered_once_and_not_without_end() {
        let hosts = UnknownHosts::default();
        for number in 0..100 {
            hosts.tell(&format!("h{number}"), "localhost");
            hosts.tell("h0", "localhost");
        }
        assert_eq!(hosts.0.lock().len(), MAX_TOLD);
    }
}
