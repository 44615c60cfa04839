//! The input that a stateless server requests in a result (`resultType: input_required`).

use serde_json::json;

use crate::transport::{ELICITATION, check_permitted};
use proxy_json::{Needle, Object, Raw, RawRef};
use proxy_model::Abilities;
use proxy_wire::RpcError;

/// An entry of `inputRequests`.
pub(super) struct InputRequest {
    pub(super) key: String,
    pub(super) method: String,
    pub(super) params: Raw,
}

impl InputRequest {
    /// The URL to which an elicitation sends the user.
    pub(super) fn url(&self) -> Option<String> {
        Object::of(&self.params).ok()?.string("url")
    }
}

/// What a server requests before it continues with a call.
pub(super) struct InputRequired {
    pub(super) requests: Vec<InputRequest>,
    /// The `requestState` to send back.
    pub(super) state: Option<Raw>,
}

/// The responses by the keys of their requests.
pub(super) type InputResponses = Vec<(String, Raw)>;

/// Whether a result requests input.
pub fn wants_more(result: &RawRef) -> bool {
    static INPUT_REQUIRED: Needle = Needle::new("input_required");
    INPUT_REQUIRED.is_in(result.get())
        && Object::of(result).is_ok_and(|object| object.string("resultType").as_deref() == Some("input_required"))
}

/// Describes the first request in a result that a client with these abilities must not be asked.
pub fn forbidden_input_request(result: &RawRef, abilities: Abilities) -> Option<String> {
    let required = match InputRequired::parse_task(result) {
        Ok(required) => required,
        Err(reason) => return Some(reason),
    };
    required.requests.iter().find_map(|request| {
        let refused = check_permitted(abilities, &request.method, &request.params).err()?;
        Some(not_permitted(&request.method, &refused))
    })
}

pub(super) fn not_permitted(method: &str, refused: &RpcError) -> String {
    format!("it may not request `{method}`: {}", refused.message())
}

impl InputRequired {
    /// Parses the result of a call. It must contain requests or a state.
    pub(super) fn parse(result: &RawRef) -> Result<Self, String> {
        let required = Self::parse_task(result)?;
        if required.requests.is_empty() && required.state.is_none() {
            return Err("an `input_required` result has neither `inputRequests` nor `requestState`".to_owned());
        }
        Ok(required)
    }

    /// Parses the state of a task. It may contain no requests if the task has not yet processed the last responses.
    pub(super) fn parse_task(result: &RawRef) -> Result<Self, String> {
        let object = Object::of(result).map_err(|error| error.to_string())?;
        let state = object.get("requestState").map(RawRef::to_owned);
        let mut requests = Vec::new();
        if let Some(entries) = object.get("inputRequests") {
            let entries = Object::of(entries).map_err(|error| format!("`inputRequests`: {error}"))?;
            for (key, request) in entries.iter() {
                let request = Object::of(request).map_err(|error| format!("`inputRequests`: {error}"))?;
                let method = request.string("method").ok_or("an entry in `inputRequests` has no `method`")?;
                let params = request.get("params").map_or_else(|| proxy_json::raw(&json!({})), RawRef::to_owned);
                requests.push(InputRequest { key: key.to_owned(), method, params });
            }
        }
        Ok(InputRequired { requests, state })
    }

    /// The URLs of a "URL elicitation required" error, as elicitations.
    pub(super) fn parse_url_error(error: &RpcError) -> Option<Self> {
        let data = error.data()?;
        let entries = data["elicitations"].as_array()?;
        let requests = entries.iter().enumerate().map(|(index, entry)| {
            let params = json!({"mode": "url", "message": entry["message"], "url": entry["url"]});
            let (key, method) = (format!("url{index}"), ELICITATION.to_owned());
            InputRequest { key, method, params: proxy_json::raw(&params) }
        });
        let requests: Vec<_> = requests.collect();
        (!requests.is_empty()).then_some(InputRequired { requests, state: None })
    }
}

/// The JSON object `inputResponses`.
pub(super) fn encode_responses(responses: &InputResponses) -> Raw {
    proxy_json::object(responses.iter().map(|(key, response)| (key, response)))
}

/// The `action` of a response to an elicitation.
pub(super) fn action(response: &RawRef) -> String {
    Object::of(response).ok().and_then(|response| response.string("action")).unwrap_or_else(|| "nothing".to_owned())
}
