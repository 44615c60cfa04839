//! An HTTP request of a script.

use serde::Serialize;
use serde_json::Value;

/// A request as the script made it, before any check. Tests and journals see its serialized form.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OutboundRequest {
    pub method: String,
    pub url: String,
    pub params: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    pub auth: Option<(String, String)>,
    pub body: RequestBody,
    /// Timeout of the whole request in seconds.
    pub timeout: f64,
}

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestBody {
    #[default]
    None,
    Text(String),
    Json(Value),
    Form(Vec<(String, String)>),
}

impl RequestBody {
    /// The text to send, and its content type if the kind of body implies one.
    pub(super) fn encoded(&self) -> Option<(String, Option<&'static str>)> {
        match self {
            RequestBody::None => None,
            RequestBody::Text(text) => Some((text.clone(), None)),
            RequestBody::Json(value) => Some((value.to_string(), Some("application/json"))),
            RequestBody::Form(pairs) => Some((form(pairs), Some("application/x-www-form-urlencoded"))),
        }
    }
}

fn form(pairs: &[(String, String)]) -> String {
    // A form has the encoding of a URL query.
    let Ok(mut url) = reqwest::Url::parse("form:///") else { return String::new() };
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}
