//! Server-sent events, as a strict reader sees them.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    pub id: Option<String>,
    pub event: Option<String>,
    pub data: Option<String>,
    pub retry: Option<String>,
    pub comments: Vec<String>,
}

/// Collects lines until an empty one completes an event. A block of comments alone is an event of its own here, so that
/// tests can see keep-alives.
#[derive(Debug, Default)]
pub struct SseParser {
    rest: Vec<u8>,
    event: SseEvent,
    touched: bool,
}

impl SseParser {
    pub fn feed(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
    }

    pub fn next(&mut self) -> Option<SseEvent> {
        while let Some(at) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=at).collect();
            let line = String::from_utf8(line).expect("events are UTF-8");
            let line = line.trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}');
            if !line.is_empty() {
                self.take(line);
            } else if std::mem::take(&mut self.touched) {
                return Some(std::mem::take(&mut self.event));
            }
        }
        None
    }

    fn take(&mut self, line: &str) {
        self.touched = true;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match field {
            "" => self.event.comments.push(value),
            "id" => self.event.id = Some(value),
            "event" => self.event.event = Some(value),
            "retry" => self.event.retry = Some(value),
            "data" => match &mut self.event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&value);
                }
                None => self.event.data = Some(value),
            },
            // Unknown fields are ignored, as the format demands.
            _ => {}
        }
    }
}
