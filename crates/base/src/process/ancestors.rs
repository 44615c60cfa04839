//! Recursion guard: the configs that the ancestors of this process serve. A proxy whose config starts the same proxy as
//! a server would otherwise spawn processes without end.

use std::path::Path;

use sha2::{Digest, Sha256};

/// The environment variable with the tokens of all ancestors' configs.
pub const VARIABLE: &str = "PROXY_ANCESTORS";

/// A hash in place of the config's path, which servers should not see.
fn token(config: &Path) -> String {
    let path = config.canonicalize().unwrap_or_else(|_| config.to_owned());
    format!("{:x}", Sha256::digest(path.as_os_str().as_encoded_bytes()))[..16].to_owned()
}

fn ancestor_tokens(variables: &[(String, String)]) -> Option<&str> {
    variables.iter().find(|(name, _)| name == VARIABLE).map(|(_, tokens)| tokens.as_str())
}

/// Whether an ancestor of this process serves this config.
pub fn is_served_by_ancestor(variables: &[(String, String)], config: &Path) -> bool {
    ancestor_tokens(variables).is_some_and(|tokens| tokens.split(' ').any(|other| other == token(config)))
}

/// The variables with this config added to the ancestors, for the servers that it starts.
pub fn with_ancestor(variables: &[(String, String)], config: &Path) -> Vec<(String, String)> {
    let tokens = [ancestor_tokens(variables), Some(&token(config))].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let others = variables.iter().filter(|(name, _)| name != VARIABLE).cloned();
    others.chain([(VARIABLE.to_owned(), tokens)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_is_known_to_all_its_descendants_only() {
        let (one, other) = (Path::new("/nowhere/one.yaml"), Path::new("/nowhere/other.yaml"));
        let first = with_ancestor(&[("PATH".to_owned(), "/bin".to_owned())], one);
        let second = with_ancestor(&first, other);
        assert!(!is_served_by_ancestor(&[], one));
        assert!(is_served_by_ancestor(&first, one) && !is_served_by_ancestor(&first, other));
        assert!(is_served_by_ancestor(&second, one) && is_served_by_ancestor(&second, other));
        assert_eq!(second.len(), 2);
        assert!(!second.iter().any(|(_, value)| value.contains("nowhere")));
    }
}
