//! The rules: what is looked for, and why.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

/// A rule. Its id is stable: people filter by it.
#[derive(Debug)]
pub struct ScanRule {
    pub id: &'static str,
    /// Why such a text deserves a look.
    pub reason: &'static str,
    /// Empty for a rule that looks at more than one text.
    pattern: &'static str,
    /// What an honest text may contain although the pattern matches it.
    except: &'static str,
    compiled: OnceLock<Option<CompiledRule>>,
}

#[derive(Debug)]
struct CompiledRule {
    pattern: Regex,
    except: Option<Regex>,
}

impl PartialEq for ScanRule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl ScanRule {
    const fn new(id: &'static str, reason: &'static str, pattern: &'static str, except: &'static str) -> Self {
        ScanRule { id, reason, pattern, except, compiled: OnceLock::new() }
    }

    /// The first place in a text that breaks the rule.
    pub(super) fn find(&self, text: &str) -> Option<Range<usize>> {
        let CompiledRule { pattern, except } = self.compiled()?;
        let is_honest = |found: &str| except.as_ref().is_some_and(|except| except.is_match(found));
        pattern.find_iter(text).map(|found| found.range()).find(|range| !is_honest(&text[range.clone()]))
    }

    fn compiled(&self) -> Option<&CompiledRule> {
        let compiled = self.compiled.get_or_init(|| {
            if self.pattern.is_empty() {
                return None;
            }
            let except = if self.except.is_empty() { None } else { Regex::new(self.except).ok() };
            Some(CompiledRule { pattern: Regex::new(self.pattern).ok()?, except })
        });
        compiled.as_ref()
    }
}

/// The rule for names, which looks at more than one text.
pub(super) const IMITATES: usize = 7;

pub static RULES: [ScanRule; 8] = [
    ScanRule::new(
        "hidden-characters",
        "people do not see these characters, and models read them",
        // Joiners are a part of emoji and of some scripts, and the selectors follow emoji.
        r"[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\r\n\t\x{FE0E}\x{FE0F}\x{200C}\x{200D}]]+",
        "",
    ),
    ScanRule::new(
        "orders-tool-use",
        "it tells the model when to use this or other tools, beyond what the tool does",
        r"(?i)\b(before|after|prior to|when) (using|calling|invoking|running) (this|any|any other|another|other|the other) tools?\b[^.]{0,40}\b(read|call|send|pass|include|fetch|use|run|execute|must)\b|\b(always|must) (call|use|run|invoke) this tool (first|before|after|whenever)\b|\binstead of (the )?`?\w+`? tool\b[^.]{0,30}\balways\b",
        "",
    ),
    ScanRule::new(
        "asks-for-secrecy",
        "it asks the model to hide something from the user",
        r"(?i)\b(do not|don't|never|must not) (tell|mention|inform|reveal|disclose|show|notify|alert)\b[^.]{0,40}\b(user|human|anyone|anybody|person|them)\b|\bwithout (telling|informing|notifying|asking|mentioning it to) (the )?(user|human)\b|\b(hide|conceal|keep) (this|it|that)\b[^.]{0,20}\b(from the user|secret)\b",
        "",
    ),
    ScanRule::new(
        "overrides-instructions",
        "it claims to be more important than other instructions",
        r"(?i)\b(ignore|disregard|forget|override) (all |any |the |your )*(previous|prior|above|earlier|other|existing) (instructions?|prompts?|rules|messages)\b|</?(important|system|instructions?|secret|hidden)>|\[/?(system|inst)\]|\byou are now\b|\bnew system prompt\b",
        "",
    ),
    ScanRule::new(
        "names-secrets",
        "it names files and places in which secrets are kept",
        r"(?i)\bid_(rsa|ed25519|ecdsa|dsa)\b|~?/?\.(ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc)/\w+|~/\.(netrc|npmrc|pypirc|env|ssh|aws|gnupg|kube)\b|/etc/(passwd|shadow)\b|\.(cursor|vscode|codeium|claude)/\w*mcp\w*\.json|claude_desktop_config\.json|-----BEGIN [A-Z ]*PRIVATE KEY",
        "",
    ),
    ScanRule::new(
        "link-with-query",
        "an address with parameters can carry away what the model knows",
        r#"(?i)https?://[^\s"'<>)\]]+\?[^\s"'<>)\]]*="#,
        r"(?i)^https?://([\w.-]+\.)?(example\.(com|org|net)|localhost|127\.0\.0\.1)[:/?]",
    ),
    ScanRule::new(
        "encoded-text",
        "people cannot read it, and models can",
        r"[A-Za-z0-9+/_-]{120,}={0,2}",
        r"^[0-9a-fA-F]+$|^[A-Z_-]+$|^[a-z_/-]+$",
    ),
    ScanRule::new("imitates-tool", "it looks like a tool of another server, and is none", "", ""),
];
