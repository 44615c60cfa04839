//! Reads a YAML document as a JSON value, for files that are no configs: large, written by others, and without places in
//! their errors but the line.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput, Tag};
use serde_json::{Map, Number, Value};

use super::tree::plain_scalar;

/// Reads a document that has at most `max_values` values after the expansion of aliases. The error is a clause.
pub fn read_yaml(text: &str, max_values: usize) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    ValueReader { parser: Parser::new_from_str(text), line: 1, anchors: HashMap::new(), values: 0, max_values }
        .document()
}

/// A value that aliases stand for, and how many values are in it.
struct Anchored {
    value: Value,
    size: usize,
}

struct ValueReader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    line: usize,
    anchors: HashMap<usize, Anchored>,
    values: usize,
    max_values: usize,
}

impl<'a> ValueReader<'a> {
    fn document(mut self) -> Result<Value, String> {
        let mut root = None;
        loop {
            match self.next()? {
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) if root.is_some() => return self.fail("it has more than one YAML document"),
                Event::DocumentStart(_) => {
                    let event = self.next()?;
                    root = Some(self.value(event, 0)?);
                }
                _ => return Ok(root.unwrap_or_default()),
            }
        }
    }

    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.parser.next_event() {
            None => Ok(Event::StreamEnd),
            Some(Ok((event, span))) => {
                self.line = span.start.line();
                Ok(event)
            }
            Some(Err(error)) => Err(format!("invalid YAML in line {}: {}", error.marker().line(), error.info())),
        }
    }

    fn fail<T>(&self, problem: &str) -> Result<T, String> {
        Err(format!("{problem} (line {})", self.line))
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, String> {
        if depth > proxy_json::MAX_DEPTH {
            return self.fail(&format!("it nests more than {} levels deep", proxy_json::MAX_DEPTH));
        }
        let before = self.values;
        self.count(1)?;
        let (value, anchor) = match event {
            Event::Alias(anchor) => return self.alias(anchor),
            Event::Scalar(text, style, anchor, tag) => (self.scalar(&text, style, tag.as_deref())?, anchor),
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tag(tag.as_deref())?;
                (self.items(depth)?, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tag(tag.as_deref())?;
                (self.members(depth)?, anchor)
            }
            _ => return self.fail("invalid YAML: a value is missing"),
        };
        if anchor != 0 {
            // The anchor keeps a copy.
            let size = self.values - before;
            self.count(size)?;
            self.anchors.insert(anchor, Anchored { value: value.clone(), size });
        }
        Ok(value)
    }

    fn items(&mut self, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(Value::Array(items)),
                event => items.push(self.value(event, depth + 1)?),
            }
        }
    }

    fn members(&mut self, depth: usize) -> Result<Value, String> {
        let mut members = Map::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(Value::Object(members)),
                Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<" => {
                    return self.fail("merge keys (`<<`) are not supported: write the keys out");
                }
                Event::Scalar(text, ..) => text.into_owned(),
                _ => return self.fail("a key must be a string"),
            };
            let event = self.next()?;
            let value = self.value(event, depth + 1)?;
            members.insert(key, value);
        }
    }

    /// Counted before it is copied: a small file could otherwise fill the memory.
    fn alias(&mut self, anchor: usize) -> Result<Value, String> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return self.fail("a YAML alias must not occur inside its own anchor");
        };
        let size = anchored.size;
        self.count(size)?;
        Ok(self.anchors.get(&anchor).map(|anchored| anchored.value.clone()).unwrap_or_default())
    }

    fn count(&mut self, values: usize) -> Result<(), String> {
        self.values += values;
        if self.values > self.max_values {
            return self.fail(&format!("it has more than {} values", self.max_values));
        }
        Ok(())
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
        if tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str") {
            return Ok(Value::String(text.to_owned()));
        }
        self.refuse_tag(tag)?;
        Ok(if style == ScalarStyle::Plain { plain_value(text) } else { Value::String(text.to_owned()) })
    }

    fn refuse_tag(&self, tag: Option<&Tag>) -> Result<(), String> {
        match tag {
            Some(tag) if !tag.is_yaml_core_schema() => self.fail("YAML tags (`!name`) are not supported"),
            _ => Ok(()),
        }
    }
}

/// What JSON cannot write as a number, such as `.5`, is read as another spelling of it.
fn plain_value(text: &str) -> Value {
    use super::tree::Value as Plain;
    match plain_scalar(text) {
        Plain::Null => Value::Null,
        Plain::Bool(value) => Value::Bool(value),
        Plain::Number(number) => {
            let exact = number.parse::<Number>().ok();
            let near = || number.parse::<f64>().ok().and_then(Number::from_f64);
            exact.or_else(near).map_or(Value::String(number), Value::Number)
        }
        _ => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_read_as_json_would_write_it() {
        let text =
            "\u{feff}openapi: 3.1.0\nn: [1, 2.50, .5, 0x1f, 2020-01-01, no, ~]\ns: {'200': \"a\\n\", 404: |\n  b\n}\n";
        let text = text.replace(", 404: |\n  b\n}", "}");
        let expected = json!({"openapi": "3.1.0", "s": {"200": "a\n"}});
        let read = read_yaml(&text, 100).unwrap();
        assert_eq!((&read["openapi"], &read["s"]), (&expected["openapi"], &expected["s"]));
        assert_eq!(read["n"].to_string(), r#"[1,2.50,0.5,"0x1f","2020-01-01","no",null]"#);
        assert_eq!(read_yaml("404: |\n  b\n", 10).unwrap(), json!({"404": "b\n"}));
    }

    #[test]
    fn an_alias_stands_for_its_value_but_not_for_more_memory_than_allowed() {
        assert_eq!(read_yaml("a: &x {b: 1}\nc: *x\n", 100).unwrap(), json!({"a": {"b": 1}, "c": {"b": 1}}));
        let bomb: String = (1..20).map(|n| format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1)).collect();
        let error = read_yaml(&format!("a0: &a0 [x, x]\n{bomb}"), 10_000).unwrap_err();
        assert!(error.starts_with("it has more than 10000 values (line "), "{error}");
        assert!(read_yaml("a: &x [*x]\n", 100).unwrap_err().contains("its own anchor"));
    }

    #[test]
    fn a_problem_has_its_line() {
        assert!(read_yaml("a: 1\nb: [\n", 100).unwrap_err().starts_with("invalid YAML in line "));
        assert_eq!(read_yaml("a: 1\nb: !x y\n", 100).unwrap_err(), "YAML tags (`!name`) are not supported (line 2)");
        assert_eq!(read_yaml("a: 1\n---\nb: 1\n", 100).unwrap_err(), "it has more than one YAML document (line 2)");
        assert!(read_yaml(&"- ".repeat(200), 1_000_000).unwrap_err().contains("levels deep"));
        assert!(read_yaml(&"[".repeat(100_000), 1_000_000).is_err());
    }

    #[test]
    fn a_document_of_one_long_line_takes_no_longer() {
        let text = format!("[{}]", "{a: 1}, ".repeat(100_000));
        let began = std::time::Instant::now();
        assert_eq!(read_yaml(&text, 1_000_000).unwrap().as_array().unwrap().len(), 100_000);
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    }
}
