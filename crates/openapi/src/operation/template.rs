//! The path of an operation: text and variables in braces.

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// The name of a path parameter.
    Variable(String),
}

/// A path, and the query that some descriptions write behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathTemplate {
    pub(crate) pieces: Vec<Piece>,
    /// Sent with each request; without the `?`.
    pub(crate) query: String,
}

impl PathTemplate {
    pub(crate) fn parse(path: &str) -> Self {
        let path = path.split('#').next().unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut pieces = Vec::new();
        let mut rest = path;
        while let Some((before, behind)) = rest.split_once('{') {
            let Some((name, after)) = behind.split_once('}') else { break };
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(Piece::Variable(name.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        PathTemplate { pieces, query: query.to_owned() }
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_text_and_variables() {
        let template = PathTemplate::parse("/a/{b}-{c}.json?action=x#part");
        let text = |text: &str| Piece::Text(text.to_owned());
        let variable = |name: &str| Piece::Variable(name.to_owned());
        assert_eq!(template.pieces, [text("/a/"), variable("b"), text("-"), variable("c"), text(".json")]);
        assert_eq!(template.query, "action=x");
        assert_eq!(PathTemplate::parse("/a{b").pieces, [text("/a{b")]);
    }
}
