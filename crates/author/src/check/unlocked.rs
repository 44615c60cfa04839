//! Says which servers a lock leaves out.

use proxy_base::diagnostic::Diagnostic;
use proxy_config::Config;
use proxy_model::lock::LockMode;

/// A remark about the servers whose lists depend on who asks, if the lock holds back what changes at others.
pub(super) fn remark(config: &Config) -> Option<Diagnostic> {
    // What is wrong with the file is said elsewhere.
    let is_found = config.read_lock().ok().flatten().is_some_and(|lock| lock.is_found);
    let default = if is_found { Some(LockMode::Freeze) } else { None };
    let mode = config.lock.mode.or(default);
    if !matches!(mode, Some(LockMode::Freeze | LockMode::Block)) {
        return None;
    }
    let left_out: Vec<String> = config
        .servers
        .iter()
        .filter(|(_, server)| !server.disabled && server.is_per_person())
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if left_out.is_empty() {
        return None;
    }
    let text = format!("the lock does not hold for {}: what they list depends on who asks", left_out.join(", "));
    Some(Diagnostic::remark(text).hint("name the tools that may be used in the session script or in `aggregation`"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn found(lock: &str) -> Option<String> {
        let text = format!(
            "mcpServers:\n  notes: {{url: 'https://notes/mcp'}}\n  crm: {{url: 'https://crm/mcp', auth: {{type: oauth, per: person}}}}\n{lock}"
        );
        let (config, _) = proxy_config::load_text(Path::new("proxy.yaml"), &text, &|_| None).unwrap();
        remark(&config).map(|found| found.to_string())
    }

    #[test]
    fn servers_that_no_lock_can_hold_are_named_if_others_are_held() {
        let told = found("lock: block\n").unwrap();
        assert!(told.contains("the lock does not hold for `crm`: what they list depends on who asks"), "{told}");
        assert!(found("lock: freeze\n").is_some());
        assert_eq!(found("lock: warn\n"), None);
        assert_eq!(found(""), None);
    }
}
