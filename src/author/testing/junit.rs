//! The report as JUnit XML, which build servers read.

use std::fmt::Write;

use super::report::{Ran, Report, seconds};

/// The text of the file.
pub fn junit(report: &Report) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let totals = |ran: &[&Ran]| {
        let failures = ran.iter().filter(|ran| !ran.passed()).count();
        format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\"", ran.len())
    };
    let all: Vec<&Ran> = report.ran.iter().collect();
    let _ = writeln!(xml, "<testsuites {} time=\"{:.3}\">", totals(&all), seconds(report.duration));
    for suite in all.chunk_by(|one, other| one.file == other.file) {
        let time: f64 = suite.iter().map(|ran| seconds(ran.duration)).sum();
        let file = attribute(&suite[0].file);
        let _ = writeln!(xml, "  <testsuite name=\"{file}\" {} time=\"{time:.3}\">", totals(suite));
        suite.iter().for_each(|ran| case(&mut xml, ran));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn case(xml: &mut String, ran: &Ran) {
    let name = attribute(ran.test.as_deref().unwrap_or("(load)"));
    let time = seconds(ran.duration);
    let _ = write!(xml, "    <testcase classname=\"{}\" name=\"{name}\" time=\"{time:.3}\"", attribute(&ran.file));
    let Some(failure) = &ran.failure else {
        xml.push_str("/>\n");
        return;
    };
    let (message, text) = (attribute(&failure.message), escaped(&failure.render(false)));
    let _ = writeln!(xml, ">\n      <failure message=\"{message}\">{text}</failure>");
    if !ran.output.is_empty() {
        let _ = writeln!(xml, "      <system-out>{}</system-out>", escaped(&ran.output.join("\n")));
    }
    xml.push_str("    </testcase>\n");
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            // XML has no way to say these at all.
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// An attribute would lose the ends of lines.
fn attribute(text: &str) -> String {
    escaped(text).replace('\n', "&#10;").replace('\t', "&#9;")
}
