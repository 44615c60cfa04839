//! The client of a session under test: its user, capabilities and headers, and the user's answers.

use std::sync::Arc;

use crate::testing::world::ScriptedUser;
use proxy_base::diagnostic::nearest;
use proxy_config::Config;
use proxy_engine::calls::RequestContext;
use proxy_engine::surface::Surface;
use proxy_json::raw;
use proxy_model::{Abilities, ClientInfo, Owner, Principal, Realm};
use proxy_script::ScriptError;
use proxy_wire::Revision;
use serde_json::{Map, Value as Json, json};

const USER_KEYS: [&str; 7] = ["sub", "email", "name", "groups", "claims", "issuer", "scopes"];
const CLIENT_KEYS: [&str; 4] = ["name", "version", "protocol_version", "capabilities"];
const ANSWER_KEYS: [&str; 2] = ["action", "content"];
const ACTIONS: [&str; 3] = ["accept", "decline", "cancel"];

/// A client as the arguments of `testing.session()` describe it.
#[derive(Debug, Default)]
pub(crate) struct ClientSpec {
    pub user: Option<Map<String, Json>>,
    pub client: Map<String, Json>,
    pub headers: Map<String, Json>,
    /// A list of dicts, or null.
    pub answers: Json,
    /// The folders of the client: objects with `uri` and optionally `name`. `None` if the client has no such capability.
    pub roots: Option<Vec<Json>>,
}

pub(crate) struct TestClient {
    pub principal: Principal,
    pub info: Arc<ClientInfo>,
    pub user: Arc<ScriptedUser>,
    revision: Revision,
    headers: Arc<[(String, String)]>,
}

impl TestClient {
    /// The context of every request that the client makes.
    pub(crate) fn request(self, surface: Arc<Surface>) -> RequestContext {
        RequestContext {
            client: self.info,
            revision: Some(self.revision),
            headers: self.headers,
            ..RequestContext::local(self.principal, surface, Some(self.user as _))
        }
    }
}

impl ClientSpec {
    pub(crate) fn connect(self, config: &Config) -> Result<TestClient, ScriptError> {
        let principal = match &self.user {
            Some(user) => principal(user)?,
            None => Principal::anonymous(),
        };
        let profile = config.selection.as_ref().map(|selection| Arc::clone(&selection.profile));
        let principal = principal.in_profile(profile);
        let (revision, client, capabilities) = client(&self.client, self.roots.is_some())?;
        let owner = match principal.is_anonymous() {
            true => Owner::new_connection(),
            false => Owner::Person(principal.who.clone()),
        };
        let mut abilities = Abilities::read(&capabilities);
        // Elicitation was introduced in 2025-06-18; earlier clients cannot have it, whatever they declare.
        abilities.form &= ![Revision::V2024_11_05, Revision::V2025_03_26].contains(&revision);
        // Addresses came with 2025-11-25.
        abilities.url &= revision >= Revision::V2025_11_25;
        let user = ScriptedUser::new(owner, abilities, answers(&self.answers)?, self.roots.unwrap_or_default());
        let headers = headers(&self.headers, &config.serve.request_headers)?;
        Ok(TestClient { principal, info: Arc::new(client), user, revision, headers })
    }
}

fn check_keys(what: &str, members: &Map<String, Json>, keys: &[&str]) -> Result<(), ScriptError> {
    let Some(key) = members.keys().find(|key| !keys.contains(&key.as_str())) else { return Ok(()) };
    let error = ScriptError::new(format!("unknown key `{key}` in `{what}`"));
    Err(match nearest(key, keys.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("valid keys: {}", keys.join(", "))),
    })
}

fn text(what: &str, members: &Map<String, Json>, key: &str) -> Result<String, ScriptError> {
    match members.get(key) {
        None | Some(Json::Null) => Ok(String::new()),
        Some(Json::String(text)) => Ok(text.clone()),
        Some(_) => Err(ScriptError::new(format!("`{key}` of `{what}` must be a string"))),
    }
}

/// A list of strings of `user`.
fn texts(user: &Map<String, Json>, key: &str) -> Result<Vec<String>, ScriptError> {
    let invalid = || ScriptError::new(format!("`{key}` of `user` must be a list of strings"));
    match user.get(key) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(invalid)).collect()
        }
        Some(_) => Err(invalid()),
    }
}

fn principal(user: &Map<String, Json>) -> Result<Principal, ScriptError> {
    check_keys("user", user, &USER_KEYS)?;
    let sub = text("user", user, "sub")?;
    if sub.is_empty() {
        return Err(ScriptError::new("`user` needs a `sub`, the unique name of the user"));
    }
    let realm = match text("user", user, "issuer")?.as_str() {
        "" => Realm::Static,
        issuer => Realm::Issuer(issuer.into()),
    };
    let claims = match user.get("claims") {
        None | Some(Json::Null) => json!({}),
        Some(claims @ Json::Object(_)) => claims.clone(),
        Some(_) => return Err(ScriptError::new("`claims` of `user` must be a dict")),
    };
    let (email, name) = (text("user", user, "email")?.into(), text("user", user, "name")?.into());
    let (groups, scopes) = (texts(user, "groups")?.into(), texts(user, "scopes")?.into());
    Ok(Principal::of(realm, &sub).with(|known| {
        (known.email, known.name, known.groups, known.scopes) = (email, name, groups, scopes);
        known.claims = claims.to_string().into();
    }))
}

/// The headers of every request. A script sees only headers that the config allows.
fn headers(members: &Map<String, Json>, visible: &[String]) -> Result<Arc<[(String, String)]>, ScriptError> {
    let header = |(name, value): (&String, &Json)| {
        let name = name.to_lowercase();
        if !visible.contains(&name) {
            return Err(ScriptError::new(format!("header `{name}` would not reach the script"))
                .hint(format!("allow it with `config = {{\"serve\": {{\"requestHeaders\": [\"{name}\"]}}}}`")));
        }
        let value = value.as_str().ok_or_else(|| ScriptError::new(format!("header `{name}` must be a string")))?;
        Ok((name, value.to_owned()))
    };
    members.iter().map(header).collect()
}

fn client(members: &Map<String, Json>, has_roots: bool) -> Result<(Revision, ClientInfo, Json), ScriptError> {
    check_keys("client", members, &CLIENT_KEYS)?;
    let version = text("client", members, "protocol_version")?;
    let version = if version.is_empty() { "2025-11-25".to_owned() } else { version };
    let revision = Revision::parse(&version).ok_or_else(|| {
        ScriptError::new(format!("unknown protocol version `{version}`"))
            .hint(format!("supported versions: {}", Revision::supported_names().join(", ")))
    })?;
    let mut capabilities = match members.get("capabilities") {
        None | Some(Json::Null) => json!({"elicitation": {"form": {}, "url": {}}}),
        Some(capabilities @ Json::Object(_)) => capabilities.clone(),
        Some(_) => return Err(ScriptError::new("`capabilities` of `client` must be a dict")),
    };
    if has_roots && capabilities.get("roots").is_none() {
        capabilities["roots"] = json!({});
    }
    let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
    let name = or(text("client", members, "name")?, "test");
    let version = or(text("client", members, "version")?, "1.0.0");
    let client = ClientInfo {
        protocol_version: revision.as_str(),
        implementation: Some(raw(&json!({"name": name, "version": version}))),
        capabilities: Some(raw(&capabilities)),
    };
    Ok((revision, client, capabilities))
}

fn answers(answers: &Json) -> Result<Vec<Json>, ScriptError> {
    let invalid = || {
        ScriptError::new("`answers` must be a list of dicts with an `action`")
            .hint("for example `[{\"action\": \"accept\", \"content\": {\"name\": \"x\"}}, {\"action\": \"decline\"}]`")
    };
    if answers.is_null() {
        return Ok(Vec::new());
    }
    for answer in answers.as_array().ok_or_else(invalid)? {
        let answer = answer.as_object().ok_or_else(invalid)?;
        check_keys("answers", answer, &ANSWER_KEYS)?;
        let action = answer.get("action").and_then(Json::as_str).ok_or_else(invalid)?;
        if !ACTIONS.contains(&action) {
            let error = ScriptError::new(format!("unknown `action` `{action}` in `answers`"));
            return Err(error.hint(format!("valid actions: {}", ACTIONS.join(", "))));
        }
    }
    // An accepted form without content is an empty form.
    let with_content = |answer: &Json| match answer["action"] == "accept" && answer.get("content").is_none() {
        true => json!({"action": "accept", "content": {}}),
        false => answer.clone(),
    };
    Ok(answers.as_array().into_iter().flatten().map(with_content).collect())
}
