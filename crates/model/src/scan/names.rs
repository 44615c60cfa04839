//! Names that look like the name of another server's tool.

use std::collections::BTreeMap;

use super::rules::{IMITATES, RULES};
use super::{Finding, ScanRule};

/// Letters of other scripts that look like Latin ones.
const LOOKALIKES: [(char, char); 22] = [
    ('а', 'a'),
    ('е', 'e'),
    ('о', 'o'),
    ('р', 'p'),
    ('с', 'c'),
    ('у', 'y'),
    ('х', 'x'),
    ('і', 'i'),
    ('ѕ', 's'),
    ('ј', 'j'),
    ('ԁ', 'd'),
    ('ɡ', 'g'),
    ('ո', 'n'),
    ('ѵ', 'v'),
    ('α', 'a'),
    ('ο', 'o'),
    ('ν', 'v'),
    ('ι', 'i'),
    ('ａ', 'a'),
    ('ｅ', 'e'),
    ('ｏ', 'o'),
    ('＿', '_'),
];

/// The tools of several servers, by what their names look like.
#[derive(Debug, Default)]
pub struct ToolNames(BTreeMap<String, Vec<(String, String)>>);

impl ToolNames {
    pub fn add(&mut self, server: &str, tool: &str) {
        self.0.entry(skeleton(tool)).or_default().push((server.to_owned(), tool.to_owned()));
    }

    /// Whether a name looks like that of a tool of another server, and is not the same.
    pub fn imitation(&self, server: &str, tool: &str) -> Option<Finding> {
        let alike = self.0.get(&skeleton(tool))?;
        let (other, name) = alike.iter().find(|(other, name)| other != server && name != tool)?;
        let rule: &ScanRule = &RULES[IMITATES];
        let excerpt = format!("{tool} looks like {name} of server {other}");
        let excerpt = proxy_base::foreign_text::visible(&excerpt).into_owned();
        Some(Finding { rule, place: "/name".to_owned(), excerpt })
    }
}

/// What a name looks like at a glance.
fn skeleton(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters
        .map(|letter| {
            let latin = LOOKALIKES.iter().find(|(foreign, _)| *foreign == letter).map_or(letter, |(_, latin)| *latin);
            match latin {
                'I' | '1' => 'l',
                '0' | 'O' => 'o',
                other => other.to_ascii_lowercase(),
            }
        })
        .collect::<String>()
        .replace("rn", "m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_another_servers_is_found() {
        let mut names = ToolNames::default();
        for (server, tool) in [("mail", "send_mail"), ("mail", "reply"), ("notes", "search")] {
            names.add(server, tool);
        }
        for imitation in ["send_mаil", "send_maiI", "sendmail", "Send-Mail"] {
            let finding = names.imitation("other", imitation).unwrap();
            assert_eq!(finding.rule.id, "imitates-tool");
            assert!(finding.excerpt.ends_with("looks like send_mail of server mail"), "{}", finding.excerpt);
        }
        // The same name is a conflict, which the proxy resolves.
        assert_eq!(names.imitation("other", "send_mail"), None);
        assert_eq!(names.imitation("mail", "sendmail"), None, "of the same server");
        assert_eq!(names.imitation("other", "send_letter"), None);
    }
}
