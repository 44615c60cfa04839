//! One argument of a command: text with `{name}` placeholders for arguments of the call.

use serde_json::{Map, Value as Json};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArgumentTemplate(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Placeholder(String),
}

impl ArgumentTemplate {
    /// An argument without placeholders.
    pub(super) fn literal(text: &str) -> Self {
        ArgumentTemplate(vec![TemplatePart::Text(text.to_owned())])
    }

    /// Braces around anything but a name are text, so that `{print $1}` needs no escape.
    pub(super) fn parse(text: &str) -> Self {
        let (mut parts, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some(open) = rest.find('{') {
            literal.push_str(&rest[..open]);
            let inner = &rest[open + 1..];
            match inner.split_once('}').filter(|(name, _)| is_name(name)) {
                Some((name, after)) => {
                    if !literal.is_empty() {
                        parts.push(TemplatePart::Text(std::mem::take(&mut literal)));
                    }
                    parts.push(TemplatePart::Placeholder(name.to_owned()));
                    rest = after;
                }
                None => {
                    literal.push('{');
                    rest = inner;
                }
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() || parts.is_empty() {
            parts.push(TemplatePart::Text(literal));
        }
        ArgumentTemplate(parts)
    }

    pub(super) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Placeholder(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// The argument. Everything but text is written as JSON, and what the call does not have is empty.
    pub(super) fn fill(&self, arguments: &Map<String, Json>) -> String {
        let mut filled = String::new();
        for part in &self.0 {
            match part {
                TemplatePart::Text(text) => filled.push_str(text),
                TemplatePart::Placeholder(name) => match arguments.get(name) {
                    None | Some(Json::Null) => {}
                    Some(Json::String(text)) => filled.push_str(text),
                    Some(other) => filled.push_str(&other.to_string()),
                },
            }
        }
        filled
    }

    /// The placeholder at the beginning, whose value decides whether the argument is an option.
    pub(super) fn leading_placeholder(&self) -> Option<&str> {
        match self.0.first()? {
            TemplatePart::Placeholder(name) => Some(name),
            TemplatePart::Text(_) => None,
        }
    }
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str) -> String {
        let arguments = json!({"name": "Ann B", "n": 1.5, "list": [1, "x"], "none": null, "nested": "{name}"});
        ArgumentTemplate::parse(template).fill(arguments.as_object().unwrap())
    }

    #[test]
    fn placeholders_become_part_of_one_argument() {
        for (template, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("{name}", "Ann B"),
            ("--name={name}!", "--name=Ann B!"),
            ("{n}{list}", "1.5[1,\"x\"]"),
            ("<{none}{missing}>", "<>"),
            ("{nested}", "{name}"),
            ("{print $1} {a b} {}", "{print $1} {a b} {}"),
            ("{{name}}", "{Ann B}"),
            ("{name", "{name"),
        ] {
            assert_eq!(filled(template), expected, "{template}");
        }
        let template = ArgumentTemplate::parse("{a}-{b}");
        assert_eq!(template.placeholders().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(template.leading_placeholder(), Some("a"));
        assert_eq!(ArgumentTemplate::parse("x{a}").leading_placeholder(), None);
    }
}
