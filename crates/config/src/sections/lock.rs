//! `lock`: what happens when a server lists something else than what `proxy lock` approved. Global, in `defaults`, and in
//! the entry of a server.

use crate::syntax::reader::ValueReader;
use proxy_model::lock::{IgnoredText, LockMode};

/// The keys of `lock` that are set at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockSettings {
    pub mode: Option<LockMode>,
    /// Text that changes by itself; `None` if nothing is said here.
    pub ignore: Option<IgnoredText>,
    pub resources: Option<bool>,
}

impl LockSettings {
    /// These settings, and those of `general` where they say nothing.
    pub(crate) fn or(&self, general: &LockSettings) -> LockSettings {
        LockSettings {
            mode: self.mode.or(general.mode),
            ignore: self.ignore.clone().or_else(|| general.ignore.clone()),
            resources: self.resources.or(general.resources),
        }
    }
}

/// Reads a mode, or a map of settings.
pub(crate) fn read_lock(reader: &ValueReader) -> Option<LockSettings> {
    let modes = LockMode::ALL.map(|mode| (mode.as_str(), mode));
    let Some(mut fields) = reader.fields_or_string()? else {
        return Some(LockSettings { mode: Some(reader.choice(&modes)?), ..LockSettings::default() });
    };
    let mode = fields.read("mode", |mode| mode.choice(&modes));
    let ignore = fields.read("ignore", |patterns| {
        let mut ignored = IgnoredText::default();
        patterns.list(|pattern| {
            let text = pattern.verbatim()?.0;
            if let Err(problem) = ignored.add(&text) {
                pattern
                    .report(pattern.problem(&problem).hint("match only the text that changes by itself: `as at \\d+`"));
            }
            Some(())
        })?;
        Some(ignored)
    });
    let resources = fields.read("resources", ValueReader::boolean);
    fields.finish();
    Some(LockSettings { mode, ignore, resources })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn an_entry_says_more_than_the_defaults_and_these_more_than_the_file() {
        let config = loaded(
            "lock: {mode: block, resources: true, ignore: ['as at \\d+']}\ndefaults: {lock: warn}\n\
             mcpServers:\n  a: {command: x}\n  b: {command: x, lock: freeze}\n  c: {command: x, lock: {resources: false}}\n",
        );
        let of = |name: &str| config.lock_settings(&config.servers[name]);
        assert_eq!((of("a").mode, of("a").resources), (Some(LockMode::Warn), Some(true)));
        assert_eq!(of("b").mode, Some(LockMode::Freeze));
        assert_eq!((of("c").mode, of("c").resources), (Some(LockMode::Warn), Some(false)));
        assert!(of("c").ignore.is_some_and(|ignored| !ignored.is_empty()));
        assert_eq!(loaded("mcpServers: {a: {command: x}}").lock, LockSettings::default());
    }

    #[test]
    fn a_pattern_that_ignores_everything_is_an_error() {
        let found = errors("lock: {ignore: ['.*', '(', '\\d+ May']}\n");
        assert!(found[0].contains("`lock.ignore[0]`: it matches every text"), "{found:?}");
        assert!(found[1].contains("`lock.ignore[1]`: invalid regular expression"), "{found:?}");
        assert_eq!(found.len(), 2);
        assert!(errors("lock: strict\n")[0].contains("expected one of `warn`, `freeze`, `block`"));
        assert!(errors("lock: {modes: warn}\n")[0].contains("did you mean `mode`?"));
    }
}
