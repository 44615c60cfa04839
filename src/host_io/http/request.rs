//! What a script asks for.

use serde::Serialize;
use serde_json::Value;

/// A request as the script made it, before anything is checked. Serialized it is what a test or a journal sees.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Request {
    pub method: String,
    pub url: String,
    pub params: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    pub auth: Option<(String, String)>,
    pub body: Body,
    /// In seconds, for all of it.
    pub timeout: f64,
}

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    #[default]
    None,
    Text(String),
    Json(Value),
    Form(Vec<(String, String)>),
}

impl Body {
    /// The bytes to send, and their content type where the kind of body implies one.
    pub(super) fn encoded(&self) -> Option<(String, Option<&'static str>)> {
        match self {
            Body::None => None,
            Body::Text(text) => Some((text.clone(), None)),
            Body::Json(value) => Some((value.to_string(), Some("application/json"))),
            Body::Form(pairs) => Some((form(pairs), Some("application/x-www-form-urlencoded"))),
        }
    }
}

fn form(pairs: &[(String, String)]) -> String {
    // The query of a URL is written in the same way.
    let Ok(mut url) = reqwest::Url::parse("form:///") else { return String::new() };
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}
