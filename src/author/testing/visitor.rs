//! Who a tested session belongs to: user, client, headers, and the person who answers.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::person::Person;
use crate::calls::Caller;
use crate::config::Config;
use crate::diagnostic::nearest;
use crate::json::raw;
use crate::model::{Abilities, ClientInfo, Owner, Principal};
use crate::script::ScriptError;
use crate::wire::Revision;

const USER: [&str; 5] = ["sub", "email", "name", "groups", "claims"];
const CLIENT: [&str; 4] = ["name", "version", "protocol_version", "capabilities"];
const ANSWER: [&str; 2] = ["action", "content"];
const ACTIONS: [&str; 3] = ["accept", "decline", "cancel"];

/// As the test gives it.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub user: Option<Map<String, Json>>,
    pub client: Map<String, Json>,
    pub headers: Map<String, Json>,
    /// A list.
    pub answers: Json,
}

pub(super) struct Visitor {
    pub caller: Caller,
    pub person: Arc<Person>,
}

impl Wanted {
    pub(super) fn arrive(self, config: &Config) -> Result<Visitor, ScriptError> {
        let principal = match &self.user {
            Some(user) => principal(user)?,
            None => Principal::anonymous(),
        };
        let (revision, client, capabilities) = client(&self.client)?;
        let owner = match principal.anonymous {
            true => Owner::new_session(),
            false => Owner::Person(Arc::clone(&principal.sub)),
        };
        let mut abilities = Abilities::read(&capabilities);
        // Earlier revisions have no forms, whatever a client says.
        abilities.form &= ![Revision::V2024_11_05, Revision::V2025_03_26].contains(&revision);
        let person = Person::new(owner, abilities, answers(&self.answers)?);
        let caller = Caller {
            principal,
            client: Arc::new(client),
            headers: headers(&self.headers, &config.serve.request_headers)?,
            admitted: false,
            cancel: CancellationToken::new(),
            peer: Some(Arc::clone(&person) as _),
            objects_only: !revision.is_stateless(),
            takes_rounds: false,
            takes_tasks: false,
            patient: false,
            past: None,
            policy: None,
        };
        Ok(Visitor { caller, person })
    }
}

fn known(what: &str, given: &Map<String, Json>, keys: &[&str]) -> Result<(), ScriptError> {
    let Some(key) = given.keys().find(|key| !keys.contains(&key.as_str())) else { return Ok(()) };
    let complaint = ScriptError::new(format!("`{what}` has no `{key}`"));
    Err(match nearest(key, keys.iter().copied()) {
        Some(near) => complaint.hint(format!("did you mean `{near}`?")),
        None => complaint.hint(format!("it has {}", keys.join(", "))),
    })
}

fn text(what: &str, given: &Map<String, Json>, key: &str) -> Result<String, ScriptError> {
    match given.get(key) {
        None | Some(Json::Null) => Ok(String::new()),
        Some(Json::String(text)) => Ok(text.clone()),
        Some(_) => Err(ScriptError::new(format!("`{key}` of `{what}` must be text"))),
    }
}

fn principal(user: &Map<String, Json>) -> Result<Principal, ScriptError> {
    known("user", user, &USER)?;
    let sub = text("user", user, "sub")?;
    if sub.is_empty() {
        return Err(ScriptError::new("`user` needs a `sub`, the name by which the proxy knows somebody"));
    }
    let wrong = || ScriptError::new("`groups` of `user` must be a list of texts");
    let groups = match user.get("groups") {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::Array(groups)) => {
            groups.iter().map(|group| group.as_str().map(str::to_owned).ok_or_else(wrong)).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(wrong()),
    };
    let claims = match user.get("claims") {
        None | Some(Json::Null) => json!({}),
        Some(claims @ Json::Object(_)) => claims.clone(),
        Some(_) => return Err(ScriptError::new("`claims` of `user` must be a dict")),
    };
    Ok(Principal {
        email: text("user", user, "email")?.into(),
        name: text("user", user, "name")?.into(),
        groups: groups.into(),
        claims: claims.to_string().into(),
        ..Principal::named(&sub)
    })
}

/// The headers of every request; a script sees only those that the config lets it see.
fn headers(given: &Map<String, Json>, visible: &[String]) -> Result<Arc<[(String, String)]>, ScriptError> {
    let header = |(name, value): (&String, &Json)| {
        let name = name.to_lowercase();
        if !visible.contains(&name) {
            return Err(ScriptError::new(format!("the header `{name}` would not reach the script"))
                .hint(format!("let it through: `config = {{\"serve\": {{\"requestHeaders\": [\"{name}\"]}}}}`")));
        }
        let value = value.as_str().ok_or_else(|| ScriptError::new(format!("the header `{name}` must be text")))?;
        Ok((name, value.to_owned()))
    };
    given.iter().map(header).collect()
}

fn client(given: &Map<String, Json>) -> Result<(Revision, ClientInfo, Json), ScriptError> {
    known("client", given, &CLIENT)?;
    let version = text("client", given, "protocol_version")?;
    let version = if version.is_empty() { "2025-11-25".to_owned() } else { version };
    let revision = Revision::parse(&version).ok_or_else(|| {
        ScriptError::new(format!("there is no protocol version `{version}`"))
            .hint(format!("there is {}", Revision::supported_names().join(", ")))
    })?;
    let capabilities = match given.get("capabilities") {
        None | Some(Json::Null) => json!({"elicitation": {}}),
        Some(capabilities @ Json::Object(_)) => capabilities.clone(),
        Some(_) => return Err(ScriptError::new("`capabilities` of `client` must be a dict")),
    };
    let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
    let name = or(text("client", given, "name")?, "test");
    let version = or(text("client", given, "version")?, "1.0.0");
    let client = ClientInfo {
        protocol_version: revision.as_str(),
        implementation: Some(raw(&json!({"name": name, "version": version}))),
        capabilities: Some(raw(&capabilities)),
    };
    Ok((revision, client, capabilities))
}

fn answers(given: &Json) -> Result<Vec<Json>, ScriptError> {
    let wrong = || {
        ScriptError::new("`answers` is a list of dicts with an `action`")
            .hint("as in `[{\"action\": \"accept\", \"content\": {\"name\": \"x\"}}, {\"action\": \"decline\"}]`")
    };
    if given.is_null() {
        return Ok(Vec::new());
    }
    for answer in given.as_array().ok_or_else(wrong)? {
        let answer = answer.as_object().ok_or_else(wrong)?;
        known("answers", answer, &ANSWER)?;
        let action = answer.get("action").and_then(Json::as_str).ok_or_else(wrong)?;
        if !ACTIONS.contains(&action) {
            let complaint = ScriptError::new(format!("there is no `action` `{action}`"));
            return Err(complaint.hint(format!("the actions are {}", ACTIONS.join(", "))));
        }
    }
    // Who accepts a form that asks for nothing fills in nothing.
    let whole = |answer: &Json| match answer["action"] == "accept" && answer.get("content").is_none() {
        true => json!({"action": "accept", "content": {}}),
        false => answer.clone(),
    };
    Ok(given.as_array().into_iter().flatten().map(whole).collect())
}
