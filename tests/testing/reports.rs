//! Reports for programs: JSON and JUnit XML.

use serde_json::json;

use super::folder;

const TEXT: &str = "def test_good():\n    print(\"not shown\")\n\ndef test_bad():\n    print(\"a < b & \\\"c\\\"\\nsecond \\x01\")\n    testing.eq(\"<1>\", \"<2>\")\n";

#[tokio::test]
async fn json_has_every_test_with_its_error() {
    let finished = folder(&[("a_test.star", TEXT)]).run(["test", "--json"]).await.expect(1);
    let mut report = finished.json();
    assert!(report["seconds"].is_number() && report["tests"][1]["seconds"].is_number(), "{report}");
    let text = report["tests"][1]["error"]["text"].take();
    assert!(text.as_str().is_some_and(|text| text.contains("--> a_test.star:6:5")), "{text}");
    for test in report["tests"].as_array_mut().expect("a list") {
        test.as_object_mut().expect("an object").remove("seconds");
    }
    report.as_object_mut().expect("an object").remove("seconds");
    assert_eq!(
        report,
        json!({"passed": 1, "failed": 1, "tests": [
            {"file": "a_test.star", "name": "test_good", "status": "passed"},
            {"file": "a_test.star", "name": "test_bad", "status": "failed",
             "error": {"message": "expected \"<2>\", got \"<1>\"", "file": "a_test.star", "line": 6, "text": null},
             "output": ["a < b & \"c\"\nsecond \u{1}"]},
        ]})
    );
}

#[tokio::test]
async fn junit_is_well_formed_and_says_the_same() {
    let proxy = folder(&[("a_test.star", TEXT), ("b_test.star", "fail(\"]]> no\")\n")]);
    proxy.run(["test", "--junit", "report.xml"]).await.expect(1);
    let text = std::fs::read_to_string(proxy.directory.path().join("report.xml")).expect("it was written");
    let root = Element::parse(&text);
    assert_eq!((root.name.as_str(), root.get("tests"), root.get("failures")), ("testsuites", "3", "2"));
    let [a, b] = &root.children[..] else { panic!("{text}") };
    assert_eq!((a.get("name"), a.get("tests"), a.get("failures")), ("a_test.star", "2", "1"));
    let [good, bad] = &a.children[..] else { panic!("{text}") };
    assert_eq!((good.get("classname"), good.get("name"), good.children.len()), ("a_test.star", "test_good", 0));
    let [failure, output] = &bad.children[..] else { panic!("{text}") };
    assert_eq!(failure.get("message"), "expected \"<2>\", got \"<1>\"");
    assert!(failure.text.contains("6 |     testing.eq(\"<1>\", \"<2>\")\n"), "{}", failure.text);
    assert_eq!((output.name.as_str(), output.text.as_str()), ("system-out", "a < b & \"c\"\nsecond \\u{1}"));
    assert_eq!((b.children[0].get("name"), b.children[0].children[0].get("message")), ("(load)", "]]> no"));
    let unwritable = proxy.run(["test", "--junit", "no/such/folder.xml"]).await.expect(2);
    assert!(
        unwritable.stderr.starts_with("error: cannot write the report `no/such/folder.xml`: "),
        "{}",
        unwritable.stderr
    );
}

#[tokio::test]
async fn what_others_said_cannot_hide_in_a_report() {
    let hostile = r#"a\u001b[2J\rb \u202elive"#;
    let test = format!("def test_bad():\n    print(\"{hostile}\")\n    testing.eq(\"{hostile}\", \"\")\n");
    let proxy = folder(&[("a_test.star", &test)]);
    let report = proxy.run(["test", "--junit", "report.xml"]).await.expect(1).stdout;
    let junit = std::fs::read_to_string(proxy.directory.path().join("report.xml")).expect("it was written");
    for text in [report, junit] {
        assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']), "{text:?}");
        assert!(text.contains("a\\u{1b}[2J\\u{d}b \\u{202e}live"), "{text:?}");
    }
}

/// Just enough XML to read a report.
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    fn parse(text: &str) -> Element {
        let (_, rest) = text.split_once("?>\n").expect("it begins with a declaration");
        let (element, rest) = Element::read(rest.trim_start());
        assert_eq!(rest.trim(), "", "something follows the root");
        element
    }

    fn read(text: &str) -> (Element, &str) {
        let (tag, mut rest) = text.strip_prefix('<').and_then(|text| text.split_once('>')).expect("a tag");
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut element =
            Element { name: name.to_owned(), attributes: Vec::new(), children: Vec::new(), text: String::new() };
        let mut parts = attributes.split('"');
        while let (Some(name), Some(value)) = (parts.next().filter(|name| !name.trim().is_empty()), parts.next()) {
            element.attributes.push((name.trim().trim_end_matches('=').to_owned(), unescaped(value)));
        }
        if is_empty {
            return (element, rest);
        }
        loop {
            let (text, more) = rest.split_at(rest.find('<').expect("an end"));
            element.text.push_str(&unescaped(text));
            if let Some(after) = more.strip_prefix(&format!("</{name}>")) {
                return (element, after);
            }
            let (child, after) = Element::read(more);
            element.children.push(child);
            rest = after;
        }
    }

    fn get(&self, name: &str) -> &str {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("<{}> has no `{name}`", self.name))
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = text.to_owned();
    for (escaped, letter) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#10;", "\n"), ("&amp;", "&")] {
        plain = plain.replace(escaped, letter);
    }
    plain
}
