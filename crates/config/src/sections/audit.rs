//! `audit`: the audit log of every call.

use std::path::PathBuf;

use crate::syntax::reader::ValueReader;
use proxy_model::Secret;

#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    pub file: PathBuf,
    /// The key of digests and seals. Without it there are none.
    pub key: Option<Secret>,
    pub arguments: AuditDetail,
    pub results: AuditDetail,
    /// The size in bytes at which a new file begins.
    pub max_size: u64,
    /// How many full files are kept.
    pub keep: usize,
    /// Whether calls are refused while the log cannot be written.
    pub required: bool,
}

/// How much of a value is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditDetail {
    /// Its size.
    None,
    /// Its size and a keyed digest.
    Digest,
    /// The value without what `redact()` finds.
    Redacted,
    Full,
}

/// Minimum length of the key; a shorter one could be guessed.
const MIN_KEY_BYTES: usize = 32;

const DETAILS: [(&str, AuditDetail); 4] = [
    ("none", AuditDetail::None),
    ("digest", AuditDetail::Digest),
    ("redacted", AuditDetail::Redacted),
    ("full", AuditDetail::Full),
];

impl Audit {
    fn new(file: PathBuf) -> Self {
        Audit {
            file,
            key: None,
            arguments: AuditDetail::None,
            results: AuditDetail::None,
            max_size: 100 << 20,
            keep: 30,
            required: false,
        }
    }

    /// The keys that differ from another config.
    pub(crate) fn differences(own: Option<&Audit>, other: Option<&Audit>) -> Vec<&'static str> {
        let (own, other) = match (own, other) {
            (None, None) => return Vec::new(),
            (Some(own), Some(other)) => (own, other),
            _ => return vec!["audit"],
        };
        // Destructured, so that the compiler reports a field that is missing here.
        let Audit { file, key, arguments, results, max_size, keep, required } = own;
        let keys = [
            ("audit.file", *file != other.file),
            ("audit.key", *key != other.key),
            ("audit.arguments", *arguments != other.arguments),
            ("audit.results", *results != other.results),
            ("audit.maxSize", *max_size != other.max_size),
            ("audit.keep", *keep != other.keep),
            ("audit.required", *required != other.required),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}

pub(crate) fn read_audit(reader: &ValueReader) -> Option<Audit> {
    let mut fields = reader.fields()?;
    let (file, key) = (fields.get("file"), fields.get("key"));
    let (arguments, results) = (fields.get("arguments"), fields.get("results"));
    let mut audit = Audit::new(PathBuf::new());
    fields.set(&mut audit.max_size, "maxSize", ValueReader::size);
    fields.set(&mut audit.keep, "keep", ValueReader::count);
    fields.set(&mut audit.required, "required", ValueReader::boolean);
    fields.finish();
    // An invalid key is reported once, and not again by the settings that need it.
    let has_key = key.is_some();
    audit.key = key.as_ref().and_then(read_key);
    audit.arguments = if has_key { AuditDetail::Digest } else { AuditDetail::None };
    for (detail, reader) in [(&mut audit.arguments, arguments), (&mut audit.results, results)] {
        if let Some(chosen) = reader.and_then(|reader| read_detail(&reader, has_key)) {
            *detail = chosen;
        }
    }
    let Some(file) = file else { return reader.fail("missing key `file`, such as `audit.jsonl`") };
    audit.file = file.path_value()?;
    if audit.file.file_name().is_none() {
        return file.expected("the path of a file such as `audit.jsonl`");
    }
    Some(audit)
}

fn read_detail(reader: &ValueReader, has_key: bool) -> Option<AuditDetail> {
    let detail = reader.choice(&DETAILS)?;
    if detail == AuditDetail::Digest && !has_key {
        let problem =
            reader.problem("digests need `audit.key`: without a key, short values could be guessed from them");
        reader.report(problem.hint("set `key: \"${AUDIT_KEY}\"` (`openssl rand -base64 32` generates one), or `none`"));
        return None;
    }
    Some(detail)
}

fn read_key(reader: &ValueReader) -> Option<Secret> {
    let key = reader.secret()?;
    if key.reveal().len() >= MIN_KEY_BYTES || reader.is_unread() {
        return Some(key);
    }
    let problem = reader.problem(&format!("the key must have at least {MIN_KEY_BYTES} bytes"));
    reader.report(
        problem.hint("generate one with `openssl rand -base64 32` and keep it in the environment: `${AUDIT_KEY}`"),
    );
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn everything_can_be_set() {
        let text = format!(
            "audit: {{file: logs/a.jsonl, key: {KEY}, arguments: redacted, results: full, maxSize: 1KiB, keep: 2, required: true}}"
        );
        let config = loaded(&text);
        let expected = Audit {
            file: config.folder.join("logs/a.jsonl"),
            key: Some(Secret::new(KEY)),
            arguments: AuditDetail::Redacted,
            results: AuditDetail::Full,
            max_size: 1024,
            keep: 2,
            required: true,
        };
        assert_eq!(config.audit, Some(expected));
        assert_eq!(loaded("").audit, None);
    }

    #[test]
    fn arguments_have_digests_if_there_is_a_key() {
        let of = |text: &str| loaded(text).audit.map(|audit| (audit.arguments, audit.results));
        assert_eq!(of("audit: {file: a}"), Some((AuditDetail::None, AuditDetail::None)));
        assert_eq!(of(&format!("audit: {{file: a, key: {KEY}}}")), Some((AuditDetail::Digest, AuditDetail::None)));
    }

    #[test]
    fn what_cannot_work_is_told_with_the_cure() {
        let found = errors("audit: {file: a, arguments: digest, results: all}");
        assert_eq!(
            found[0],
            "1:29 `audit.arguments`: digests need `audit.key`: without a key, short values could be guessed from them (set \
             `key: \"${AUDIT_KEY}\"` (`openssl rand -base64 32` generates one), or `none`)"
        );
        assert!(found[1].contains("one of `none`, `digest`, `redacted`, `full`"), "{}", found[1]);
        let found = errors("audit: {key: s3cret, arguments: digest, keep: 0}");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(!found.concat().contains("s3cret"));
        assert!(found.iter().any(|error| error.contains("missing key `file`")), "{found:?}");
    }

    #[test]
    fn every_key_takes_effect_at_the_next_start() {
        let audit = loaded(&format!("audit: {{file: a, key: {KEY}}}")).audit;
        let other = loaded("audit: {file: b, results: full, maxSize: 1, keep: 1, required: true}").audit;
        let all =
            ["file", "key", "arguments", "results", "maxSize", "keep", "required"].map(|key| format!("audit.{key}"));
        assert_eq!(Audit::differences(audit.as_ref(), other.as_ref()), all);
        assert_eq!(Audit::differences(audit.as_ref(), None), ["audit"]);
        assert_eq!(Audit::differences(audit.as_ref(), audit.as_ref()), [""; 0]);
    }
}
