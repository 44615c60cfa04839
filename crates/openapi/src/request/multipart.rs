//! Bodies of the type `multipart/form-data`.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::files::file;
use super::style::text;
use crate::operation::Field;

#[derive(Default)]
pub(super) struct Multipart {
    /// The headers and the content of each part.
    parts: Vec<(String, Vec<u8>)>,
}

impl Multipart {
    /// Adds a member. Each item of a list is a part of its own.
    pub(super) fn add(
        &mut self,
        argument: &str,
        name: &str,
        value: &Value,
        field: Option<&Field>,
    ) -> Result<(), String> {
        match value {
            Value::Null => Ok(()),
            Value::Array(items) => items.iter().try_for_each(|item| self.add_one(argument, name, item, field)),
            one => self.add_one(argument, name, one, field),
        }
    }

    fn add_one(&mut self, argument: &str, name: &str, value: &Value, field: Option<&Field>) -> Result<(), String> {
        let quoted = quoted(name);
        let declared = field.and_then(|field| field.content_type.as_deref());
        let mut headers = format!("Content-Disposition: form-data; name=\"{quoted}\"");
        let (content_type, bytes) = if field.is_some_and(|field| field.is_file) {
            let file = file(argument, value)?;
            // Without a file name, servers take a part for text.
            headers.push_str(&format!("; filename=\"{quoted}\""));
            let known = file.content_type.as_deref().or(declared).unwrap_or("application/octet-stream");
            (Some(known.to_owned()), file.bytes)
        } else {
            let is_plain = !matches!(value, Value::Object(_) | Value::Array(_));
            let usual = if is_plain { None } else { Some("application/json") };
            (declared.or(usual).map(str::to_owned), text(value).into_bytes())
        };
        if let Some(content_type) = content_type {
            headers.push_str(&format!("\r\nContent-Type: {content_type}"));
        }
        self.parts.push((headers, bytes));
        Ok(())
    }

    /// The content type, and the bytes.
    pub(super) fn finish(self) -> (String, Vec<u8>) {
        // The digest of all parts cannot occur in one of them, and is the same whenever the request is made again.
        let mut digest = Sha256::new();
        for (headers, bytes) in &self.parts {
            digest.update(headers);
            digest.update(bytes);
        }
        let digest = proxy_json::hex(&digest.finalize());
        let boundary = format!("boundary-{}", &digest[..40]);
        let mut body = Vec::new();
        for (headers, bytes) in &self.parts {
            body.extend_from_slice(format!("--{boundary}\r\n{headers}\r\n\r\n").as_bytes());
            body.extend_from_slice(bytes);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        (format!("multipart/form-data; boundary={boundary}"), body)
    }
}

/// A name as HTML forms write it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_texts_and_objects_are_parts() {
        let file = Field { is_file: true, ..Field::default() };
        let csv = Field { content_type: Some("text/csv".to_owned()), ..Field::default() };
        let mut form = Multipart::default();
        form.add("f", "a\"b\r\n", &json!(["aGk=", "data:image/png;base64,aG8="]), Some(&file)).unwrap();
        form.add("c", "c", &json!("x,y"), Some(&csv)).unwrap();
        form.add("o", "o", &json!({"k": 1}), None).unwrap();
        form.add("n", "n", &json!(5), None).unwrap();
        form.add("u", "u", &json!(null), None).unwrap();
        let (content_type, body) = form.finish();
        let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
        let text = String::from_utf8(body).unwrap().replace(boundary, "B");
        let name = "Content-Disposition: form-data; name=";
        assert_eq!(
            text,
            format!(
                "--B\r\n{name}\"a%22b%0D%0A\"; filename=\"a%22b%0D%0A\"\r\nContent-Type: application/octet-stream\r\n\r\nhi\r\n\
                 --B\r\n{name}\"a%22b%0D%0A\"; filename=\"a%22b%0D%0A\"\r\nContent-Type: image/png\r\n\r\nho\r\n\
                 --B\r\n{name}\"c\"\r\nContent-Type: text/csv\r\n\r\nx,y\r\n\
                 --B\r\n{name}\"o\"\r\nContent-Type: application/json\r\n\r\n{{\"k\":1}}\r\n\
                 --B\r\n{name}\"n\"\r\n\r\n5\r\n--B--\r\n"
            )
        );
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        let file = Field { is_file: true, ..Field::default() };
        assert!(
            Multipart::default().add("f", "f", &json!("?"), Some(&file)).unwrap_err().contains("`f` is not Base64")
        );
    }
}
