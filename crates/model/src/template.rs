//! URI templates: matching of URIs and extraction of variables.

use regex::{Regex, escape};

/// A compiled template.
#[derive(Clone, Debug)]
pub struct UriTemplate {
    pattern: Regex,
    names: Vec<String>,
}

impl UriTemplate {
    /// Compiles a template; `None` if it is invalid, for example because of an unclosed brace.
    pub fn parse(template: &str) -> Option<Self> {
        let (mut pattern, mut names) = ("^".to_owned(), Vec::new());
        let mut rest = template;
        while let Some(start) = rest.find('{') {
            let end = start + rest[start..].find('}')?;
            pattern.push_str(&escape(&rest[..start]));
            let expression = &rest[start + 1..end];
            let operator = expression.chars().next().filter(|first| "+#./;?&".contains(*first));
            let variables = expression.trim_start_matches(|first| Some(first) == operator);
            names.push(variables.split(',').next()?.trim_end_matches('*').split(':').next()?.to_owned());
            pattern.push_str(match operator {
                // Reserved expansion, paths and queries may span segments; a plain variable does not.
                Some('+') => "(.+)",
                Some(_) => "(.*)",
                None => "([^/?#]+)",
            });
            rest = &rest[end + 1..];
        }
        pattern.push_str(&escape(rest));
        pattern.push('$');
        Some(UriTemplate { pattern: Regex::new(&pattern).ok()?, names })
    }

    /// The names of the variables.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The variables with their values, if the URI matches.
    pub fn variables(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let found = self.pattern.captures(uri)?;
        let values = found.iter().skip(1).map(|value| value.map_or("", |value| value.as_str()).to_owned());
        Some(self.names.iter().map(String::as_str).zip(values).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_fits_its_template_and_gives_the_variables() {
        let template = UriTemplate::parse("test://template/{id}/data").unwrap();
        assert_eq!(template.variables("test://template/123/data").unwrap(), [("id", "123".to_owned())]);
        assert!(template.variables("test://template/1/2/data").is_none());
        let files = UriTemplate::parse("file://{+path}").unwrap();
        assert_eq!(files.variables("file:///a/b").unwrap(), [("path", "/a/b".to_owned())]);
        assert!(UriTemplate::parse("x://{id").is_none());
    }
}
