//! Which configs are being served by the proxies that this one was started by. One that starts itself as a server would
//! do so without end, until the machine has no more processes.

use std::path::Path;

use sha2::{Digest, Sha256};

/// The variable by which a child knows.
pub(super) const VARIABLE: &str = "PROXY_ANCESTORS";

/// What stands for a config: its path is none of a server's business.
fn token(config: &Path) -> String {
    let path = config.canonicalize().unwrap_or_else(|_| config.to_owned());
    format!("{:x}", Sha256::digest(path.as_os_str().as_encoded_bytes()))[..16].to_owned()
}

fn told(variables: &[(String, String)]) -> Option<&str> {
    variables.iter().find(|(name, _)| name == VARIABLE).map(|(_, tokens)| tokens.as_str())
}

/// Whether somebody above serves this config.
pub fn is_served_by_ancestor(variables: &[(String, String)], config: &Path) -> bool {
    told(variables).is_some_and(|tokens| tokens.split(' ').any(|other| other == token(config)))
}

/// The environment of what is started for a config.
pub fn below(variables: &[(String, String)], config: &Path) -> Vec<(String, String)> {
    let tokens = [told(variables), Some(&token(config))].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let others = variables.iter().filter(|(name, _)| name != VARIABLE).cloned();
    others.chain([(VARIABLE.to_owned(), tokens)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_is_known_to_all_below_it_and_to_nobody_else() {
        let (one, other) = (Path::new("/nowhere/one.yaml"), Path::new("/nowhere/other.yaml"));
        let first = below(&[("PATH".to_owned(), "/bin".to_owned())], one);
        let second = below(&first, other);
        assert!(!is_served_by_ancestor(&[], one));
        assert!(is_served_by_ancestor(&first, one) && !is_served_by_ancestor(&first, other));
        assert!(is_served_by_ancestor(&second, one) && is_served_by_ancestor(&second, other));
        assert_eq!(second.len(), 2);
        assert!(!second.iter().any(|(_, value)| value.contains("nowhere")));
    }
}
