//! Formats a report as JUnit XML, for CI systems.

use std::fmt::Write;

use super::report::{TestReport, TestResult, seconds};
use proxy_base::foreign_text::visible;

/// Returns the report as an XML document.
pub fn junit(report: &TestReport) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let totals = |ran: &[&TestResult]| {
        let failures = ran.iter().filter(|ran| !ran.passed()).count();
        format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\"", ran.len())
    };
    let all: Vec<&TestResult> = report.ran.iter().collect();
    let _ = writeln!(xml, "<testsuites {} time=\"{:.3}\">", totals(&all), seconds(report.duration));
    for suite in all.chunk_by(|a, b| a.file == b.file) {
        let time: f64 = suite.iter().map(|ran| seconds(ran.duration)).sum();
        let file = attribute(&suite[0].file);
        let _ = writeln!(xml, "  <testsuite name=\"{file}\" {} time=\"{time:.3}\">", totals(suite));
        suite.iter().for_each(|ran| case(&mut xml, ran));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn case(xml: &mut String, ran: &TestResult) {
    let name = attribute(ran.test.as_deref().unwrap_or("(load)"));
    let time = seconds(ran.duration);
    let _ = write!(xml, "    <testcase classname=\"{}\" name=\"{name}\" time=\"{time:.3}\"", attribute(&ran.file));
    let Some(failure) = &ran.failure else {
        xml.push_str("/>\n");
        return;
    };
    let (message, text) = (attribute(&failure.message), escape(&failure.render(false)));
    let _ = writeln!(xml, ">\n      <failure message=\"{message}\">{text}</failure>");
    if !ran.output.is_empty() {
        let _ = writeln!(xml, "      <system-out>{}</system-out>", escape(&ran.output.join("\n")));
    }
    xml.push_str("    </testcase>\n");
}

/// Escapes what has a meaning in XML, and what people would not see in a report.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            // XML 1.0 cannot represent these characters, not even escaped.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Escapes line breaks and tabs too, because XML parsers normalize them to spaces in attributes.
fn attribute(text: &str) -> String {
    escape(text).replace('\n', "&#10;").replace('\t', "&#9;")
}
