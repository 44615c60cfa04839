//! The base environment of every child; all other variables must be named by the config.

const NAMES: [&str; 9] = ["PATH", "HOME", "USER", "LANG", "TMPDIR", "TZ", "SHELL", "TERM", super::ancestors::VARIABLE];
const PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// The variables of `all` that are safe to hand to any program.
pub fn base_environment(all: impl IntoIterator<Item = (String, String)>) -> Vec<(String, String)> {
    all.into_iter()
        .filter(|(name, _)| NAMES.contains(&name.as_str()) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_parent_stay_with_the_parent() {
        let all = ["PATH", "AWS_SECRET_ACCESS_KEY", "LC_ALL", "XDG_CACHE_HOME", "LD_PRELOAD"];
        let kept: Vec<_> = base_environment(all.map(|name| (name.to_owned(), String::new())))
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(kept, ["PATH", "LC_ALL", "XDG_CACHE_HOME"]);
    }
}
