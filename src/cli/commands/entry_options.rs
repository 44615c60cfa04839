//! The options with which an entry of a client starts this proxy.

/// The profile that it serves.
pub(super) fn profile_of(words: &[String]) -> Option<&str> {
    values(words, &["--profile"]).pop()
}

/// The config files that it names.
pub(super) fn configs_of(words: &[String]) -> Vec<&str> {
    values(words, &["--config", "-c"])
}

/// The values of an option, as `--option VALUE` or `--option=VALUE`. What precedes `serve` is for a package runner.
fn values<'a>(words: &'a [String], names: &[&str]) -> Vec<&'a str> {
    let mut values = Vec::new();
    let mut arguments = words.iter().map(String::as_str).skip_while(|word| *word != "serve").skip(1);
    while let Some(argument) = arguments.next() {
        let joined = argument.split_once('=').filter(|(name, _)| names.contains(name));
        if let Some((_, value)) = joined {
            values.push(value);
        } else if names.contains(&argument) {
            values.extend(arguments.next());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn both_forms_of_an_option_are_read() {
        for line in ["proxy serve --profile ops -c a.yaml", "npx -c x pkg serve --config=a.yaml --profile=ops"] {
            let words = words(line);
            assert_eq!((profile_of(&words), configs_of(&words)), (Some("ops"), vec!["a.yaml"]), "{line}");
        }
        let words = words("proxy serve --config --profile");
        assert_eq!((profile_of(&words), configs_of(&words)), (None, vec!["--profile"]));
    }
}
