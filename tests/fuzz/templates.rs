use proptest::prelude::*;
use proxy_model::UriTemplate;

use super::damage::damaged_text;
use super::fuzz;

/// A template that is accepted matches some text or none, without a panic; a template without variables matches itself alone.
#[test]
fn uri_templates_match_or_do_not() {
    let corpus = include_str!("../corpus/fuzz/templates.txt");
    fuzz(&(damaged_text(corpus), damaged_text(corpus)), |(template, uri)| {
        let Some(parsed) = UriTemplate::parse(&template) else { return Ok(()) };
        let found = parsed.variables(&uri);
        if !template.contains('{') {
            prop_assert_eq!(found.is_some(), template == uri);
            prop_assert!(parsed.variables(&template).is_some());
        }
        Ok(())
    });
}
